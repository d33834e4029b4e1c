"""Prints how Python's agent libraries read the streams of chat.py: each call's ID, name and arguments.

The arguments are names of streams. An agent also prints the cities for which it ran the tool "weather".
"""
import asyncio
import os
import sys

import openai

BASE = {"base_url": os.environ["base"], "api_key": "none", "max_retries": 0}
ran = []


def weather(city: str) -> str:
    """Tells the weather."""
    ran.append(city)
    return "fair in " + city


def openai_client(stream):
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    with openai.OpenAI(**BASE).chat.completions.stream(
        model=stream, messages=[{"role": "user", "content": "?"}], tools=[tool]
    ) as events:
        calls = events.get_final_completion().choices[0].message.tool_calls
    return [(c.id, c.function.name, c.function.arguments) for c in calls]


def langchain_openai(stream):
    from langchain_openai import ChatOpenAI

    whole = None
    for chunk in ChatOpenAI(model=stream, **BASE).stream("?"):
        whole = chunk if whole is None else whole + chunk
    return [(c["id"], c["name"], c["args"]) for c in whole.tool_calls + whole.invalid_tool_calls]


def openai_agents(stream):
    import agents

    agents.set_tracing_disabled(True)
    model = agents.OpenAIChatCompletionsModel(stream, openai.AsyncOpenAI(**BASE))
    agent = agents.Agent(name="a", tools=[agents.function_tool(weather)], model=model)

    async def run():
        result = agents.Runner.run_streamed(agent, "?")
        async for event in result.stream_events():
            if event.type == "run_item_stream_event" and event.item.type == "tool_call_item":
                call = event.item.raw_item
                calls.append((call.call_id, call.name, call.arguments))

    calls = []
    asyncio.run(run())
    return calls


def pydantic_ai(stream):
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(openai_client=openai.AsyncOpenAI(**BASE))
    agent = Agent(OpenAIChatModel(stream, provider=provider), tools=[weather])

    async def run():
        async with agent.run_stream("?") as result:
            await result.get_output()
            return result.all_messages()

    messages = asyncio.run(run())
    return [(p.tool_call_id, p.tool_name, p.args) for m in messages for p in m.parts if p.part_kind == "tool-call"]


for stream in sys.argv[1:]:
    print(f"-- {stream}")
    for read in openai_client, langchain_openai, openai_agents, pydantic_ai:
        ran.clear()
        try:
            calls = "; ".join(" ".join(str(part) for part in call) for call in read(stream))
        except Exception as error:
            calls = f"{type(error).__name__}: {error}"
        if read in (openai_agents, pydantic_ai):
            calls += f" -> ran {ran}"
        print(f"{read.__name__}: {calls}")
