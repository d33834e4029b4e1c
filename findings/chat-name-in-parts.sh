#!/usr/bin/env bash
# Expected: libraries agree on how the name of a streamed tool call is joined, as they agree on its arguments.
# Found: they do the opposite of each other. Three add the parts up, so a name that each chunk repeats becomes
# "weatherweatherweather". Three keep the last or the first part, so a name in two parts is lost. No library reads both.
# Seen: openai 3.57.0, langchain-openai 1.7.4, openai-agents 0.24.0, pydantic-ai-slim 2.68.0,
# ai 6.0.326 with @ai-sdk/openai-compatible 2.0.92, @langchain/openai 1.5.8.
# It matters to a server that streams calls: only a name that comes once and whole is safe for all clients.
source "$(dirname "$0")/lib/common.sh"

cat >streams.json <<'JSON'
{
 "parts": [
  [{"index":0,"id":"a","type":"function","function":{"name":"wea","arguments":""}}],
  [{"index":0,"function":{"name":"ther","arguments":"{\"city\""}}],
  [{"index":0,"function":{"arguments":":\"Bern\"}"}}]],
 "repeated": [
  [{"index":0,"id":"a","type":"function","function":{"name":"weather","arguments":""}}],
  [{"index":0,"function":{"name":"weather","arguments":"{\"city\""}}],
  [{"index":0,"function":{"name":"weather","arguments":":\"Bern\"}"}}]]
}
JSON
chat_libraries npm
chat streams.json
seen all_libraries parts repeated <<'OUT'
-- parts
openai_client: a weather {"city":"Bern"}
langchain_openai: a weather {'city': 'Bern'}
openai_agents: ModelBehaviorError: Tool ther not found in agent a -> ran []
pydantic_ai: a weather {"city":"Bern"} -> ran ['Bern']
-- repeated
openai_client: a weatherweatherweather {"city":"Bern"}
langchain_openai: a weatherweatherweather {'city': 'Bern'}
openai_agents: a weather {"city":"Bern"} -> ran ['Bern']
pydantic_ai: a weatherweatherweather {"city":"Bern"} -> ran []
-- parts
ai (npm): a wea ""; (ID of its own) ther "{\"city\"" -> ran []
langchain (npm): a ther {"city":"Bern"}
-- repeated
ai (npm): a weather {"city":"Bern"} -> ran ["Bern"]
langchain (npm): a weather {"city":"Bern"}
OUT
