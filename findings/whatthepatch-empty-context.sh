#!/usr/bin/env bash
# Expected: a context line of an empty line may be wholly empty, without the blank: "diff --suppress-blank-empty"
# writes it so, and the format of POSIX allows it. Editors and models that strip blanks at line ends write it too.
# Found: whatthepatch drops such a line, counts wrong from there, and refuses to apply the diff that it has parsed.
# unidiff, patch-ng, patch(1) and Git take it.
# Seen: whatthepatch 1.0.7, unidiff 1.0.1, patch-ng 1.19.1 of PyPI.
# It matters to whoever applies a model's diff by this library: one stripped blank costs a turn.
source "$(dirname "$0")/lib/common.sh"

printf 'a\n\nb\n\nc\n' >old
printf 'a\n\nB\n\nc\n' >new
diff -u --label a/old --label b/old old new >blanks.diff || true
diff -u --suppress-blank-empty --label a/old --label b/old old new >empty.diff || true
pypi whatthepatch==1.0.7 unidiff==1.0.1 patch-ng==1.19.1
cat >apply.py <<'PY'
import shutil

import patch_ng
import unidiff
import whatthepatch

old, new = open("old").read(), open("new").read()
for name in "blanks", "empty":
    text = open(name + ".diff").read()
    diff = next(whatthepatch.parse_patch(text))
    print(f"{name}: whatthepatch reads {len(diff.changes)} lines:", end=" ")
    try:
        print(whatthepatch.apply_diff(diff, old.splitlines()) == new.splitlines())
    except whatthepatch.exceptions.HunkApplyException as error:
        print(error)
    print(f"{name}: unidiff reads {len(unidiff.PatchSet(text)[0][0])} lines")
    shutil.copy("old", "ng/old")
    patch_ng.fromfile(name + ".diff").apply(strip=1, root="ng")
    print(f"{name}: patch-ng gives the new file:", open("ng/old").read() == new)
PY
mkdir ng
seen py apply.py <<'OUT'
blanks: whatthepatch reads 6 lines: True
blanks: unidiff reads 6 lines
blanks: patch-ng gives the new file: True
empty: whatthepatch reads 4 lines: context line 2, "b" does not match "", in hunk #1
empty: unidiff reads 6 lines
empty: patch-ng gives the new file: True
OUT
