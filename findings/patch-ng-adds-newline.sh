#!/usr/bin/env bash
# Expected: a diff whose both sides end in "\ No newline at end of file" gives a file without a newline at its end.
# Found: patch-ng writes the newline all the same, and says True. Its hunk keeps the marker of the old side only.
# patch(1) and Git leave the newline out.
# Seen: patch-ng 1.19.1 of PyPI, patch 2.7.6.
# It matters where bytes count, as in golden files and files with checksums: the next diff shows a change of nobody.
source "$(dirname "$0")/lib/common.sh"

printf 'a\nb' >old
printf 'a\nB' >new
diff -u --label a/old --label b/old old new >end.diff || true
pypi patch-ng==1.19.1
cat >apply.py <<'PY'
import patch_ng

parsed = patch_ng.fromfile("end.diff")
print("lines of the hunk:", parsed.items[0].hunks[0].text)
print("patch-ng:", parsed.apply(strip=1, root="ng"), open("ng/old", "rb").read())
PY
both() {
	mkdir ng && cp old ng && py apply.py
	cp old other && patch -s other end.diff && printf 'patch: %q\n' "$(cat other && echo .)"
}
seen both <<'OUT'
lines of the hunk: [b' a\n', b'-b\n', b'\\ No newline at end of file\n', b'+B\n']
patch-ng: True b'a\nB\n'
patch: $'a\nB.'
OUT
