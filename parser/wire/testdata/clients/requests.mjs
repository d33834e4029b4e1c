// Prints, as TypeScript, the requests that `skill run` sends to each provider: of a run with calls
// beside each other, an image and a report, and of its continuation. tsc holds them to the types
// of the provider's own client, of which that of Anthropic has no temperature any more.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const [skill] = process.argv.slice(2);
const image = { name: "readImageFile", args: { path: "p.png" } };
const write = { name: "writeTextFile", args: { path: "a.txt", text: "hi" } };
const turns = [{ text: "I look.", calls: [image, write] }, { text: "", calls: [{ name: "attemptCompletion", args: {} }] }, { text: "Done.", calls: [] }];
const id = (turn, i) => `call_${turn}_${i}`;

const providers = {
  chat: {
    provider: "openai", url: "OPENAI_BASE_URL", key: "OPENAI_API_KEY", flags: ["--openai-api", "chat"], type: "OpenAI.ChatCompletionCreateParamsStreaming",
    answer: ({ text, calls }, n) => ({
      choices: [{
        index: 0, finish_reason: "stop",
        message: { role: "assistant", content: text, tool_calls: calls.map((c, i) => ({ id: id(n, i), type: "function", function: { name: c.name, arguments: JSON.stringify(c.args) } })) },
      }],
    }),
  },
  responses: {
    provider: "openai", url: "OPENAI_BASE_URL", key: "OPENAI_API_KEY", flags: ["--openai-api", "responses"], type: "OpenAI.Responses.ResponseCreateParamsStreaming",
    answer: ({ text, calls }, n) => ({
      status: "completed",
      output: [
        { type: "message", content: [{ type: "output_text", text }] },
        ...calls.map((c, i) => ({ type: "function_call", call_id: id(n, i), name: c.name, arguments: JSON.stringify(c.args) })),
      ],
    }),
  },
  anthropic: {
    provider: "anthropic", url: "ANTHROPIC_BASE_URL", key: "ANTHROPIC_API_KEY", flags: ["--temperature", "default"], type: "Anthropic.MessageCreateParamsStreaming",
    answer: ({ text, calls }, n) => ({
      type: "message", stop_reason: "end_turn",
      content: [{ type: "text", text }, ...calls.map((c, i) => ({ type: "tool_use", id: id(n, i), name: c.name, input: c.args }))],
    }),
  },
  google: {
    provider: "google", url: "GOOGLE_GEMINI_BASE_URL", key: "GEMINI_API_KEY", flags: [], type: "{ contents: Content[]; systemInstruction: Content; tools: Tool[]; [other: string]: unknown }",
    answer: ({ text, calls }) => ({
      candidates: [{ finishReason: "STOP", content: { role: "model", parts: [...(text ? [{ text }] : []), ...calls.map((c) => ({ functionCall: { name: c.name, args: c.args } }))] } }],
    }),
  },
};

async function requests({ provider, url, key, flags, answer }) {
  const dir = mkdtempSync(join(tmpdir(), "requests-"));
  mkdirSync(join(dir, "ws"));
  writeFileSync(join(dir, "ws", "perstack.toml"), '[experts.e]\nversion = "1.0.0"\ninstruction = "You work."\n');
  writeFileSync(join(dir, "ws", "p.png"), Buffer.from("iVBORw0KGgo=", "base64"));
  const sent = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const n = sent.push(JSON.parse(text)) - 1;
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify(answer(turns[n % turns.length], n)));
  }).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  const env = { PATH: process.env.PATH, HOME: dir, XDG_STATE_HOME: dir, no_proxy: "127.0.0.1", [url]: `http://127.0.0.1:${server.address().port}`, [key]: "k" };
  const run = (...args) => promisify(execFile)(skill, ["-C", join(dir, "ws"), "run", "--provider", provider, "--model", "m", ...flags, ...args], { env });
  await run("e", "do it");
  await run("--continue", "e", "and now?");
  server.close();
  rmSync(dir, { recursive: true });
  if (sent.length !== 2 * turns.length) throw new Error(`${provider}: ${sent.length} requests`);
  return sent;
}

console.log('import type OpenAI from "openai";\nimport type Anthropic from "@anthropic-ai/sdk";\nimport type { Content, Tool } from "@google/genai";');
for (const [name, p] of Object.entries(providers)) {
  console.log(`export const ${name}: ${p.type}[] = ${JSON.stringify(await requests(p), null, 1)};`);
}
