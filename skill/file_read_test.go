package skill

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

func read(t *testing.T, x *Executor, a ReadFile) FileRead {
	t.Helper()
	r, err := x.Execute(t.Context(), &Session{}, a)
	if err != nil {
		t.Fatalf("%+v: %v", a, err)
	}
	return r.(FileRead)
}

// TestReadWhole checks that bytes are returned unchanged.
func TestReadWhole(t *testing.T) {
	x, dir := open(t)
	for _, text := range []string{"", "\n", "a", "a\r\nb\r\n", "\ufeffa\x00\xff"} {
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if r := read(t, x, ReadFile{Path: "f"}); string(r.Content) != text || r.Size != int64(len(text)) ||
			r.Partial {
			t.Errorf("of %q got %+v", text, r)
		}
	}
}

// TestReadLines compares line ranges with slices of all lines, for files with every kind
// of line end and longer than one block.
func TestReadLines(t *testing.T) {
	x, dir := open(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		text := randomLines(rng)
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		lines := splitLines(text)
		for range 8 {
			a := ReadFile{Path: "f", Lines: true, MaxBytes: 16 << 20,
				From: rng.IntN(2*len(lines)+5) - len(lines) - 2, To: End}
			if rng.IntN(3) > 0 {
				a.To = rng.IntN(2*len(lines)+5) - len(lines) - 2
			}
			from, to := bound(a.From, len(lines)), bound(a.To, len(lines))
			want := strings.Join(lines[from:max(from, to)], "\n")
			if got := read(t, x, a); string(got.Content) != want {
				t.Fatalf("lines [%d, %d) of %d (%d bytes)\n got %.200q\nwant %.200q", a.From, a.To,
					len(lines), len(text), got.Content, want)
			}
		}
	}
}

// randomLines returns a text of few or many lines, short and long, with or without a final
// line end.
func randomLines(rng *rand.Rand) string {
	var b strings.Builder
	long := []int{3, 20, block - 1, 3 * block}[rng.IntN(4)]
	end := []string{"\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x1e", "\u0085", "\u2028",
		"\u2029"}[rng.IntN(10)]
	inside := []string{"x", "\u00e4", "\u2027", "\xe2", "x\r", "\n\r", "\u2028"}[rng.IntN(7)]
	for range rng.IntN(12) {
		b.WriteString(strings.Repeat(inside, rng.IntN(long)/len(inside)) + "yz"[:rng.IntN(3)])
		b.WriteString(end)
	}
	if rng.IntN(2) == 0 {
		return strings.TrimSuffix(b.String(), end)
	}
	return b.String()
}

// lineEnds turns what ends a line in Python into one line feed. A regular expression takes minutes
// under the race detector.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\v", "\n", "\f", "\n", "\r", "\n", "\x1c", "\n", "\x1d",
	"\n", "\x1e", "\n",
	"\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// splitLines returns the lines of a text without their ends.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(lineEnds.Replace(text), "\n"), "\n")
}

// bound returns the index of a line number; a negative one counts from the end.
func bound(n, lines int) int {
	if n < 0 {
		n += lines
	}
	return max(0, min(n, lines))
}

// TestReadLinesAsTheProgramsDo compares with head, tail and sed.
func TestReadLinesAsTheProgramsDo(t *testing.T) {
	needs.Program(t, "head", "tail", "sed")
	x, dir := open(t)
	name := filepath.Join(dir, "f")
	for _, text := range []string{"", "\n", "\n\n\n", "one", "one\n", "1\n2\n3\n4\n5\n6\n7\n8\n9",
		"1\n\n3\n\n", strings.Repeat("0123456789\n", 20000)} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 2, 3, 7, 100} {
			count := strconv.Itoa(n)
			for _, tt := range []struct {
				a       ReadFile
				program []string
			}{
				{ReadFile{From: 0, To: n}, []string{"head", "-n", count, name}},
				{ReadFile{From: -n, To: End}, []string{"tail", "-n", count, name}},
				{ReadFile{From: n, To: End}, []string{"tail", "-n", "+" + strconv.Itoa(n+1), name}},
				{ReadFile{From: n, To: 2*n + 1},
					[]string{"sed", "-n", fmt.Sprintf("%d,%dp", n+1, 2*n+1), name}},
			} {
				out, err := exec.CommandContext(t.Context(), tt.program[0], tt.program[1:]...).Output()
				if err != nil {
					t.Fatal(err)
				}
				tt.a.Path, tt.a.Lines = "f", true
				if got, want := string(read(t, x, tt.a).Content), strings.TrimSuffix(string(out), "\n"); got != want {
					t.Errorf("%q of %.20q…\n got %.80q\nwant %.80q", tt.program[:3], text, got, want)
				}
			}
		}
	}
}

// TestTailReadsTheEndOnly reads the last lines of a file of 1 GB.
func TestTailReadsTheEndOnly(t *testing.T) {
	x, dir := open(t)
	sparse(t, filepath.Join(dir, "large"), 1<<30, "\none\ntwo\nthree\n")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	bytesBefore, counted := bytesRead()
	got := read(t, x, ReadFile{Path: "large", Lines: true, From: -2, To: End})
	bytesAfter, _ := bytesRead()
	runtime.ReadMemStats(&after)
	if string(got.Content) != "two\nthree" {
		t.Errorf("got %q", got.Content)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("took %d bytes of memory", took)
	}
	if took := bytesAfter - bytesBefore; counted && took > 1<<20 {
		t.Errorf("read %d bytes", took)
	}
}

// bytesRead returns how many bytes this process has read, if the system counts them.
func bytesRead() (n int64, ok bool) {
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, false
	}
	_, err = fmt.Sscanf(string(data), "rchar: %d", &n)
	return n, err == nil
}

// TestReadTooLarge checks the limit on one answer.
func TestReadTooLarge(t *testing.T) {
	x, err := New(Config{Dir: t.TempDir(), MaxRead: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := os.WriteFile(filepath.Join(x.Dir(), "f"), []byte("0123456789\nabc\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, a := range []ReadFile{{Path: "f"}, {Path: "f", Lines: true, To: End},
		{Path: "f", Lines: true, To: 1}} {
		_, err := x.Execute(t.Context(), &Session{}, a)
		if large, ok := errors.AsType[*TooLargeError](err); !ok || large.Limit != 10 {
			t.Errorf("%+v answers %v, want that it is too large", a, err)
		}
	}
	if r := read(t, x, ReadFile{Path: "f", AllowPartial: true}); string(r.Content) != "0123456789" ||
		!r.Partial || r.Size != 15 {
		t.Errorf("got %+v", r)
	}
	if r := read(t, x, ReadFile{Path: "f", Lines: true, From: -1, To: End}); string(r.Content) != "abc" {
		t.Errorf("got %q", r.Content)
	}
}

// TestReadFilesFull tells a file for which no room is left from one whose line is too long for any answer.
func TestReadFilesFull(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"a": "12345678\n", "b": "abcdefghij\nk\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	x, err := New(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	all := func(name string) FileRange { return FileRange{Path: name, To: End} }
	r, err := x.Execute(t.Context(), &Session{},
		ReadFiles{Files: []FileRange{all("a"), all("b")}, MaxBytes: 12})
	if err != nil || r.(FilesRead).Files[1].Err != errFull {
		t.Errorf("after another file: %+v, %v", r, err)
	}
	r, err = x.Execute(t.Context(), &Session{}, ReadFiles{Files: []FileRange{all("b")}, MaxBytes: 3})
	if err != nil || !r.(FilesRead).Files[0].LineCut {
		t.Errorf("alone: %+v, %v", r, err)
	}
}
