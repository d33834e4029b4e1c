package skill

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html/charset"
)

// encoded returns text in an encoding.
func encoded(t *testing.T, name, text string) string {
	t.Helper()
	e, _ := charset.Lookup(name)
	data, err := e.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// otherEncodings are files in other encodings than UTF-8.
var otherEncodings = map[string]string{
	"utf-16le":     "\ufeffeins\nzwei ä €\r\n\U0001F600\n",
	"utf-16be":     "\ufeffeins\nzwei ä €\r\n\U0001F600\n",
	"windows-1252": "<meta charset=windows-1252>\neins\nzwei ä €\r\n",
	"iso-8859-2":   "<meta charset='iso-8859-2'>\neins\nzwei ä ł\r\n",
	"shift_jis":    "<meta charset=\"Shift_JIS\">\neins\nzwei 日本語 ソ表\r\n",
	"gbk":          "<meta charset=gbk>\neins\nzwei 中文\n",
	"euc-kr":       "<meta charset=euc-kr>\neins\nzwei 한국어\n",
	"iso-2022-jp":  "<meta charset=iso-2022-jp>\neins\nzwei 日本語\n",
	"big5":         "<meta charset=big5>\neins\nzwei 中文\n",
	"koi8-r":       "<meta charset=koi8-r>\neins\nzwei привет\n",
}

// TestOtherEncodings reads, edits, appends to and rewrites files that are not UTF-8: each
// stays in its encoding.
func TestOtherEncodings(t *testing.T) {
	x, dir := open(t)
	name := filepath.Join(dir, "f")
	for encoding, text := range otherEncodings {
		old := encoded(t, encoding, text)
		mustDo(t, os.WriteFile(name, []byte(old), 0o644))
		if encoding == "iso-2022-jp" { // is ASCII, and so UTF-8
			continue
		}
		if r := read(t, x, ReadFile{Path: "f"}); string(r.Content) != text || r.Encoding != encoding ||
			r.NotText {
			t.Errorf("%s is read as %q, %s", encoding, r.Content, r.Encoding)
		}
		tail := read(t, x, ReadFile{Path: "f", Lines: true, From: -1, To: End})
		lines := splitLines(text)
		if string(tail.Content) != lines[len(lines)-1] {
			t.Errorf("%s: the last line is %q", encoding, tail.Content)
		}
		did[Changed](t, x, WriteFile{Path: "f", Content: text})
		holds(t, name, old)
		if c := did[Changed](t, x, EditFile{Path: "f", Old: "eins", New: "one", DryRun: true}); !strings.Contains(c.Diff, "eins") || !strings.Contains(c.Diff, "\n zwei ") {
			t.Errorf("%s: the diff is %s", encoding, c.Diff)
		}
		did[Changed](t, x, EditFile{Path: "f", Old: "eins\nzwei", New: "one\ntwo"})
		text = strings.Replace(text, "eins\nzwei", "one\ntwo", 1)
		holds(t, name, encoded(t, encoding, text))
		did[Changed](t, x, AppendFile{Path: "f", Content: "end\n"})
		holds(t, name, encoded(t, encoding, text+"end\n"))
		if encoding[:3] == "utf" {
			continue
		}
		if _, err := x.Execute(t.Context(), &Session{}, EditFile{Path: "f", Old: "one", New: "\U0001F600"}); err == nil || !strings.Contains(err.Error(), encoding) {
			t.Errorf("%s holds a character that it lacks: %v", encoding, err)
		}
		holds(t, name, encoded(t, encoding, text+"end\n"))
	}
}

// TestUTF32 takes UTF-32, whose mark begins like that of UTF-16, for no text.
func TestUTF32(t *testing.T) {
	x, dir := open(t)
	mustDo(t, os.WriteFile(filepath.Join(dir, "f"),
		[]byte("\xff\xfe\x00\x00z\x00\x00\x00w\x00\x00\x00"), 0o644))
	if r := read(t, x, ReadFile{Path: "f"}); r.Encoding != "" || !r.NotText {
		t.Errorf("%+v", r)
	}
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func holds(t *testing.T, name, want string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil || string(data) != want {
		t.Errorf("%s holds\n got %q, %v\nwant %q", filepath.Base(name), data, err, want)
	}
}

// TestGrepUTF16 finds lines of files in UTF-16 among other files, with what is around them.
func TestGrepUTF16(t *testing.T) {
	x, dir := open(t)
	for _, name := range []string{"utf-16le", "utf-16be"} {
		mustDo(t, os.WriteFile(filepath.Join(dir, name),
			[]byte(encoded(t, name, otherEncodings[name])), 0o644))
	}
	mustDo(t, os.WriteFile(filepath.Join(dir, "utf-8"), []byte("zwei\n"), 0o644))
	mustDo(t, os.WriteFile(filepath.Join(dir, "binary"), []byte("\xff\xfezwei\x00"), 0o644))
	g := grepIn(t, x, Grep{Path: ".", Pattern: "zwei( ä €)?", Context: 1})
	if len(g.Matches) != 3 || g.Searched != 3 || g.Binary != 1 {
		t.Fatalf("%+v", g)
	}
	for _, m := range g.Matches[:2] {
		if m.Line != 2 || m.Text != "zwei ä €\r" ||
			!slices.Equal(m.Context, []string{"eins", m.Text, "\U0001F600"}) {
			t.Errorf("%+v", m)
		}
	}
	if g := grepIn(t, x, Grep{Path: "utf-16be", Pattern: "^eins$"}); len(g.Matches) != 1 ||
		g.Matches[0].Text != "eins" {
		t.Errorf("after the byte order mark: %+v", g)
	}
	mustDo(t, os.WriteFile(filepath.Join(dir, "utf-32"),
		[]byte("\xff\xfe\x00\x00z\x00\x00\x00w\x00\x00\x00"), 0o644))
	if g := grepIn(t, x, Grep{Path: "utf-32", Pattern: "zw"}); g.Binary != 1 || g.Searched != 0 {
		t.Errorf("UTF-32: %+v", g)
	}
	if g := grepIn(t, x, Grep{Path: "utf-16le", Pattern: "\U0001F600"}); len(g.Matches) != 1 {
		t.Errorf("%+v", g)
	}
}

// TestNotText reads files in no known encoding: their bytes stay, and what was read of
// them is not written back.
func TestNotText(t *testing.T) {
	x, dir := open(t)
	name := filepath.Join(dir, "f")
	for _, old := range []string{"caf\xe9\n", "\x89PNG\r\n\x1a\n\x00", "\xff\xfea", "\xff\xfe\x00\xd8a\x00",
		"\xff\xfe\x00\x01\x80\x81", "<meta charset=utf-8>\xff"} {
		mustDo(t, os.WriteFile(name, []byte(old), 0o644))
		r := read(t, x, ReadFile{Path: "f"})
		if string(r.Content) != old || !r.NotText {
			t.Errorf("%q is read as %q, NotText %t", old, r.Content, r.NotText)
		}
		shown := strings.ToValidUTF8(string(r.Content), "\ufffd")
		_, err := x.Execute(t.Context(), &Session{}, WriteFile{Path: "f", Content: shown})
		if err == nil || !strings.HasPrefix(err.Error(), name+" is not text: ") {
			t.Errorf("%q is replaced by what was read of it: %v", old, err)
		}
		holds(t, name, old)
		did[Changed](t, x, WriteFile{Path: "f", Content: "plain"})
		holds(t, name, "plain")
	}
	mustDo(t, os.WriteFile(name, []byte("a\ufffdb"), 0o644))
	did[Changed](t, x, WriteFile{Path: "f", Content: "a\ufffdc"})
	holds(t, name, "a\ufffdc")
}

// TestReadIsBounded reads a sparse file of 10 GiB without a line end: no answer and no
// memory is larger than the bound, and only its beginning or end is read.
func TestReadIsBounded(t *testing.T) {
	x, dir := open(t)
	sparse(t, filepath.Join(dir, "f"), 10<<30, "end")
	before, counted := bytesRead()
	for _, a := range []ReadFile{
		{Path: "f"}, {Path: "f", Lines: true, To: 1}, {Path: "f", Lines: true, From: -1, To: End},
		{Path: "f", Lines: true, Split: true, To: 1},
		{Path: "f", Lines: true, Split: true, From: -1, To: End},
	} {
		_, err := x.Execute(t.Context(), &Session{}, a)
		if _, ok := errors.AsType[*TooLargeError](err); !ok {
			t.Errorf("%+v: %v", a, err)
		}
		a.AllowPartial = true
		if !a.Lines || a.Split {
			if r := read(t, x, a); len(r.Content) != 1<<20 || !r.Partial || a.Split &&
				(r.Lines != 1 || !r.LineCut) {
				t.Errorf("%+v: %d bytes of %d lines", a, len(r.Content), r.Lines)
			}
		}
	}
	if after, _ := bytesRead(); counted && after-before > 64<<20 {
		t.Errorf("read %d bytes", after-before)
	}
}
