"""Runs the functions below that the arguments after SKILL WORKSPACE STATE name: clients and frameworks use the tools
of skill mcp with a scripted model, litellm sends calls to skill, and skill run asks through litellm's proxy."""
import asyncio, http.server, json, os, socket, subprocess, sys, threading, time, urllib.request

skill, ws, state = sys.argv[1:4]
env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "XDG_STATE_HOME": state}
server = [skill, "mcp", "-C", ws]
TEXT = "grüße \U0001f389 </tool_call>\n"
seen = []  # the bodies that the model was asked with


class Model(http.server.BaseHTTPRequestHandler):
    """Answers with calls of read and write, and then with the results it was told."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        seen.append(body)
        tools = [t["function"]["name"] for t in body.get("tools", [])]
        told = json.dumps(body["messages"])
        message = {"role": "assistant", "content": None}
        schemas = {t["function"]["name"]: t["function"]["parameters"] for t in body.get("tools", [])}

        def call(i, name, args):
            schema = schemas.get(name, {})
            for missing in set(schema.get("required", [])) - set(args):  # smolagents requires every argument
                kind = schema["properties"][missing]["type"]
                args[missing] = {"boolean": False, "string": "", "integer": 0, "array": []}[kind]
            return {"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}

        if "writeTextFile" in tools and "call_1" not in told: # skill run
            message["tool_calls"] = [call(1, "writeTextFile", {"path": "run.txt", "text": TEXT})]
        elif "call_1" not in told:
            path = f"{body['model']}.txt"
            message["tool_calls"] = [call(1, "read", {"paths": ["a.txt", "p.png"]}),
                                     call(2, "write", {"path": path, "content": TEXT})]
            if "final_answer" not in tools:
                message["tool_calls"].append(call(3, "edit", {"path": "none.txt", "edits": []}))
        elif "attemptCompletion" in tools and "call_9" not in told:
            message["tool_calls"] = [call(9, "attemptCompletion", {})]
        elif "final_answer" in tools:
            message["tool_calls"] = [call(9, "final_answer", {"answer": "done"})]
        else:
            message["content"] = "done"
        end = "tool_calls" if "tool_calls" in message else "stop"
        kind, part = ("chat.completion.chunk", "delta") if body.get("stream") else ("chat.completion", "message")

        def answer(part_of_it, reason=None):
            return json.dumps({"id": "c", "object": kind, "created": 1, "model": body["model"],
                               "choices": [{"index": 0, part: part_of_it, "finish_reason": reason}],
                               "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}})

        if body.get("stream"):
            deltas = []
            for i, c in enumerate(message.pop("tool_calls", [])):
                args = c["function"]["arguments"]
                deltas.append(c | {"index": i, "function": {"name": c["function"]["name"], "arguments": ""}})
                for piece in args[:9], args[9:]: # litellm's proxy loses what stands beside the name
                    deltas.append({"index": i, "function": {"arguments": piece}})
            pieces = [answer(message), *(answer({"tool_calls": [d]}) for d in deltas), answer({}, end), "[DONE]"]
            data = "".join(f"data: {p}\n\n" for p in pieces).encode()
        else:
            data = answer(message, end).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if body.get("stream") else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


http_server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=http_server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{http_server.server_port}/v1"
os.environ.update(OPENAI_API_KEY="sk-test", OPENAI_BASE_URL=url, OPENAI_AGENTS_DISABLE_TRACING="1", LITELLM_LOCAL_MODEL_COST_MAP="True")


async def official():
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    async with stdio_client(StdioServerParameters(command=skill, args=server[1:], env=env)) as (r, w):
        async with ClientSession(r, w) as s:
            await s.initialize()
            assert {"read", "write", "undo"} <= {t.name for t in (await s.list_tools()).tools}
            found = plain(await s.call_tool("read", {"paths": ["a.txt", "p.png"]}))
            kinds = [c["type"] for c in found["content"]]
            assert kinds == ["text", "image"] and "hello" in found["content"][0]["text"], found
            made = plain(await s.call_tool("write", {"path": "official.txt", "content": TEXT}))
            assert made["structuredContent"]["undo"], made
            assert plain(await s.call_tool("read", {"paths": ["none.txt"]}))["isError"]
            history = plain(await s.read_resource("skill://history"))
            assert "official.txt" in history["contents"][0]["text"], history


def plain(model):
    return model.model_dump(mode="json", by_alias=True)


async def agents():
    from agents import Agent, OpenAIChatCompletionsModel, Runner
    from agents.mcp import MCPServerStdio
    from openai import AsyncOpenAI
    async with MCPServerStdio(params={"command": skill, "args": server[1:], "env": env}) as s:
        model = OpenAIChatCompletionsModel(model="agents", openai_client=AsyncOpenAI(base_url=url))
        done = await Runner.run(Agent(name="a", model=model, mcp_servers=[s]), "go")
        assert done.final_output == "done", done


async def langchain():
    from langchain.agents import create_agent
    from langchain_core.load import dumpd, load
    from langchain_core.messages import (AIMessage, HumanMessage, convert_to_messages, messages_from_dict,
                                         messages_to_dict)
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_openai import ChatOpenAI
    client = MultiServerMCPClient({"skill": {"transport": "stdio", "command": skill, "args": server[1:], "env": env}})
    tools = await client.get_tools()
    for t in tools:
        t.handle_tool_error = True
    done = await create_agent(ChatOpenAI(model="langchain", base_url=url), tools).ainvoke({"messages": [("user", "go")]})
    assert done["messages"][-1].content == "done", done
    call = {"name": "read", "args": {"paths": ["a.txt"]}, "id": "c1"}
    bad = {"name": "read", "args": "{", "id": "c2", "error": None}
    asked = AIMessage("", tool_calls=[call], invalid_tool_calls=[bad])
    for sent, read in ((asked.model_dump(), convert_to_messages), ([asked.model_dump()], convert_to_messages),
                       (messages_to_dict([HumanMessage("go"), asked]), messages_from_dict), (dumpd(asked), load)):
        out = subprocess.run([skill, "-C", ws, "--tools", "workspace"], input=json.dumps(sent), text=True,
                             capture_output=True, env=env)
        answers = read(json.loads(out.stdout)["messages"])
        assert [(m.tool_call_id, m.status) for m in answers] == [("c1", "success"), ("c2", "error")], out
        assert "hello" in answers[0].content, out


async def pydantic():
    from pydantic_ai import Agent
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.models.openai import OpenAIChatModel
    agent = Agent(OpenAIChatModel("pydantic"), toolsets=[MCPToolset(StdioTransport(skill, server[1:], env=env))])
    done = await agent.run("go")
    assert done.output == "done", done


async def smol():
    from mcp import StdioServerParameters
    from smolagents import MCPClient, OpenAIServerModel, ToolCallingAgent

    def run():
        with MCPClient(StdioServerParameters(command=skill, args=server[1:], env=env), structured_output=False) as tools:
            model = OpenAIServerModel(model_id="smol", api_base=url, api_key="sk-test")
            done = ToolCallingAgent(tools=tools, model=model, verbosity_level=0).run("go")
            assert done == "done", done

    await asyncio.to_thread(run)


async def litellm():
    import litellm
    tools = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]
    messages = [{"role": "user", "content": "go"}]
    r = await litellm.acompletion(model="openai/litellm", api_base=url, messages=messages, tools=tools)
    sent = r.model_dump_json()
    out = subprocess.run([skill, "-C", ws, "--tools", "workspace"], input=sent, text=True, capture_output=True, env=env)
    answers = json.loads(out.stdout)["messages"]
    # the picture follows in a message of the user, as results hold text alone
    assert [m.get("tool_call_id") for m in answers] == ["call_1", "call_2", "call_3", None], out
    r = await litellm.acompletion(model="openai/litellm", api_base=url, tools=tools,
                                  messages=messages + [r.choices[0].message.model_dump()] + answers)
    assert r.choices[0].message.content == "done", r


async def proxy():
    os.makedirs(state, exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    # an endpoint that has chat completions alone, so that the proxy translates the other protocols
    with open(f"{state}/litellm.json", "w") as f:
        json.dump({"model_list": [{"model_name": "gate", "litellm_params": {
            "model": "deepseek/gate", "api_base": url, "api_key": "sk-test"}}]}, f)
    with open(f"{ws}/perstack.toml", "w") as f:
        f.write('model = "gate"\n[experts.e]\ninstruction = "Write."\n')
    start = [sys.executable, "-c", "import litellm; litellm.run_server()", "--config", f"{state}/litellm.json",
             "--host", "127.0.0.1", "--port", port]
    at = f"http://127.0.0.1:{port}"
    with open(f"{state}/litellm.log", "w") as log:
        gateway = subprocess.Popen(start, stdout=log, stderr=log)
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{at}/health/liveliness").read()
                break
            except OSError:
                time.sleep(0.5)
        for api, base in {"chat": f"{at}/v1", "responses": f"{at}/v1", "anthropic": at}.items():
            key = "ANTHROPIC" if api == "anthropic" else "OPENAI"
            flags = ["--provider", key.lower()] + (["--openai-api", api] if key == "OPENAI" else [])
            keys = {f"{key}_BASE_URL": base, f"{key}_API_KEY": "sk-test"}
            run = await asyncio.to_thread(subprocess.run, [skill, "run", "-C", ws, "e", "go", *flags], text=True,
                                          capture_output=True, timeout=120, env=env | keys)
            ok = run.returncode == 0 and os.path.exists(f"{ws}/run.txt")
            assert ok, f"{api}: {run.stderr}\n{run.stdout[-2000:]}\n{open(f'{state}/litellm.log').read()[-3000:]}"
            written(f"{ws}/run.txt")
            os.remove(f"{ws}/run.txt")
    finally:
        gateway.terminate()
        gateway.wait()


def written(path):
    with open(path, encoding="utf-8", newline="") as f:
        assert f.read() == TEXT, path


failed = []
for name in sys.argv[4:]:
    seen.clear()
    try:
        asyncio.run(asyncio.wait_for(globals()[name](), 300))
        if name != "proxy":
            told = json.dumps(seen, ensure_ascii=False)
            assert name == "official" or "hello" in told, f"the model was not told what is in the file: {told[:2000]}"
            written(f"{ws}/{name}.txt")
        print(f"{name}: right", flush=True)
    except BaseException as e:
        failed.append(name)
        while isinstance(e, BaseExceptionGroup):
            e = e.exceptions[0]
        print(f"FAIL {name}: {type(e).__name__}: {str(e)[:6000]}", flush=True)
sys.exit(bool(failed))
