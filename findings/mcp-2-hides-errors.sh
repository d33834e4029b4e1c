#!/usr/bin/env bash
# Expected: when a tool of a Python MCP server raises an error, the model reads its message, as with mcp 1.
# Found: mcp 2 answers "Error executing tool NAME" and no more, unless the tool raises ToolError. fastmcp, which came
# from the same code, still sends the message of any error.
# Seen: mcp 1.30.0 and 2.3.0, fastmcp 4.2.3.
# It matters to authors of tools: after the upgrade, "no such file: a.txt" no longer reaches the model, which then guesses.
source "$(dirname "$0")/lib/common.sh"

cat >errors.py <<'PY'
import asyncio
import importlib.metadata
import sys


def server(name):
    if name == "fastmcp":
        from fastmcp import FastMCP as Server
        from fastmcp.exceptions import ToolError
    elif importlib.metadata.version("mcp").startswith("1."):
        from mcp.server.fastmcp import FastMCP as Server
        from mcp.server.fastmcp.exceptions import ToolError
    else:
        from mcp.server import MCPServer as Server
        from mcp.server.mcpserver.exceptions import ToolError
    made = Server("s")

    @made.tool()
    def value() -> str:
        raise ValueError("no such file: a.txt")

    @made.tool()
    def tool() -> str:
        raise ToolError("no such file: a.txt")

    return made


async def call(name):
    made = server(name)
    for tool in "value", "tool":
        print(f"{name} {importlib.metadata.version(name)} {tool}:", await texts(name, made, tool))


async def texts(name, made, tool):
    if name == "fastmcp":
        from fastmcp import Client

        async with Client(made) as client:
            result = await client.call_tool(tool, raise_on_error=False)
    elif importlib.metadata.version("mcp").startswith("1."):
        from mcp.shared.memory import create_connected_server_and_client_session

        async with create_connected_server_and_client_session(made) as client:
            result = await client.call_tool(tool)
    else:
        from mcp import Client

        async with Client(made) as client:
            result = await client.call_tool(tool)
    return result.content[0].text


asyncio.run(call(sys.argv[1]))
PY
pypi mcp==1.30.0
one() { "$1/bin/python" errors.py "$2"; }
mv py one
pypi mcp==2.3.0 fastmcp==4.2.3
all() { one one mcp; one py mcp; one py fastmcp; }
seen all <<'OUT'
mcp 1.30.0 value: Error executing tool value: no such file: a.txt
mcp 1.30.0 tool: Error executing tool tool: no such file: a.txt
mcp 2.3.0 value: Error executing tool value
mcp 2.3.0 tool: Error executing tool tool: no such file: a.txt
fastmcp 4.2.3 value: Error calling tool 'value': no such file: a.txt
fastmcp 4.2.3 tool: no such file: a.txt
OUT
