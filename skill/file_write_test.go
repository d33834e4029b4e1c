package skill

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWriteKeeps writes and appends lines with LF to files of other forms.
func TestWriteKeeps(t *testing.T) {
	x, dir := open(t)
	for _, tt := range []struct{ before, content, written, appended, kept string }{
		{"a\r\nb\r\n", "c\nd\n", "c\r\nd\r\n", "a\r\nb\r\nc\r\nd\r\n", "CRLF line ends"},
		{"\ufeffa\r\n", "c\n", "\ufeffc\r\n", "\ufeffa\r\nc\r\n", "CRLF line ends, byte order mark"},
		{"\ufeffa\n", "c\n", "\ufeffc\n", "\ufeffa\nc\n", "byte order mark"},
		{"\xff\xfea\x00\r\x00\n\x00", "c\n", "\xff\xfec\x00\r\x00\n\x00",
			"\xff\xfea\x00\r\x00\n\x00c\x00\r\x00\n\x00", "CRLF line ends, byte order mark"},
		{"a\r\nb\n", "c\n", "c\n", "a\r\nb\nc\n", ""},
		{"a\n", "c\n", "c\n", "a\nc\n", ""},
		{"a\r\n", "c\r\nd\n", "c\r\nd\n", "a\r\nc\r\nd\n", ""},
		{"a\r\n", "c", "c", "a\r\nc", ""},
		{"", "c\n", "c\n", "c\n", ""},
	} {
		name := filepath.Join(dir, "f")
		play := func(args Args, want, kept string) {
			t.Helper()
			if err := os.WriteFile(name, []byte(tt.before), 0o644); err != nil {
				t.Fatal(err)
			}
			r, err := x.Execute(t.Context(), &Session{}, args)
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if said := strings.Join(r.(Changed).Kept, ", "); string(got) != want || said != kept {
				t.Errorf("%q with %T %q: %q, want %q; kept %s", tt.before, args, tt.content, got, want, said)
			}
		}
		play(WriteFile{Path: "f", Content: tt.content, Keep: true}, tt.written, tt.kept)
		play(AppendFile{Path: "f", Content: tt.content, Keep: true}, tt.appended,
			strings.TrimSuffix(strings.TrimSuffix(tt.kept, "byte order mark"), ", "))
		if strings.HasPrefix(tt.before, "\xff") {
			continue // WriteFile writes UTF-8 over it
		}
		play(WriteFile{Path: "f", Content: tt.content}, tt.content, "")
	}
}
