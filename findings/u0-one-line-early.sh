#!/usr/bin/env bash
# Expected: the hunk "@@ -5,0 +6 @@" of "diff -U0" inserts after line 5: a hunk without old lines names the line before.
# Found: two independent libraries insert before line 5, and report success: go-gitdiff without an error, and
# patch-ng with True. patch(1) and "diff" of npm are right.
# Seen: github.com/bluekeyes/go-gitdiff v0.9.0, patch-ng 1.19.1 of PyPI, diff 9.0.0 of npm, patch 2.7.6.
# It matters to tools that apply the diffs of models and linters, which like to leave the context out.
source "$(dirname "$0")/lib/common.sh"

seq 1 10 >old
sed '5a 5b' old >new
diff -U0 --label a/old --label b/old old new >insert.diff || true
pypi patch-ng==1.19.1
npm_packages diff@9.0.0
go_program github.com/bluekeyes/go-gitdiff@v0.9.0 <<'GO'
package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

func main() {
	diff, _ := os.Open("insert.diff")
	old, _ := os.Open("old")
	files, _, err := gitdiff.Parse(diff)
	if err != nil {
		panic(err)
	}
	var out bytes.Buffer
	err = gitdiff.Apply(&out, old, files[0])
	fmt.Println("go-gitdiff:", strings.Join(strings.Fields(out.String()), " "), err)
}
GO
cat >apply.mjs <<'JS'
import { readFileSync } from "node:fs";
import { applyPatch } from "diff";
const out = applyPatch(readFileSync("old", "utf8"), readFileSync("insert.diff", "utf8"));
console.log("diff (npm):", out.trim().split("\n").join(" "));
JS
cat >apply.py <<'PY'
import patch_ng

applied = patch_ng.fromfile("insert.diff").apply(strip=1, root="ng")
print("patch-ng:", " ".join(open("ng/old").read().split()), applied)
PY
all() {
	"$temp/program"
	mkdir ng && cp old ng && py apply.py
	node apply.mjs
	cp old other && patch -s other insert.diff && echo "patch: $(paste -sd ' ' other)"
}
seen all <<'OUT'
go-gitdiff: 1 2 3 4 5b 5 6 7 8 9 10 <nil>
patch-ng: 1 2 3 4 5b 5 6 7 8 9 10 True
diff (npm): 1 2 3 4 5 5b 6 7 8 9 10
patch: 1 2 3 4 5 5b 6 7 8 9 10
OUT
