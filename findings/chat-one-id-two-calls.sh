#!/usr/bin/env bash
# Expected: two calls with the same ID and two indexes are both run, or the second is reported as broken.
# Found: openai-agents and pydantic-ai refuse the whole answer and run neither call. "ai" of npm runs both, and
# gives the second an ID that the server has never sent. LangChain hands on both calls under one ID.
# Seen: openai 3.57.0, langchain-openai 1.7.4, openai-agents 0.24.0, pydantic-ai-slim 2.68.0,
# ai 6.0.326 with @ai-sdk/openai-compatible 2.0.92, @langchain/openai 1.5.8.
# It matters to a server of a small model whose IDs repeat, such as "call_0": the run ends in some hosts, and in
# others the result comes back under an ID that the server does not know.
source "$(dirname "$0")/lib/common.sh"

cat >streams.json <<'JSON'
{"one ID": [
  [{"index":0,"id":"a","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Bern\"}"}}],
  [{"index":1,"id":"a","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}]]}
JSON
chat_libraries npm
chat streams.json
seen all_libraries "one ID" <<'OUT'
-- one ID
openai_client: a weather {"city":"Bern"}; a weather {"city":"Rome"}
langchain_openai: a weather {'city': 'Bern'}; a weather {'city': 'Rome'}
openai_agents: ModelBehaviorError: Model reused a tool call ID for a different invocation in one response. Use a unique call ID for each tool invocation. -> ran []
pydantic_ai: UnexpectedModelBehavior: Function tool calls must have unique `tool_call_id` values; duplicate `tool_call_id`s: ['a'] -> ran []
-- one ID
ai (npm): a weather {"city":"Bern"}; (ID of its own) weather {"city":"Rome"} -> ran ["Bern","Rome"]
langchain (npm): a weather {"city":"Bern"}; a weather {"city":"Rome"}
OUT
