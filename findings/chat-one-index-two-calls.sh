#!/usr/bin/env bash
# Expected: two whole calls that arrive with the same "index" and two IDs, as some OpenAI-compatible servers number
# them, are read in one way: as two calls, or as one broken call.
# Found: LangChain's message has two good calls; the client of OpenAI, openai-agents and pydantic-ai glue both
# into one call whose arguments are no JSON. Two of them glue the name too, and one also glues the IDs to "ab".
# Seen: openai 3.57.0, langchain-openai 1.7.4, openai-agents 0.24.0, pydantic-ai-slim 2.68.0.
# It matters to a gateway: it has to number calls anew, since no rule of the reader can be counted on.
source "$(dirname "$0")/lib/common.sh"

cat >streams.json <<'JSON'
{"one index": [
  [{"index":0,"id":"a","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Bern\"}"}}],
  [{"index":0,"id":"b","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}]]}
JSON
chat_libraries
chat streams.json
seen py "$lib/calls.py" "one index" <<'OUT'
-- one index
openai_client: ab weatherweather {"city":"Bern"}{"city":"Rome"}
langchain_openai: a weather {'city': 'Bern'}; b weather {'city': 'Rome'}
openai_agents: b weather {"city":"Bern"}{"city":"Rome"} -> ran []
pydantic_ai: b weatherweather {"city":"Bern"}{"city":"Rome"} -> ran []
OUT
