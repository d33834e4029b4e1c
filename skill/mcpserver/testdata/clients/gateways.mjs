// Has gateways of npm stand between MCP clients and skill mcp, and between skill run and skill mcp:
// gateways.mjs SKILL FOLDER. The folder holds a.txt ("hello").
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect, createServer as listen } from "node:net";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [skill, folder] = process.argv.slice(2);
const program = (name, path) => new URL(`node_modules/${name}/${path}`, import.meta.url).pathname;
const supergateway = program("supergateway", "dist/index.js");
const proxy = program("mcp-proxy", "dist/bin/mcp-proxy.mjs");
const remote = program("mcp-remote", "dist/proxy.js");
const server = ["mcp", "-C", folder];
const started = [];
process.on("exit", () => started.forEach((child) => child.kill()));

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

function expect(what, ok, got) {
  if (!ok) throw new Error(`${what}: ${got instanceof Error ? got.stack : JSON.stringify(got)}`);
}

// gateway starts a gateway and returns the port where it answers. args makes the arguments for a port.
async function gateway(args) {
  const free = listen().listen(0, "127.0.0.1");
  await once(free, "listening");
  const { port } = free.address();
  free.close();
  const child = spawn(process.execPath, args(port), { stdio: ["ignore", "ignore", "inherit"] });
  started.push(child);
  for (const end = Date.now() + 30000; Date.now() < end && child.exitCode === null; await pause(50)) {
    const socket = connect(port, "127.0.0.1");
    const answers = await Promise.race([once(socket, "connect").then(() => true), once(socket, "error").then(() => false, () => false)]).catch(() => false);
    socket.destroy();
    if (answers) return port;
  }
  throw new Error(`${args(port).join(" ")} does not answer`);
}

// use has a client read and write over a transport.
async function use(transport, then = async () => {}) {
  const c = new Client({ name: "check", version: "1" });
  await c.connect(transport);
  const call = async (name, args) => (await c.callTool({ name, arguments: args })).content[0];
  const { tools } = await c.listTools();
  expect("tools", tools.some((t) => t.name === "read") && tools.some((t) => t.name === "undo"), tools);
  const text = await call("read", { paths: ["a.txt"] });
  expect("read", text.text.startsWith("hello"), text);
  const ran = await call("run", { command: "echo ran" });
  expect("run", ran.text.includes("ran"), ran);
  await then(c, call);
  await c.close();
}

