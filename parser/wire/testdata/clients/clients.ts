// Has each provider's own client ask for a message, and send what skill answered to it as
// the next request, to an endpoint on the loopback that gives the responses in the file $1.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import assert from "node:assert/strict";
import OpenAI from "openai";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI, type Content } from "@google/genai";
import { Ollama, type Message } from "ollama";
import * as answered from "./answers.js";

const responses: Record<string, { path: string; body: unknown }> = JSON.parse(readFileSync(process.argv[2]!, "utf8"));
const ids = ["call_1", "call_2", "call_3"]; // a text, a picture, a failure

const asked: any[] = [];
const server = createServer(async (request, response) => {
  let text = "";
  for await (const part of request) text += part;
  asked.push(JSON.parse(text));
  const found = Object.values(responses).find(({ path }) => path === request.url);
  response.writeHead(found ? 200 : 404, { "Content-Type": "application/json" });
  response.end(JSON.stringify(found?.body ?? { error: { message: `nothing is at ${request.url}` } }));
}).listen(0, "127.0.0.1");
await new Promise((listening) => server.once("listening", listening));
const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const openai = new OpenAI({ apiKey: "k", baseURL: `${base}/openai` });
{
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "q" }];
  const { choices } = await openai.chat.completions.create({ model: "m", messages, tools: answered.openaiTools });
  messages.push(choices[0]!.message, ...answered.openai.messages);
  await openai.chat.completions.create({ model: "m", messages, tools: answered.openaiTools });
  const [one, two, three, shown] = asked.at(-1).messages.slice(2);
  assert.deepEqual([one, two, three].map((m) => m.tool_call_id), ids);
  assert.match(one.content, /hello/);
  assert.match(shown.content[1].image_url.url, /^data:image\/gif;base64,R0lG/);
}
{
  const input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: "q" }];
  const { output } = await openai.responses.create({ model: "m", input, tools: answered.responsesTools });
  input.push(...(output as OpenAI.Responses.ResponseFunctionToolCall[]), ...answered.responses.input);
  await openai.responses.create({ model: "m", input, tools: answered.responsesTools });
  const outputs = asked.at(-1).input.slice(4);
  assert.deepEqual(outputs.map((o: any) => o.call_id), ids);
  assert.equal(outputs[1].output[1].type, "input_image");
}
{
  const anthropic = new Anthropic({ apiKey: "k", baseURL: `${base}/anthropic` });
  const request = { model: "m", max_tokens: 99, tools: answered.anthropicTools };
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: "q" }];
  const { content } = await anthropic.messages.create({ ...request, messages });
  messages.push({ role: "assistant", content: content as Anthropic.ContentBlockParam[] }, ...answered.anthropic.messages);
  await anthropic.messages.create({ ...request, messages });
  const blocks = asked.at(-1).messages[2].content;
  assert.deepEqual(blocks.map((b: any) => b.tool_use_id), ids);
  assert.deepEqual(blocks.map((b: any) => b.is_error === true), [false, false, true]);
  assert.equal(blocks[1].content[1].source.media_type, "image/gif");
}
{
  const gemini = new GoogleGenAI({ apiKey: "k", httpOptions: { baseUrl: `${base}/gemini` } });
  const config = { tools: answered.geminiTools };
  const contents: Content[] = [{ role: "user", parts: [{ text: "q" }] }];
  const { candidates } = await gemini.models.generateContent({ model: "m", contents, config });
  contents.push(candidates![0]!.content!, ...answered.gemini.contents);
  await gemini.models.generateContent({ model: "m", contents, config });
  const parts = asked.at(-1).contents[2].parts.map((p: any) => p.functionResponse);
  assert.deepEqual(parts.map((p: any) => p.id), ids);
  assert.deepEqual(parts.map((p: any) => Object.keys(p.response)[0]), ["output", "output", "error"]);
  assert.equal(parts[1].parts[0].inlineData.mimeType, "image/gif");
}
{
  const ollama = new Ollama({ host: `${base}/ollama` });
  const messages: Message[] = [{ role: "user", content: "q" }];
  const { message } = await ollama.chat({ model: "m", messages, tools: answered.ollamaTools });
  messages.push(message, ...answered.ollama.messages);
  await ollama.chat({ model: "m", messages, tools: answered.ollamaTools });
  const results = asked.at(-1).messages.slice(2);
  assert.deepEqual(results.map((m: any) => m.tool_name), ["readTextFile", "readImageFile", "readTextFile"]);
  assert.equal(results[1].images.length, 1);
}
server.close();
assert.ok(asked.every((request) => request.tools.length > 0));
console.log(`${asked.length} requests of 5 clients were as they should be`);
