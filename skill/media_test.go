package skill

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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
	for name, content := range map[string]string{"png": "\x89PNG\r\n\x1a\nrest", "text.png": "text",
		"empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []MediaFound{{"png", "image/png", 12}, {"text.png", "text/plain; charset=utf-8", 4},
		{"empty", "text/plain; charset=utf-8", 0}} {
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

// drawn returns an encoded picture of a size.
func drawn(t *testing.T, kind string, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	img := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.White, color.Black})
	var err error
	switch kind {
	case "image/png":
		err = png.Encode(&b, img)
	case "image/jpeg":
		err = jpeg.Encode(&b, img, nil)
	case "image/gif":
		err = gif.Encode(&b, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCheckPicture lets through what models take, shrinks what is larger, and says what is
// wrong with the rest.
func TestCheckPicture(t *testing.T) {
	for _, kind := range []string{"image/png", "image/jpeg", "image/gif"} {
		small, large, narrow := drawn(t, kind, 20, 10), drawn(t, kind, 2400, 1200), drawn(t, kind, 20, 2100)
		if out, note := checkPicture(kind, small); !bytes.Equal(out, small) || note != "" {
			t.Errorf("%s: %d bytes, %q", kind, len(out), note)
		}
		out, note := checkPicture(kind, large)
		config, _, err := image.DecodeConfig(bytes.NewReader(out))
		if err != nil || config.Width != 1568 || config.Height != 784 ||
			note != "shown at 1568x784 of 2400x1200" {
			t.Errorf("%s: %+v %v %q", kind, config, err, note)
		}
		for _, tt := range []struct {
			data []byte
			note string
		}{
			{narrow, "20x2100 pixels"}, {small[:len(small)/2], "its end is missing"},
			{small[:8], "its end is missing"},
			{append(bytes.Repeat([]byte("x"), 100), small[len(small)-12:]...), "damaged"},
		} {
			if out, note := checkPicture(kind, tt.data); out != nil || !strings.Contains(note, tt.note) {
				t.Errorf("%s: %d bytes, %q, want %q", kind, len(out), note, tt.note)
			}
		}
	}
	photo := image.NewNRGBA(image.Rect(0, 0, 1150, 1150))
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range photo.Pix {
		photo.Pix[i] = byte(rng.Uint32()) | byte(255*(i%4/3))
	}
	var b bytes.Buffer
	if err := png.Encode(&b, photo); err != nil {
		t.Fatal(err)
	}
	if out, note := checkPicture("image/png", b.Bytes()); http.DetectContentType(out) != "image/jpeg" ||
		len(out) > maxPicture {
		t.Errorf("a photograph of %d bytes as PNG: %d bytes, %q", b.Len(), len(out), note)
	}
	if out, note := checkPicture("application/pdf", []byte("%PDF")); out == nil || note != "" {
		t.Errorf("a document: %q", note)
	}
}

// TestReadShrunkPicture says which type a picture has once it is shrunk.
func TestReadShrunkPicture(t *testing.T) {
	x, dir := open(t)
	if err := os.WriteFile(filepath.Join(dir, "a.gif"), drawn(t, "image/gif", 2400, 1200), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := x.Execute(t.Context(), &Session{},
		ReadFiles{Files: []FileRange{{Path: "a.gif", To: End}}, MaxMedia: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if p := r.(FilesRead).Files[0]; p.Type != "image/png" || http.DetectContentType(p.Content) != p.Type {
		t.Errorf("a GIF that was shrunk is %s", p.Type)
	}
}