const sse = (port) => new SSEClientTransport(new URL(`http://127.0.0.1:${port}/sse`));
const http = (port) => new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`));
const quoted = [skill, ...server].map((word) => `'${word}'`).join(" ");

async function oneChildForAll() {
  const port = await gateway((port) => [supergateway, "--stdio", quoted, "--port", port, "--logLevel", "none"]);
  await use(sse(port));
  await use(sse(port)); // initializes the same server again
}

async function sessions() {
  const port = await gateway((port) => [supergateway, "--stdio", quoted, "--outputTransport", "streamableHttp", "--stateful", "--port", port, "--logLevel", "none"]);
  await Promise.all([use(http(port)), use(http(port))]);
}

// Nothing that a client reads may end the connection that it shares with others.
async function shared() {
  const port = await gateway((port) => [proxy, "--host", "127.0.0.1", "--port", port, "--", skill, ...server]);
  writeFileSync(`${folder}/big.pdf`, "%PDF-1.4\n" + "x".repeat(9 << 20) + "\n%%EOF\n");
  await use(http(port), async (_, call) => {
    const big = await call("read", { paths: ["big.pdf"] });
    expect("a big file", JSON.stringify(big).length < 10 << 20, big);
  });
  await use(sse(port));
}

// overHTTP starts skill mcp over HTTP and returns its address and token.
async function overHTTP() {
  const child = spawn(skill, [...server, "--http", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
  started.push(child);
  let said = "";
  while (!said.includes("Bearer ")) said += (await once(child.stderr, "data"))[0];
  return [/http:\S+/.exec(said)[0], readFileSync(`${process.env.XDG_STATE_HOME}/skill/http-token`, "utf8").trim()];
}

// A client over stdio reaches skill mcp over HTTP, and is told why if its token is wrong.
async function toStdio() {
  const [url, token] = await overHTTP();
  const to = (token) => new StdioClientTransport({ command: process.execPath, args: [remote, url, "--allow-http", "--header", `Authorization:Bearer ${token}`], stderr: "pipe", env: { ...process.env, MCP_REMOTE_CONFIG_DIR: `${folder}/remote` } });
  await use(to(token));
  const wrong = to("wrong");
  let told = "";
  wrong.stderr.on("data", (part) => (told += part));
  const c = new Client({ name: "check", version: "1" });
  await c.connect(wrong).then(() => { throw new Error("a wrong token is taken"); }, () => {});
  expect("the reason", /bearer token/i.test(told), told);
  await c.close();
}

// A gateway whose sessions end early, before skill run.
async function asServer() {
  const port = await gateway((port) => [supergateway, "--stdio", quoted, "--outputTransport", "streamableHttp", "--stateful", "--sessionTimeout", "700", "--port", port, "--logLevel", "none"]);
  await expert(`type = "mcpSseSkill"\nendpoint = "http://127.0.0.1:${port}/mcp"`, 2500);
}

async function proxyAsServer() {
  const port = await gateway((port) => [proxy, "--host", "127.0.0.1", "--port", port, "--", skill, ...server]);
  await expert(`type = "mcpSseSkill"\nendpoint = "http://127.0.0.1:${port}/mcp"`);
  await expert(`type = "mcpSseSkill"\nendpoint = "http://127.0.0.1:${port}/sse"`);
}

// A gateway over stdio, before a server over HTTP, is a server of skill run.
async function remoteAsServer() {
  const [url, token] = await overHTTP();
  const args = [remote, url, "--allow-http", "--header", `Authorization:Bearer ${token}`];
  await expert(`type = "mcpStdioSkill"\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${JSON.stringify(args)}`);
}

// expert has skill run read and write with the tools of a server, with a pause between.
async function expert(settings, ms = 0) {
  const turns = [["read", { paths: ["a.txt"] }], ["write", { path: "late.txt", content: "late" }]];
  const asked = [];
  const model = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    asked.push(JSON.parse(body));
    if (asked.length === 2) await pause(ms); // the session ends
    const turn = turns[asked.length - 1];
    const message = turn
      ? { role: "assistant", content: "", tool_calls: [{ id: `c${asked.length}`, type: "function", function: { name: turn[0], arguments: JSON.stringify(turn[1]) } }] }
      : { role: "assistant", content: "It is done." };
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: turn ? "tool_calls" : "stop" }], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }));
  }).listen(0, "127.0.0.1");
  await once(model, "listening");
  rmSync(`${folder}/late.txt`, { force: true });
  mkdirSync(`${folder}/expert`, { recursive: true });
  writeFileSync(`${folder}/expert/perstack.toml`, `[experts.e]\ninstruction = "Use the tools."\n[experts.e.skills.p]\n${settings}\npick = ["read", "write"]\n`);
  const env = { ...process.env, OPENAI_BASE_URL: `http://127.0.0.1:${model.address().port}/v1`, OPENAI_API_KEY: "k", SKILL_MODEL: "gpt-4o", MCP_REMOTE_CONFIG_DIR: `${folder}/remote` };
  const run = spawn(skill, ["run", "--trust-workspace", "-C", `${folder}/expert`, "e", "go"], { stdio: ["ignore", "pipe", "inherit"], env });
  let events = "";
  run.stdout.on("data", (part) => (events += part));
  const [status] = await once(run, "close");
  model.close();
  expect("the run", status === 0 && events.includes("It is done."), events);
  expect("its first result", JSON.stringify(asked[1].messages.at(-1)).includes("hello"), asked[1].messages.at(-1));
  expect("its late call", readFileSync(`${folder}/late.txt`, "utf8").startsWith("late"), asked[2].messages.at(-1));
}

let failed = 0;
for (const [name, check] of Object.entries({
  "supergateway to SSE, one server for all clients": oneChildForAll,
  "supergateway to HTTP, a server for each session": sessions,
  "mcp-proxy to HTTP and SSE": shared,
  "mcp-remote to stdio": toStdio,
  "supergateway as a server of skill run": asServer,
  "mcp-proxy as a server of skill run": proxyAsServer,
  "mcp-remote as a server of skill run": remoteAsServer,
})) {
  const begin = Date.now();
  try {
    await check();
    console.log(`${name}: right, ${((Date.now() - begin) / 1000).toFixed(1)} s`);
  } catch (error) {
    failed++;
    console.log(`${name}: ${error.stack}`);
  }
}
process.exit(failed ? 1 : 0);
