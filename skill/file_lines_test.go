package skill

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadFileSplit compares with the lines of strings.Split, also for a file larger than
// MaxRead.
func TestReadFileSplit(t *testing.T) {
	dir := t.TempDir()
	texts := []string{"", "\n", "a", "a\n", "a\nb", "a\r\n\r\nb\n\n", "l0\nl1\nl2\nl3\nl4",
		strings.Repeat("line\n", 30000)}
	for _, limit := range []int64{0, 100 << 10} {
		x, err := New(Config{Dir: dir, NoSync: true, MaxRead: limit})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		for _, text := range texts {
			if err := os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(text, "\n")
			for _, from := range []int{0, 1, 2, 4, 9, 20000, 29999, 30000, 30001, -1, -2, -9} {
				for _, to := range []int{0, 1, 2, 3, 20100, 30000, 40000, End, -1, -3} {
					r, err := x.Execute(t.Context(), &Session{},
						ReadFile{Path: "f", Lines: true, Split: true, From: from, To: to})
					large := limit > 0 && int64(len(text)) > limit
					var tooLarge *TooLargeError
					if large && errors.As(err, &tooLarge) &&
						(from < 0 || to < 0 || to == End || to-from > 20000) {
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					a, b := lineIndex(from, len(lines)), lineIndex(to, len(lines))
					want := strings.Join(lines[a:max(a, b)], "\n")
					if got := r.(FileRead); string(got.Content) != want || !large && got.Lines != len(lines) {
						t.Errorf("%.20q [%d:%d]: %.40q of %d lines, want %.40q of %d", text, from, to,
							got.Content, got.Lines, want, len(lines))
					}
				}
			}
		}
	}
}

// TestReadFileSplitPart reads lines that exceed one answer, as many at a time as fit, until
// the end of the file.
func TestReadFileSplitPart(t *testing.T) {
	dir := t.TempDir()
	x, err := New(Config{Dir: dir, NoSync: true, MaxRead: 100 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	text := strings.Repeat("line\n", 50000) + "end"
	for _, text := range []string{text, text + "\n", text + "\n\n"} {
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(text, "\n")
		var got []string
		for from, last := 0, false; !last; {
			r := read(t, x, ReadFile{Path: "f", Lines: true, Split: true, AllowPartial: true,
				From: from, To: End})
			got = append(got, string(r.Content))
			if r.Lines != len(lines) || r.To <= from || r.To > r.Lines || r.Partial != (r.To < r.Lines) {
				t.Fatalf("from %d: %d lines, To is %d of %d, Partial %t", from,
					strings.Count(string(r.Content), "\n")+1, r.To, r.Lines, r.Partial)
			}
			from, last = r.To, r.To == r.Lines
		}
		if len(got) < 3 || strings.Join(got, "\n") != text {
			t.Errorf("%d parts are not the whole text", len(got))
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("x"+strings.Repeat("ä", 60<<10)+"\nend"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := read(t, x, ReadFile{Path: "f", Lines: true, Split: true, AllowPartial: true, To: End})
	if len(r.Content) != 100<<10-1 || !r.Partial ||
		!r.LineCut || r.To != 1 || r.Lines != 2 || r.NotText {
		t.Errorf("a line that is too large: %d bytes, %+v", len(r.Content),
			FileRead{Partial: r.Partial, LineCut: r.LineCut, To: r.To, Lines: r.Lines})
	}
	if rest := read(t, x, ReadFile{Path: "f", Lines: true, Split: true, AllowPartial: true, From: r.To,
		To: End}); string(rest.Content) != "end" {
		t.Errorf("after a line that is too large: %q", rest.Content)
	}
}
