#!/usr/bin/env bash
# Expected: a tool of an MCP server may answer with a link to a resource, and the model reads its name and address.
# Found: LangChain's adapter makes it a "file" block with an address. LangChain's own client of OpenAI refuses such
# a block, so the run ends with a ValueError at the next question to the model. In pydantic-ai the model reads the
# address alone, without the name and description of the link.
# Seen: langchain-mcp-adapters 0.3.2 (mcp 1.30.0), langchain-openai 1.7.4, pydantic-ai-slim 2.68.0 (mcp 2.3.0).
# It matters to servers: a link that saves tokens in one host ends the run in another; a text block works in all.
source "$(dirname "$0")/lib/common.sh"

cat >server.py <<'PY'
import json
import sys

LINK = {"type": "resource_link", "uri": "notes://today", "name": "Notes of today", "description": "what was decided"}
ANSWERS = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "find", "inputSchema": {"type": "object", "properties": {}}}]},
    "tools/call": {"content": [LINK]},
    "ping": {},
}
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] in ANSWERS:
            answer["result"] = ANSWERS[request["method"]]
        else:
            answer["error"] = {"code": -32601, "message": "unknown method"}
        print(json.dumps(answer), flush=True)
PY
cat >adapter.py <<'PY'
import asyncio
import sys

from langchain_core.messages import AIMessage, HumanMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI

async def main():
    server = {"command": sys.executable, "args": ["server.py"], "transport": "stdio"}
    call = {"name": "find", "args": {}, "id": "1", "type": "tool_call"}
    (tool,) = await MultiServerMCPClient({"s": server}).get_tools()
    result = await tool.ainvoke(call)
    print("langchain-mcp-adapters:", [{k: b[k] for k in b if k != "id"} for b in result.content])
    # Nothing listens there, and nothing is sent.
    model = ChatOpenAI(model="m", api_key="none", base_url="http://127.0.0.1:9/v1", max_retries=0)
    try:
        model.invoke([HumanMessage("?"), AIMessage("", tool_calls=[call]), result])
    except Exception as error:
        print("langchain-openai:", repr(error))

asyncio.run(main())
PY
cat >links.py <<'PY'
import asyncio
import sys

from pydantic_ai.mcp import MCPToolset, StdioTransport

async def main():
    async with MCPToolset(StdioTransport(sys.executable, ["server.py"])) as tools:
        print("pydantic-ai:", repr(await tools.direct_call_tool("find", {})))

asyncio.run(main())
PY
pypi langchain-mcp-adapters==0.3.2 langchain-openai==1.7.4 mcp==1.30.0
mv py langchain
pypi 'pydantic-ai-slim[mcp]==2.68.0' mcp==2.3.0

all() { langchain/bin/python adapter.py; py links.py; }
seen all <<'OUT'
langchain-mcp-adapters: [{'type': 'file', 'url': 'notes://today'}]
langchain-openai: ValueError('OpenAI Chat Completions does not support file URLs.')
pydantic-ai: 'notes://today'
OUT
