// Prints how the agent libraries of npm read the streams of chat.py, as calls.py does for Python's.
import { ChatOpenAI } from "@langchain/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const base = process.env.base;
const ran = [];

async function ai(stream) {
  const weather = tool({
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => {
      ran.push(city);
      return "fair in " + city;
    },
  });
  const provider = createOpenAICompatible({ name: "local", baseURL: base, apiKey: "none" });
  const options = { prompt: "?", maxRetries: 0, tools: { weather }, stopWhen: stepCountIs(2), onError() {} };
  const calls = [];
  for await (const part of streamText({ model: provider(stream), ...options }).fullStream) {
    if (part.type === "tool-call") {
      const made = /^[ab]$/.test(part.toolCallId) ? part.toolCallId : "(ID of its own)";
      calls.push([made, part.toolName, JSON.stringify(part.input)]);
    }
  }
  return calls;
}

async function langchain(stream) {
  let whole;
  const model = new ChatOpenAI({ model: stream, apiKey: "none", maxRetries: 0, configuration: { baseURL: base } });
  for await (const chunk of await model.stream("?")) {
    whole = whole ? whole.concat(chunk) : chunk;
  }
  return [...whole.tool_calls, ...whole.invalid_tool_calls].map((c) => [c.id, c.name, JSON.stringify(c.args)]);
}

for (const stream of process.argv.slice(2)) {
  console.log(`-- ${stream}`);
  for (const read of [ai, langchain]) {
    ran.length = 0;
    let calls;
    try {
      calls = (await read(stream)).map((call) => call.join(" ")).join("; ");
    } catch (error) {
      calls = `${error.name}: ${error.message}`;
    }
    if (read === ai) {
      calls += ` -> ran ${JSON.stringify(ran)}`;
    }
    console.log(`${read.name} (npm): ${calls}`);
  }
}
