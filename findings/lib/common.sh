# Sourced by each finding. It makes a temporary folder, goes there, and removes it at the end.
set -euo pipefail
lib=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
temp=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" || true; rm -rf "$temp"' EXIT
cd "$temp"
# The settings of the person who runs it must not count.
export LC_ALL=C.UTF-8 GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 npm_config_update_notifier=false

# pypi NAME==VERSION… installs packages of PyPI; "py" then runs Python with them.
pypi() {
	[ -d uv ] || python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --target uv uv==0.13.9
	uv/bin/uv venv --quiet py
	uv/bin/uv pip install --quiet --python py/bin/python "$@"
}
py() { "$temp/py/bin/python" "$@"; }

# npm_packages NAME@VERSION… installs packages of npm, without their scripts.
npm_packages() {
	npm install --silent --no-fund --no-audit --ignore-scripts --prefix "$temp" "$@" >/dev/null
}

# go_program MODULE@VERSION… builds the Go program on standard input, with the Go files of the temporary folder, as
# "$temp/program".
go_program() {
	mkdir -p go
	cat >go/main.go
	cp ./*.go go 2>/dev/null || true
	(
		cd go
		go mod init finding
		go get "$@"
		go mod tidy
		go build -o "$temp/program" .
	) >go.log 2>&1 || { cat go.log; exit 1; }
}

# chat_libraries installs the libraries that $lib/calls.py, and with "npm" $lib/calls.mjs, ask.
chat_libraries() {
	pypi openai==3.57.0 langchain-openai==1.7.4 openai-agents==0.24.0 'pydantic-ai-slim[openai]==2.68.0'
	[ "${1-}" = npm ] || return 0
	npm_packages ai@6.0.326 @ai-sdk/openai-compatible@2.0.92 @langchain/openai@1.5.8 @langchain/core@1.4.0 zod@4.6.7
	cp "$lib/calls.mjs" .
}
# all_libraries STREAM has both ask for a stream.
all_libraries() { py "$lib/calls.py" "$@" && node calls.mjs "$@"; }

# chat FILE serves the streams in FILE on the loopback interface; $base is then the address of the API.
chat() {
	python3 "$lib/chat.py" "$1" >"$temp/port" &
	server=$!
	for _ in $(seq 100); do
		[ ! -s "$temp/port" ] || break
		sleep 0.1
	done
	base=http://127.0.0.1:$(cat "$temp/port")/v1
	export base
}

# seen COMMAND… runs the command, and fails where its output differs from standard input.
seen() {
	cat >"$temp/expected"
	"$@" >"$temp/actual" 2>"$temp/errors" || echo "exit code $?" >>"$temp/actual"
	cat "$temp/actual"
	if ! diff -u --label "as found" --label "now" "$temp/expected" "$temp/actual"; then
		tail -n 20 "$temp/errors"
		echo "$(basename "$0"): the behaviour changed"
		exit 1
	fi
	echo "$(basename "$0"): as found"
}
