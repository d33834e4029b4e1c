#!/usr/bin/env bash
# Expected: a diff of Git with a copy ("git diff -C") can be taken back by -R, as one with a rename can: the copy goes.
# Found: neither "git apply -R" nor "patch -R" can. Git refuses, because the source "already exists".
# patch takes the diff for one that is not applied yet, changes nothing, and with --batch exits 0.
# Seen: Git 2.39.5, patch 2.7.6.
# It matters to whoever undoes by reversed diffs: they have to be made with --no-renames, or without -C.
source "$(dirname "$0")/lib/common.sh"

git init -q repository
cd repository
seq 1 40 >source
git add source
git -c user.name=n -c user.email=e commit -q -m source
sed -i 's/^20$/twenty/' source
seq 1 40 | sed 's/^5$/five/' >copy
git add --all
git diff --cached -C >../copy.diff
cd ..
try() { # FOLDER COMMAND…
	mkdir "$1"
	seq 1 40 >"$1/source"
	(
		cd "$1"
		"${@:2}" <../copy.diff >/dev/null 2>&1 && echo "$1: applied" || echo "$1: exit code $?"
		"${@:2}" -R <../copy.diff 2>&1 && echo "reversed" || echo "not reversed: exit code $?"
		grep -n -e five -e twenty *
	)
}
tries() {
	grep -c "^copy" copy.diff
	try git git apply
	try patch patch -p1 --batch
}
git --version
seen tries <<'OUT'
2
git: applied
error: source: already exists in working directory
not reversed: exit code 1
copy:5:five
source:20:twenty
patch: applied
patching file source (copied from copy)
patching file source
Unreversed patch detected!  Ignoring -R.
reversed
copy:5:five
source:20:twenty
OUT
