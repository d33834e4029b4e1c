// Prints, as TypeScript, what the skill binary $1 in the workspace $2 answers to each of
// the responses in the file $3, and its definitions, with the types of the clients.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

const [, , skill, workspace, responses] = process.argv;
const types = {
  openai: ["{ messages: OpenAI.ChatCompletionMessageParam[] }", "OpenAI.ChatCompletionTool[]"],
  responses: ["{ input: OpenAI.Responses.ResponseInputItem[] }", "OpenAI.Responses.Tool[]"],
  anthropic: ["{ messages: Anthropic.MessageParam[] }", "Anthropic.Tool[]"],
  gemini: ["{ contents: Content[] }", "Tool[]"],
  ollama: ["{ messages: Message[] }", "OllamaTool[]"],
};

function run(input, ...args) {
  const { stdout, stderr } = spawnSync(skill, args, { input, encoding: "utf8" });
  if (stdout === "") throw new Error(`skill ${args.join(" ")}: ${stderr}`);
  return stdout.trim();
}

console.log(`import type OpenAI from "openai";
import type Anthropic from "@anthropic-ai/sdk";
import { Type, type Content, type Tool } from "@google/genai";
import type { Message, Tool as OllamaTool } from "ollama";`);
for (const [wire, { body }] of Object.entries(JSON.parse(readFileSync(responses, "utf8")))) {
  const [answers, tools] = types[wire];
  const answer = run(JSON.stringify(body), "-C", workspace, "--no-journal", "--tools", "perstack");
  const definitions = run("", "tools", "--tools", "perstack", "--wire", wire);
  console.log(`export const ${wire}: ${answers} = ${answer};`);
  // the type of a schema is an enumeration in one client, and a word on the wire
  console.log(`export const ${wire}Tools: ${tools} = ${definitions.replace(/"type":"([A-Z]+)"/g, '"type":Type.$1')};`);
}
