#!/usr/bin/env bash
# Expected: "git apply" refuses a diff without context lines (diff -U0), since its manual asks for --unidiff-zero.
# Found: it takes an insertion, says nothing, exits 0, and puts the line at the end of the file, whatever line the
# hunk names. It refuses only where a line is removed. patch(1) reads the number and is right.
# Seen: Git 2.39.5, patch 2.7.6.
# It matters to whoever applies a model's diff by Git: exit code 0 is no proof that the lines are where they belong.
source "$(dirname "$0")/lib/common.sh"

seq 1 10 >numbers
sed '5a 5b' numbers >inserted
sed 's/^5$/five/' numbers >replaced
diff -U0 --label a/numbers --label b/numbers numbers inserted >insert.diff || true
diff -U0 --label a/numbers --label b/numbers numbers replaced >replace.diff || true
try() { # FOLDER DIFF COMMAND…
	mkdir "$1"
	cp numbers "$1"
	(cd "$1" && "${@:3}" <"../$2" >/dev/null 2>&1 && echo "$1: exit code 0" || echo "$1: exit code $?")
	paste -sd ' ' "$1/numbers"
}
tries() {
	grep @@ insert.diff
	try git-insert insert.diff git apply
	try git-replace replace.diff git apply
	try git-insert-zero insert.diff git apply --unidiff-zero
	try patch-insert insert.diff patch -p1
}
git --version
seen tries <<'OUT'
@@ -5,0 +6 @@
git-insert: exit code 0
1 2 3 4 5 6 7 8 9 10 5b
git-replace: exit code 1
1 2 3 4 5 6 7 8 9 10
git-insert-zero: exit code 0
1 2 3 4 5 5b 6 7 8 9 10
patch-insert: exit code 0
1 2 3 4 5 5b 6 7 8 9 10
OUT
