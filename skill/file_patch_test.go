package skill

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// patched runs a patch in a folder with some files, and returns what that holds then.
func patched(t *testing.T, files map[string]string, text string, replace bool) (map[string]string,
	Patched, error) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	x, err := New(Config{Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	r, err := x.Execute(t.Context(), &Session{}, Patch{Text: text, Replace: replace})
	after := map[string]string{}
	werr := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, rerr := os.ReadFile(p)
			rel, _ := filepath.Rel(dir, p)
			after[filepath.ToSlash(rel)], err = string(data), rerr
		}
		return err
	})
	if werr != nil {
		t.Fatal(werr)
	}
	p, _ := r.(Patched)
	return after, p, err
}

// TestApplyPatchScenarios replays the portable scenarios of codex's apply_patch. A file without
// a final line break, which codex adds, keeps its shape.
func TestApplyPatchScenarios(t *testing.T) {
	f, err := os.Open("../testdata/conformance/apply-patch.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var row struct {
			ID           string
			Files, After map[string]string
			Patch        string
			Fails        bool
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if row.ID == "014_update_file_appends_trailing_newline" {
			row.After["no_newline.txt"] = strings.TrimSuffix(row.After["no_newline.txt"], "\n")
		}
		after, _, err := patched(t, row.Files, row.Patch, true)
		if (err != nil) != row.Fails || !maps.Equal(after, row.After) {
			t.Errorf("%s: %v\n got %q\nwant %q", row.ID, err, after, row.After)
		}
	}
	if n != 23 {
		t.Errorf("%d scenarios", n)
	}
}

