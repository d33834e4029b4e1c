package dialect

import (
	"strings"
	"testing"

	"textskill/parser/rawjson"
)

// TestHostilePatches names every hostile path in every place of a patch that names a file.
func TestHostilePatches(t *testing.T) {
	r := newHostileRun(t)
	tool := Workspace.Lookup("patch")
	for _, form := range []string{
		"*** Begin Patch\n*** Add File: $PATH\n+text\n*** End Patch",
		"*** Begin Patch\n*** Delete File: $PATH\n*** End Patch",
		"*** Begin Patch\n*** Update File: $PATH\n@@\n+more\n*** End Patch",
		"*** Begin Patch\n*** Update File: a.txt\n*** Move to: $PATH\n@@\n-text of a.txt\n+x\n*** End Patch",
		"*** Begin Patch\n*** Update File: $PATH\n*** Move to: new.txt\n*** End Patch",
		"--- /dev/null\n+++ b/$PATH\n@@ -0,0 +1 @@\n+x\n", "--- a/$PATH\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
		"diff --git a/a.txt b/x\nrename from $PATH\nrename to $PATH.new\n",
	} {
		for _, value := range hostilePaths {
			if r.spoiled {
				r.fresh()
			}
			value = strings.ReplaceAll(value, "$BASE", r.base)
			text := strings.ReplaceAll(form, "$PATH", value)
			r.call(hostileCall{Workspace, tool, &Param{Name: "patch"}, value,
				[]byte(`{"patch":` + string(rawjson.Encode(text)) + `}`)})
		}
		r.unmoved(form)
	}
}
