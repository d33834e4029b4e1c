#!/usr/bin/env bash
# Expected: the event "tool_calls.function.arguments.done" of OpenAI's Python client comes with whole arguments.
# Found: where the parts of two calls take turns, it comes as soon as another call gets a part, with what has
# arrived so far: nothing, or half of an object. It does not come again; only the final message is right.
# Seen: openai 3.57.0.
# It matters to a host that runs a call at this event: it runs it without arguments. Servers do interleave calls.
source "$(dirname "$0")/lib/common.sh"

cat >streams.json <<'JSON'
{"turns": [
  [{"index":0,"id":"a","type":"function","function":{"name":"weather","arguments":""}}],
  [{"index":1,"id":"b","type":"function","function":{"name":"weather","arguments":""}}],
  [{"index":1,"function":{"arguments":"{\"city\":"}}],
  [{"index":0,"function":{"arguments":"{\"city\":"}}],
  [{"index":1,"function":{"arguments":"\"Rome\"}"}}],
  [{"index":0,"function":{"arguments":"\"Bern\"}"}}]]}
JSON
cat >events.py <<'PY'
import os

import openai

client = openai.OpenAI(base_url=os.environ["base"], api_key="none")
tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
with client.chat.completions.stream(
    model="turns", messages=[{"role": "user", "content": "?"}], tools=[tool]
) as events:
    for event in events:
        if event.type == "tool_calls.function.arguments.done":
            print("done:", event.index, repr(event.arguments))
    for call in events.get_final_completion().choices[0].message.tool_calls:
        print("final:", call.id, call.function.arguments)
PY
pypi openai==3.57.0
chat streams.json
seen py events.py <<'OUT'
done: 0 ''
done: 1 '{"city":'
final: a {"city":"Bern"}
final: b {"city":"Rome"}
OUT
