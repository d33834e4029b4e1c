// An endpoint for models, on a port of the loopback that it prints, which gives the
// answers of the file $1 in turn and adds what it is asked to the file $2.
import { appendFileSync, readFileSync } from "node:fs";
import { createServer } from "node:http";

const answers = JSON.parse(readFileSync(process.argv[2], "utf8"));
let asked = 0;
createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  appendFileSync(process.argv[3], JSON.stringify(JSON.parse(body)) + "\n");
  const { text = "", calls = [] } = answers[asked++] ?? {};
  const message = { role: "assistant", content: text };
  if (calls.length > 0)
    message.tool_calls = calls.map(([name, args], i) => ({
      id: `call_${asked}_${i}`, type: "function", function: { name, arguments: JSON.stringify(args) },
    }));
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({
    choices: [{ index: 0, message, finish_reason: calls.length > 0 ? "tool_calls" : "stop" }],
    usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
  }));
}).listen(0, "127.0.0.1", function () { console.log(`http://127.0.0.1:${this.address().port}/v1`); });
