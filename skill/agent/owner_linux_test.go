package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// TestProjectOfAnotherUser leaves a perstack.toml of another user above the workspace,
// and a link of another user to one's own.
func TestProjectOfAnotherUser(t *testing.T) {
	needs.Root(t)
	top := t.TempDir()
	dir := filepath.Join(top, "above", "work")
	own, above := filepath.Join(top, "own.toml"), filepath.Join(top, "above", ProjectFile)
	err := os.MkdirAll(dir, 0o777)
	for _, name := range []string{own, above} {
		if err == nil {
			err = os.WriteFile(name, nil, 0o666)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := FindProject(dir); got != above || err != nil {
		t.Errorf("of the same user: %q, %v", got, err)
	}
	refused := func(what string) {
		t.Helper()
		if got, err := FindProject(dir); err == nil ||
			!strings.Contains(err.Error(), above+" belongs to another user") {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	if err := os.Chown(above, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	refused("a file")
	if got, err := FindProject(filepath.Dir(above)); got != above || err != nil {
		t.Errorf("in the workspace itself: %q, %v", got, err)
	}
	os.Remove(above)
	if err := os.Symlink(own, above); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(above, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	refused("a link")
}
