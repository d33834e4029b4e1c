#!/bin/sh
# bench.sh [DIR]: installs rg and fd from Debian where they are missing, and prints
# how long a search takes in relation to find, fd and rg. It makes 100,000 files and
# one large one, 2.2 GB together, in DIR, and uses those that are there from an
# earlier run; without DIR, in a temporary folder that it removes.
set -eu
cd "$(dirname "$0")"
if ! command -v rg >/dev/null || ! command -v fdfind >/dev/null; then
	apt-get install -y ripgrep fd-find >&2
fi
made=
dir=${1:-}
if [ -z "$dir" ]; then
	dir=$(mktemp -d)
	made=$dir
fi
bin=$(mktemp -d)
trap 'rm -rf "$bin" $made' EXIT
go build -o "$bin/bench" ./bench
"$bin/bench" -table "$dir"
