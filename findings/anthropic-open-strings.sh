#!/usr/bin/env bash
# Expected: while the arguments of a tool stream in, the "inputJson" event of Anthropic's TypeScript client shows what
# has come so far, as with text: the beginning of a long string, and the entries before it.
# Found: a string that is still open is left out with its key. A file of a megabyte shows as {"path": …} until its
# last quote. The parser that OpenAI's TypeScript client keeps under the same name shows open strings.
# Seen: @anthropic-ai/sdk 1.14.0, openai 6.49.0.
# It matters to hosts that show an edit while it is written: they see nothing of it, then all of it.
source "$(dirname "$0")/lib/common.sh"

npm_packages @anthropic-ai/sdk@1.14.0 openai@6.49.0
cat >stream.mjs <<'JS'
import { createServer } from "node:http";
import Anthropic from "@anthropic-ai/sdk";
import { partialParse } from "openai/_vendor/partial-json-parser/parser";

const parts = ['{"path": "a.txt", ', '"content": "one ', "two", ' three", "mode": 64', "4}"];
const usage = { input_tokens: 1, output_tokens: 1 };
const events = [
  { type: "message_start", message: { id: "m", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, stop_sequence: null, usage } },
  { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "t", name: "write", input: {} } },
  ...parts.map((partial_json) => ({ type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json } })),
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage },
  { type: "message_stop" },
];
const server = createServer((_, answer) => {
  answer.writeHead(200, { "content-type": "text/event-stream" });
  answer.end(events.map((e) => `event: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`).join(""));
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const client = new Anthropic({ apiKey: "none", baseURL: `http://127.0.0.1:${server.address().port}` });
const stream = client.messages.stream({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "?" }] });
let text = "";
stream.on("inputJson", (part, snapshot) => {
  text += part;
  console.log("anthropic:", JSON.stringify(snapshot));
  console.log("   openai:", JSON.stringify(partialParse(text)));
});
await stream.finalMessage();
server.close();
JS
seen node stream.mjs <<'OUT'
anthropic: {"path":"a.txt"}
   openai: {"path":"a.txt"}
anthropic: {"path":"a.txt"}
   openai: {"path":"a.txt","content":"one"}
anthropic: {"path":"a.txt"}
   openai: {"path":"a.txt","content":"one two"}
anthropic: {"path":"a.txt","content":"one two three"}
   openai: {"path":"a.txt","content":"one two three"}
anthropic: {"path":"a.txt","content":"one two three","mode":644}
   openai: {"path":"a.txt","content":"one two three","mode":644}
OUT
