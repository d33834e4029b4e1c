#!/usr/bin/env bash
# Expected: the marker "\ No newline at end of file" may be in any language, as GNU diff writes it in the user's;
# a parser reads the backslash. patch(1), Git and "diff" of npm do.
# Found: parse-diff compares the English words. Another language's marker becomes a line of the file, two times, and
# pushes the count of the hunk so far that the end of the text becomes one more empty line.
# Seen: parse-diff 0.12.0, diff 9.0.0 of npm.
# It matters to reviewers' tools and bots: the same change shows lines that are in no file.
source "$(dirname "$0")/lib/common.sh"

printf 'a\nb' >old
printf 'a\nB' >new
diff -u --label a/f --label b/f old new >english.diff || true
sed 's/^\\ .*/\\ Kein Zeilenumbruch am Dateiende./' english.diff >german.diff
npm_packages parse-diff@0.12.0 diff@9.0.0
cat >parse.mjs <<'JS'
import { readFileSync } from "node:fs";
import { applyPatch } from "diff";
import parse from "parse-diff";
for (const language of ["english", "german"]) {
  const diff = readFileSync(language + ".diff", "utf8");
  console.log(language + ":");
  for (const { type, content } of parse(diff)[0].chunks[0].changes) {
    console.log("  " + type + " " + JSON.stringify(content));
  }
  console.log("  diff (npm) gives the new file:", applyPatch("a\nb", diff) === "a\nB");
}
JS
seen node parse.mjs <<'OUT'
english:
  normal " a"
  del "-b"
  del "\\ No newline at end of file"
  add "+B"
  add "\\ No newline at end of file"
  diff (npm) gives the new file: true
german:
  normal " a"
  del "-b"
  normal "\\ Kein Zeilenumbruch am Dateiende."
  add "+B"
  normal "\\ Kein Zeilenumbruch am Dateiende."
  normal ""
  diff (npm) gives the new file: true
OUT