// TestUnifiedDiffs applies diffs as git and diff -u write them.
func TestUnifiedDiffs(t *testing.T) {
	numbers := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	for name, tt := range map[string]struct {
		files, want map[string]string
		patch       string
	}{
		"change": {map[string]string{"a.txt": numbers},
			map[string]string{"a.txt": "1\n2\n3\nfour\n5\n6\n7\n8\n9\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -3,3 +3,3 @@\n 3\n-4\n+four\n 5\n"},
		"numbers that are off": {map[string]string{"a.txt": "0\n0\n" + numbers},
			map[string]string{"a.txt": "0\n0\n1\n2\n3\nfour\n5\n6\n7\n8\n9\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -3,9 +3,1 @@ func x() {\n 3\n-4\n+four\n 5\n"},
		"the nearest of two": {map[string]string{"a.txt": "x\ny\nx\ny\nx\ny\n"},
			map[string]string{"a.txt": "x\ny\nx\nz\nx\ny\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -3,2 +3,2 @@\n x\n-y\n+z\n"},
		"create, delete, rename": {map[string]string{"b.txt": "bye\n", "c.txt": "c\n"},
			map[string]string{"new/a.txt": "hi\n", "d.txt": "c\n"},
			"diff --git a/new/a.txt b/new/a.txt\nnew file mode 100644\nindex 000..111\n--- /dev/null\n+++ b/new/a.txt\n@@ -0,0 +1 @@\n+hi\n" +
				"diff --git a/b.txt b/b.txt\ndeleted file mode 100644\n--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n" +
				"diff --git a/c.txt b/d.txt\nsimilarity index 100%\nrename from c.txt\nrename to d.txt\n"},
		"no newline": {map[string]string{"a.txt": "a\nb"}, map[string]string{"a.txt": "a\nc"},
			"--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"},
		"line ends stay": {map[string]string{"a.txt": "a\r\nb\r\nc\r\n"},
			map[string]string{"a.txt": "a\r\nB\r\nb2\r\nc\r\n"},
			"--- a.txt\n+++ a.txt\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+b2\n c\n"},
		"other white space": {map[string]string{"a.txt": "\tif x {\n\t\ty()\n\t}\n"},
			map[string]string{"a.txt": "\tif x {\n\t\tz()\n\t}\n"},
			"--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n     if x {\n-        y()\n+        z()\n     }\n"},
		"a mark at the start": {map[string]string{"a.txt": "\ufeffa\nb\n"},
			map[string]string{"a.txt": "\ufeffA\nb\n"},
			"--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n"},
		"not UTF-8": {map[string]string{"a.txt": "\xff\xfe\x00x\nb\n"},
			map[string]string{"a.txt": "\xff\xfe\x00x\nB\n"},
			"--- a.txt\n+++ a.txt\n@@ -2,1 +2,1 @@\n-b\n+B\n"},
		"lines that look like": {map[string]string{"a.sql": "-- one\n-- two\n"},
			map[string]string{"a.sql": "-- two\n++ three\n"},
			"--- a.sql\n+++ a.sql\n@@ -1,2 +1,2 @@\n--- one\n -- two\n+++ three\n"},
	} {
		if after, _, err := patched(t, tt.files, tt.patch, false); err != nil || !maps.Equal(after, tt.want) {
			t.Errorf("%s: %v\n got %q\nwant %q", name, err, after, tt.want)
		}
	}
}

// TestPatchErrors says what is wrong with a patch, and changes nothing.
func TestPatchErrors(t *testing.T) {
	files := map[string]string{"a.txt": "alpha\nbeta\n", "b.txt": "b\n"}
	for patch, want := range map[string]string{
		"": "names no file", "hello": "names no file",
		"*** Begin Patch\n*** Update File: a.txt\n@@\n-alpha\n+A\n":                                           "it has no *** End Patch",
		"*** Begin Patch\n*** Delete File: b.txt\n*** Update File: a.txt\n@@\n-alpha beta\n+A\n*** End Patch": "a.txt: the hunk at line 4 of the patch does not match: \"alpha beta\"",
		"@@ -1 +1 @@\n-a\n+b\n": "name its file",
		"diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n":                    "which is not done here",
		"diff --git a/x b/x\nnew file mode 100644\nGIT binary patch\n":                      "only texts are patched",
		"--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n":                                   "file exists",
		"*** Begin Patch\n*** Add File: c.txt\n+x\n*** Add File: ../out\n+x\n*** End Patch": "is outside the workspace",
	} {
		after, _, err := patched(t, files, patch, false)
		if err == nil || !strings.Contains(err.Error(), want) || !maps.Equal(after, files) {
			t.Errorf("%q: %v; want %q; files are %q", patch, err, want, after)
		}
	}
	_, _, err := patched(t, files, "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-alpa\n+A\n", false)
	if e, ok := errors.AsType[*NoMatchError](err); !ok ||
		!strings.Contains(e.Hint(), "line 1 is nearest: `alpha`") {
		t.Errorf("%v", err)
	}
}

// TestPatchIsOneChange undoes a patch of several files at once.
func TestPatchIsOneChange(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/a.txt", []byte("a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	x, err := New(Config{Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	r, err := x.Execute(t.Context(), &Session{},
		Patch{Text: "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+b\n+c\n*** Add File: d/e.txt\n+e\n*** End Patch"})
	if err != nil {
		t.Fatal(err)
	}
	p := r.(Patched)
	if p.UndoID() == "" || len(p.Files) != 2 ||
		p.Files[0].Added != 2 || p.Files[0].Removed != 1 ||
		p.Files[1].Kind != "add" {
		t.Errorf("%+v", p)
	}
	undone, err := x.Execute(t.Context(), &Session{}, Undo{ID: p.UndoID()})
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(undone); text != "undid change 1: patch (3 files)" { // one is the folder
		t.Errorf("undo says %q", text)
	}
	if data, _ := os.ReadFile(dir + "/a.txt"); string(data) != "a\n" {
		t.Errorf("a.txt holds %q", data)
	}
	if _, err := os.Stat(dir + "/d"); err == nil {
		t.Error("the folder is still there")
	}
}
