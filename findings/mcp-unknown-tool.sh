#!/usr/bin/env bash
# Expected: servers of the official MCP libraries answer a call of an unknown tool with a JSON-RPC error, as the
# specification says for it.
# Found: only the Go library does. Those of Python and TypeScript send a result with isError, as if the tool had run
# and failed; in TypeScript its text names the JSON-RPC error that it is not.
# Seen: mcp 2.3.0 of PyPI, @modelcontextprotocol/sdk 1.32.2 of npm, github.com/modelcontextprotocol/go-sdk v1.8.0.
# It matters to clients: an error of the protocol raises in most of them, and ends the run; a result goes to the model.
source "$(dirname "$0")/lib/common.sh"

cat >server.py <<'PY'
from mcp.server import MCPServer

server = MCPServer("s")


@server.tool()
def known() -> str:
    return "fine"


server.run()
PY
cat >server.mjs <<'JS'
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
const server = new McpServer({ name: "s", version: "1" });
server.registerTool("known", {}, () => ({ content: [{ type: "text", text: "fine" }] }));
await server.connect(new StdioServerTransport());
JS
cat >ask.py <<'PY'
import json
import subprocess
import sys

hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
messages = [
    {"id": 1, "method": "initialize", "params": hello},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": {"name": "unknown", "arguments": {}}},
]
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for message in messages:
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()
    while "id" in message:
        answer = json.loads(server.stdout.readline())
        if answer.get("id") == message["id"]:
            break
server.stdin.close()
server.wait()
print(sys.argv[1] + ":", end=" ")
if "error" in answer:
    print("error", answer["error"]["code"], answer["error"]["message"])
else:
    print("result, isError", answer["result"]["isError"], answer["result"]["content"][0]["text"])
PY
pypi mcp==2.3.0
npm_packages @modelcontextprotocol/sdk@1.32.2
go_program github.com/modelcontextprotocol/go-sdk@v1.8.0 <<'GO'
package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type none struct{}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "known"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return nil, "fine", nil
	})
	server.Run(context.Background(), &mcp.StdioTransport{})
}
GO
all() {
	py ask.py Python py/bin/python server.py
	py ask.py TypeScript node server.mjs
	py ask.py Go ./program
}
seen all <<'OUT'
Python: result, isError True Unknown tool: unknown
TypeScript: result, isError True MCP error -32602: Tool unknown not found
Go: error -32602 unknown tool "unknown"
OUT
