// Has five MCP clients list tools, call them, show a picture and cancel a command, over stdio
// and HTTP: clients.mjs SKILL FOLDER. The folder holds a.txt ("hello") and p.png.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { once } from "node:events";
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport } from "@ai-sdk/mcp/mcp-stdio";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { MCPServerStdio, MCPServerStreamableHttp } from "@openai/agents-core";
import { Client as NextClient, StreamableHTTPClientTransport as NextHTTP } from "@modelcontextprotocol/client";
import { StdioClientTransport as NextStdio } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [skill, folder] = process.argv.slice(2);
const args = ["mcp", "-C", folder];
const server = spawn(skill, [...args, "--http", "127.0.0.1:0", "--no-token"], { stdio: ["ignore", "ignore", "pipe"] });
let said = "";
while (!/http:\S+/.test(said)) said += (await once(server.stderr, "data"))[0];
const url = /http:\S+/.exec(said)[0];

// Each makes a client: names() lists tools, call(name, arguments, signal) returns the content.
const clients = {
  "TypeScript SDK": async (http) => {
    const c = new Client({ name: "check", version: "1" });
    await c.connect(http ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command: skill, args, stderr: "ignore" }));
    return {
      names: async () => (await c.listTools()).tools.map((t) => t.name),
      call: async (name, args, signal) => (await c.callTool({ name, arguments: args }, undefined, { signal })).content,
      close: () => c.close(),
    };
  },
  "TypeScript client": async (http) => {
    const c = new NextClient({ name: "check", version: "1" });
    await c.connect(http ? new NextHTTP(new URL(url)) : new NextStdio({ command: skill, args, stderr: "ignore" }));
    return {
      names: async () => (await c.listTools()).tools.map((t) => t.name),
      call: async (name, args, signal) => (await c.callTool({ name, arguments: args }, { signal })).content,
      close: () => c.close(),
    };
  },
  "AI SDK": async (http) => {
    const c = await createMCPClient({ transport: http ? { type: "http", url } : new Experimental_StdioMCPTransport({ command: skill, args, stderr: "ignore" }) });
    const tools = await c.tools();
    return {
      names: async () => Object.keys(tools),
      call: async (name, args, signal) => (await tools[name].execute(args, { abortSignal: signal, toolCallId: "1", messages: [] })).content,
      close: () => c.close(),
    };
  },
  LangChain: async (http) => {
    const c = new MultiServerMCPClient({ throwOnLoadError: true, mcpServers: { skill: http ? { transport: "http", url } : { transport: "stdio", command: skill, args, stderr: "ignore" } } });
    const tools = await c.getTools();
    return {
      names: async () => tools.map((t) => t.name),
      call: async (name, args, signal) => {
        const content = await tools.find((t) => t.name === name).invoke(args, { signal });
        return typeof content === "string" ? [{ type: "text", text: content }] : content;
      },
      close: () => c.close(),
    };
  },
  "OpenAI Agents": async (http) => {
    const c = http ? new MCPServerStreamableHttp({ url, name: "skill" }) : new MCPServerStdio({ command: skill, args, name: "skill" });
    await c.connect();
    return {
      names: async () => (await c.listTools()).map((t) => t.name),
      call: (name, args, signal) => c.callTool(name, args, null, { signal }),
      close: () => c.close(),
    };
  },
};

// running reports whether a process has this argument.
function running(argument) {
  return readdirSync("/proc").some((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(argument);
    } catch {
      return false; // it has ended
    }
  });
}

async function until(what, holds) {
  for (const end = Date.now() + 20000; !holds(); await new Promise((r) => setTimeout(r, 20))) {
    if (Date.now() > end) throw new Error(`it does not come about that ${what}`);
  }
}

function expect(what, ok, got) {
  if (!ok) throw new Error(`${what}: ${JSON.stringify(got)}`);
}

const picture = readFileSync(`${folder}/p.png`).toString("base64");
let seconds = 1000;
let failed = 0;
for (const [name, make] of Object.entries(clients)) {
  for (const http of [false, true]) {
    try {
      const c = await make(http);
      const names = await c.names();
      expect("tools", names.length >= 14 && names.includes("read") && names.includes("undo"), names);
      const text = await c.call("read", { paths: ["a.txt"] });
      expect("read", text[0].type === "text" && text[0].text.startsWith("hello"), text);
      const shown = await c.call("read", { paths: ["p.png"] });
      expect("picture", JSON.stringify(shown).includes(picture), shown);
      const length = String(++seconds); // a command of this client alone
      const abort = new AbortController();
      const waits = c.call("run", { command: `touch started; exec sleep ${length}` }, abort.signal).then((got) => ({ got }), (error) => ({ error }));
      await until("the command runs", () => existsSync(`${folder}/started`) && running(length));
      abort.abort();
      const outcome = await waits;
      expect("cancelled", outcome.error !== undefined, outcome);
      const tells = name !== "AI SDK"; // which sends the server no cancellation: the command ends with the session
      if (tells) await until("the command has ended", () => !running(length));
      rmSync(`${folder}/started`);
      const again = await c.call("glob", { pattern: "*.txt" });
      expect("glob", JSON.stringify(again).includes("a.txt"), again);
      await c.close();
      await until("the command has ended with the session", () => !running(length));
      console.log(`${name} over ${http ? "http" : "stdio"}: ${names.length} tools; reads, shows a picture, cancels${tells ? "" : " with the session"}`);
    } catch (error) {
      failed++;
      console.log(`${name} over ${http ? "http" : "stdio"}: ${error.stack}`);
    }
  }
}
server.kill();
process.exit(failed ? 1 : 0);
