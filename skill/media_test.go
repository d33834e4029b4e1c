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
	find := func(name string, limit int64) (Result, error) {
		return x.Execute(t.Context(), &Session{}, Media{Path: name, Types: []string{"image/png"}, MaxSize: limit})
	}
	r, err := find("png", 12)
	if m, ok := r.(MediaFound); err != nil || !ok || m.Type != "image/png" || m.Size != 12 || m.Path != filepath.Join(x.Dir(), "png") {
		t.Errorf("png is %+v, %v", r, err)
	}
	var large *TooLargeError
	if _, err := find("png", 11); !errors.As(err, &large) || large.Size != 12 || large.Limit != 11 {
		t.Errorf("a large png is %v", err)
	}
	for name, kind := range map[string]string{"text.png": "text/plain; charset=utf-8", "empty": "text/plain; charset=utf-8"} {
		var other *UnsupportedError
		if _, err := find(name, 100); !errors.As(err, &other) || other.Type != kind {
			t.Errorf("%s is %v", name, err)
		}
	}
	if _, err := find("missing", 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing is %v", err)
	}
}
