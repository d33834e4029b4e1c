package skill

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// open returns an executor on a new directory.
func open(t testing.TB) (x *Executor, dir string) {
	t.Helper()
	x, err := New(Config{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x, x.Dir()
}

// edit edits a file with the content before and returns its new content.
func edit(t *testing.T, x *Executor, before, old, new string) (after string, err error) {
	t.Helper()
	name := filepath.Join(x.Dir(), "f")
	if err := os.WriteFile(name, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = x.Execute(t.Context(), &Session{}, EditFile{Path: "f", Old: old, New: new})
	data, rerr := os.ReadFile(name)
	if rerr != nil {
		t.Fatal(rerr)
	}
	return string(data), err
}

func TestEdit(t *testing.T) {
	x, _ := open(t)
	for _, tt := range []struct{ before, old, new, after string }{
		{"a b a", "a", "c", "c b a"}, // the first occurrence
		{"a.b", ".", "$1$&\\1", "a$1$&\\1b"},
		{"a\nb\n", "a\nb\n", "", ""},
		{"\xff\xfea\x00b", "a\x00", "\xfd", "\xff\xfe\xfdb"},
		{"\ufeffa\n", "a", "b", "\ufeffb\n"},
		{"no newline", "newline", "end", "no end"},
		{"aaa", "aa", "b", "ba"},

		// An old text with LF matches CRLF, and the new text takes its line ends.
		{"a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", "x\r\ny\r\nz\r\nc\r\n"},
		{"a\r\nb\r\n", "a\nb", "x\ny", "x\r\ny\r\n"},
		{"a\r\nb\r\n", "\nb", "\nx", "a\r\nx\r\n"},
		{"a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n"},
		{"a\r\nb", "b", "x\ny", "a\r\nx\r\ny"},
		{"a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"},
		{"a\nb\n", "b", "x\ny", "a\nx\ny\n"},
		{"a\r\nb\nc\r\n", "b\nc", "x\ny", "a\r\nx\ny\r\n"}, // as at the place itself
		{"a\r\nb\r\n", "a\r\nb", "x\ny", "x\ny\r\n"},       // to the byte: the new text stands as it is
		{"a\rb\r\n", "a\rb", "x", "x\r\n"},
		{"one", "one", "two\nthree", "two\nthree"},
	} {
		if after, err := edit(t, x, tt.before, tt.old, tt.new); after != tt.after || err != nil {
			t.Errorf("edit %q: %q -> %q\n got %q, %v\nwant %q", tt.before, tt.old, tt.new, after,
				err, tt.after)
		}
	}
}

// TestEditMiss checks the nearest line in the error of an edit that does not match.
func TestEditMiss(t *testing.T) {
	x, _ := open(t)
	for _, tt := range []struct{ before, old, hint string }{
		{"a\n\treturn 1\n", "  return 1",
			"line 2 is nearest: `→return 1`; wanted: `  return 1` (tabs and blanks)"},
		{"print('x')\nprint(“q”)\n", `print("q")`,
			"line 2 is nearest: `print(“q”)`; wanted: `print(\"q\")` (typographic quotes or dashes)"},
		{"  return 1\n\ndef f\n", "return 1\ndef f",
			"line 2 is nearest: ``; wanted: `def f` (letters differ; the line before it matches)"},
		{"  }\na\n}\nb\n", "}\nc",
			"line 4 is nearest: `b`; wanted: `c` (letters differ; the line before it matches)"},
		{"x  =  1\n", "x = 1", "line 1 is nearest: `x  =  1`; wanted: `x = 1` (blanks)"},
		{"x\u00a0= 1\n", "x = 1",
			"line 1 is nearest: `x⍽= 1`; wanted: `x = 1` (a no-break or zero-width blank)"},
		{"\ufefffirst\n", "first ",
			"line 1 is nearest: `[BOM]first`; wanted: `first·` (a no-break or zero-width blank)"},
		{"func f() {\n}\n", "func g() {",
			"line 1 is nearest: `func f() {`; wanted: `func g() {` (letters differ)"},
		{"one\ntwo\n", "one\nthree\n",
			"line 2 is nearest: `two`; wanted: `three` (letters differ; the line before it matches)"},
		{"}\na\n}\nb\n  c\n", "\n}\nb\n\tc\nd",
			"line 5 is nearest: `  c`; wanted: `→c` (tabs and blanks; the 2 lines before it match)"},
		{"one\r\ntwo\r\n", "one\ntoo",
			"line 2 is nearest: `two␍`; wanted: `too` (letters differ; the line before it matches)"},
		{"one\ntwo", "one\ntwo\nthree",
			"line 3 is nearest: ``; wanted: `three` (the file ends; the 2 lines before it match)"},
		{"one\ntwo", "two\n", "line 3 is nearest: ``; wanted: `` (the file ends; the line before it matches)"},
		{"one\n" + strings.Repeat("x", 1<<20), "one\ny", "line 2 is nearest: `" + strings.Repeat("x", 4000) +
			"…`; wanted: `y` (letters differ; the line before it matches)"},
		{"one\ntwo\n", "\n\none\ntw",
			"line 1 is nearest: `one`; wanted: `one` (this line matches; the blank ones before it do not)"},
		{"entirely different\n", "0123456789", ""},
		{"résumé\n", "re\u0301sume\u0301",
			"line 1 is nearest: `résumé`; wanted: `re\u0301sume\u0301` (the same letters, composed in one and decomposed in the other)"},
		{"", "x", ""},
		{"a\n", " \n\t\n", ""},
	} {
		after, err := edit(t, x, tt.before, tt.old, "new")
		miss, ok := errors.AsType[*NoMatchError](err)
		switch {
		case !ok:
			t.Errorf("edit %q: %q answers %v, want a miss", tt.before, tt.old, err)
		case miss.Hint() != tt.hint:
			t.Errorf("edit %q: %q\n got %s\nwant %s", tt.before, tt.old, miss.Hint(), tt.hint)
		case after != tt.before:
			t.Errorf("edit %q: %q changed it to %q", tt.before, tt.old, after)
		}
	}
}

// TestEditMissOfMany looks for a line among many that are somewhat like it.
func TestEditMissOfMany(t *testing.T) {
	x, _ := open(t)
	var b strings.Builder
	for i := range 20_000 {
		for j := range 25 {
			fmt.Fprintf(&b, "%d,", i*j*j)
		}
		b.WriteByte('\n')
	}
	start := time.Now()
	_, err := edit(t, x, b.String(), strings.Repeat("1234567,", 25), "new")
	if _, ok := errors.AsType[*NoMatchError](err); !ok || time.Since(start) > 3*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

// TestEditAcrossWindows puts an occurrence at every offset around the border of two search
// windows, small and large.
func TestEditAcrossWindows(t *testing.T) {
	x, _ := open(t)
	old := "needle\nin\na stack"
	for _, end := range []string{"\n", "\r\n"} {
		stands := strings.ReplaceAll(old, "\n", end)
		for i := range 32 {
			at := -30 + 5*(i%16) + []int{firstWindow, window}[i/16]
			head := strings.Repeat("hay", at/3) + strings.Repeat("!", at%3)
			tail := strings.Repeat("hay", 100)
			after, err := edit(t, x, head+stands+tail, old, "pin")
			if err != nil || after != head+"pin"+tail {
				t.Fatalf("with %q at %d: %v, %d bytes", end, at, err, len(after))
			}
		}
	}
}

// TestEditEach replaces what occurs very often, at a cost that its size says.
func TestEditEach(t *testing.T) {
	lines := strings.Repeat("a line\r\n", 100_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	e := editedFile{before: []byte(lines)}
	err := new(Executor).makeEdits(t.Context(), &Session{}, "f", nil,
		EditFile{Edits: []Replacement{{Old: "line", New: "word", All: true}}}, &e)
	runtime.ReadMemStats(&after)
	if err != nil || string(e.after) != strings.ReplaceAll(lines, "line", "word") {
		t.Errorf("%d bytes, %v", len(e.after), err)
	}
	if took := (after.TotalAlloc - before.TotalAlloc) / uint64(len(lines)); took > 1000 {
		t.Errorf("took %d times the memory of the file", took)
	}
}

// TestEditRefuses an old text that is empty.
func TestEditRefuses(t *testing.T) {
	x, _ := open(t)
	after, err := edit(t, x, "a", "", "b")
	if _, ok := errors.AsType[*ArgError](err); !ok || after != "a" {
		t.Errorf("an empty old text answers %v and leaves %q", err, after)
	}
}

// spliced edits in memory; ok reports whether old was found.
func spliced(t *testing.T, before, old, new string) (after string, ok bool) {
	t.Helper()
	s, ok, err := locate(t.Context(), strings.NewReader(before), int64(len(before)), old, new)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return before, false
	}
	return before[:s.Offset] + string(s.New) + before[s.Offset+s.Old:], true
}

// FuzzEdit checks the laws that every edit obeys.
func FuzzEdit(f *testing.F) {
	for _, s := range [][3]string{
		{"one\ntwo\nthree\n", "two", "2"}, {"a\r\nb\r\n", "a\nb", "c\nd"}, {"aaa", "aa", "a"},
		{"\n\r\n", "\n\r", "x"}, {"a\nb", "\n", "\r\n"}, {"\xff\x00", "\x00", ""}, {"a\r\r\nb\r", "\r", "\n"},
		{"x\r\ny\nz", "y\nz", "1\n2"},
	} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, before, old, new string) {
		if old == "" {
			return // refused; see TestEditRefuses
		}
		after, ok := spliced(t, before, old, new)
		want := strings.Contains(before, old)
		if strings.Contains(old, "\n") && !strings.HasSuffix(old, "\r") {
			want = want || strings.Contains(lf(before), lf(old))
		}
		if ok != want {
			t.Fatalf("edit %q: %q is found: %t, want %t", before, old, ok, want)
		}
		if !ok {
			return
		}
		if !strings.Contains(before+old+new, "\r") {
			if want := strings.Replace(before, old, new, 1); after != want {
				t.Fatalf("edit %q: %q -> %q\n got %q\nwant %q", before, old, new, after, want)
			}
		}
		if !explained(before, old, new, after) {
			t.Errorf("edit %q: %q -> %q made %q: more than the old text changed", before, old, new, after)
		}
		undone(t, before, old, new, after)
	})
}

// explained reports whether after is before with one occurrence of old replaced by new,
// whatever the line ends of both.
func explained(before, old, new, after string) bool {
	for _, piece := range []string{new, lf(new), crlf(new)} {
		for i := 0; i+len(piece) <= len(after); i++ {
			gone := len(before) - (len(after) - len(piece))
			if gone < 0 || i+gone > len(before) || after[i:i+len(piece)] != piece {
				continue
			}
			if before[:i] == after[:i] && before[i+gone:] == after[i+len(piece):] &&
				lf(before[i:i+gone]) == lf(old) {
				return true
			}
		}
	}
	return false
}

// undone replaces new by old again. That restores the file if new does not occur before
// the edit, and all line ends are of one kind.
func undone(t *testing.T, before, old, new, after string) {
	plain := !strings.Contains(before+old+new, "\r")
	dos := !strings.Contains(old+new, "\r") && strings.Contains(before, "\n") && crlf(lf(before)) == before &&
		!strings.Contains(lf(before), "\r")
	if new == "" || !plain && !dos {
		return
	}
	if at := strings.Index(lf(before), old); strings.Index(lf(after), new) != at {
		return
	}
	if dos && (!strings.Contains(after, "\n") || crlf(lf(after)) != after) {
		return
	}
	if back, ok := spliced(t, after, new, old); back != before || !ok {
		t.Errorf("edit %q: %q -> %q and back makes %q, %t", before, old, new, back, ok)
	}
}

// TestEditLarge edits the end of a large file without reading all of it into memory.
func TestEditLarge(t *testing.T) {
	x, dir := open(t)
	name := filepath.Join(dir, "large")
	const size = 256 << 20
	sparse(t, name, size, "the end\n")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := x.Execute(t.Context(), &Session{}, EditFile{Path: "large", Old: "the end", New: "no end"}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
		t.Errorf("took %d MB of memory, want 16 at the most", took>>20)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	end := make([]byte, 8)
	if _, err := f.ReadAt(end, size-8); err != nil && len(bytes.TrimLeft(end, "\x00")) == 0 {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != size-1 ||
		!bytes.HasSuffix(end[:7], []byte("no end\n")) {
		t.Errorf("it ends with %q and has %d bytes, %v", end, info.Size(), err)
	}
}

// sparse creates a file of zeros of the given size that ends with text.
func sparse(t testing.TB, name string, size int64, text string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size - int64(len(text))); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(text), size-int64(len(text))); err != nil {
		t.Fatal(err)
	}
}

// TestDistance counts two letters that are swapped as one change.
func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"want", "want", 0}, {"wnat", "want", 1}, {"wnt", "want", 1},
		{"udno", "undo", 1}, {"history", "hsitroy", 2}, {"abc", "cab", 2}, {"ab", "ba", 1}} {
		if got, back := Distance(tt.a, tt.b), Distance(tt.b, tt.a); got != tt.want || back != tt.want {
			t.Errorf("Distance(%q, %q) is %d, the other way %d; want %d", tt.a, tt.b, got, back, tt.want)
		}
	}
}

// TestChangedIsPrinted has a change say the same where it is printed as in its message.
func TestChangedIsPrinted(t *testing.T) {
	x, dir := open(t)
	for _, dryRun := range []bool{false, true} {
		if dryRun {
			x = newExecutor(t, Config{Dir: dir, DryRun: true})
		}
		r, err := x.Execute(t.Context(), &Session{}, WriteFile{Path: "a", Content: "hi"})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r); got != r.Message() || strings.HasPrefix(got, "would ") != dryRun {
			t.Errorf("it prints %q, and its message is %q", got, r.Message())
		}
	}
}
