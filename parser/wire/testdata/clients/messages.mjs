// Has Vercel's AI SDK and LangChain get calls from a model, give their messages to the skill binary $1 in the
// workspace $2 as they write them as JSON, and read the answers back.
import { ChatOpenAI } from "@langchain/openai";
import { load } from "@langchain/core/load";
import { generateText, modelMessageSchema, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { spawnSync } from "node:child_process";
import { z } from "zod";

const [, , skill, workspace] = process.argv;
const write = { path: "sdk.txt", text: "</tool_call> 'a'\n" };

// carriedOut gives a value to skill and returns the messages of the answer.
function carriedOut(value) {
  const args = ["-C", workspace, "--no-journal", "--tools", "perstack"];
  const { stdout, stderr } = spawnSync(skill, args, { input: JSON.stringify(value), encoding: "utf8" });
  if (stdout === "") throw new Error(`skill ${args.join(" ")}: ${stderr}`);
  return JSON.parse(stdout).messages;
}

const part = (id, name, input) => ({ type: "tool-call", toolCallId: id, toolName: name, input: JSON.stringify(input) });
const model = new MockLanguageModelV3({
  doGenerate: async () => ({
    content: [{ type: "text", text: "I write." }, part("1", "writeTextFile", write), part("2", "readTextFile", { path: "none" })],
    finishReason: { unified: "tool-calls", raw: "tool_use" }, warnings: [],
    usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
  }),
});
const any = tool({ inputSchema: z.looseObject({}) });
const result = await generateText({ model, prompt: "go", tools: { writeTextFile: any, readTextFile: any } });
for (const value of [(await result.response).messages, (await result.response).messages[0], result.toolCalls]) {
  const [message, ...rest] = carriedOut(value).map((m) => modelMessageSchema.parse(m));
  const told = message.content.map((p) => `${p.toolCallId} ${p.output.type}`).join(", ");
  if (rest.length > 0 || told !== "1 text, 2 error-text") throw new Error(told);
}

const call = (id, name, input) => ({ id, type: "function", function: { name, arguments: JSON.stringify(input) } });
const message = { role: "assistant", content: null, tool_calls: [call("1", "writeTextFile", write), call("2", "readTextFile", { path: "none" })] };
const completion = { id: "c", object: "chat.completion", created: 1, model: "m", choices: [{ index: 0, message, finish_reason: "tool_calls" }] };
const chat = new ChatOpenAI({
  model: "m", apiKey: "k", configuration: { fetch: async () => Response.json(completion) },
});
const said = await chat.invoke("go");
const answers = await Promise.all(carriedOut(said).map((m) => load(JSON.stringify(m))));
const told = answers.map((m) => `${m.type} ${m.tool_call_id} ${m.status}`).join(", ");
if (told !== "tool 1 success, tool 2 error") throw new Error(told);
console.log("the messages of 2 frameworks were carried out and answered as they should be");
