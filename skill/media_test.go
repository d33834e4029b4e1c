package skill

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestMedia checks that types are determined from the first bytes.
func TestMedia(t *testing.T) {
	dir := t.TempDir()
	x, err := New(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for name, content := range map[string]string{"png": "\x89PNG\r\n\x1a\nrest", "text.png": "text", "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []MediaFound{{"png", "image/png", 12}, {"text.png", "text/plain; charset=utf-8", 4}, {"empty", "text/plain; charset=utf-8", 0}} {
		r, err := x.Execute(t.Context(), &Session{}, Media{Path: want.Path})
		name := want.Path
		want.Path = filepath.Join(x.Dir(), name)
		if r != want {
			t.Errorf("%s is %+v, %v", name, r, err)
		}
	}
	if _, err := x.Execute(t.Context(), &Session{}, Media{Path: "missing"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing is %v", err)
	}
}
