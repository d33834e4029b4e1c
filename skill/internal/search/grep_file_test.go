package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// heard records the emitted lines.
type heard []Line

func (h *heard) emit(lines []Line) {
	for _, line := range lines {
		line.Text = bytes.Clone(line.Text)
		*h = append(*h, line)
	}
}

// lineByLine returns the expected matches, found one line at a time.
func lineByLine(p *Pattern, data []byte) (want heard) {
	offset, m := int64(0), p.matcher()
	for i, line := range bytes.Split(data, lf) {
		if m.matchLine(line) {
			want = append(want, Line{i + 1, offset, line})
		}
		offset += int64(len(line)) + 1
	}
	return want
}

// longText returns lines that end near the block boundaries.
func longText(rng *rand.Rand, size int) []byte {
	var b []byte
	for len(b) < size {
		n := rng.IntN(200)
		switch to := blockSize - len(b)%blockSize; {
		case rng.IntN(500) == 0:
			n = rng.IntN(3 * blockSize)
		case to < 200:
			n = max(0, to-3+rng.IntN(5)) // the LF near the end of the block
		}
		b = append(b, strings.Repeat(pick(rng, "a", "b", "word "), n/4)...)
		b = append(b, pick(rng, "needle", "x = y[1]", "", "", "no", "\r", "é")...)
		b = append(b, '\n')
	}
	return b[:size]
}

func TestFileAsLines(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	texts := [][]byte{bytes.Repeat([]byte("a"), blockSize), bytes.Repeat(lf, blockSize-1),
		bytes.Repeat(lf, blockSize)}
	for _, size := range []int{0, 1, 2, blockSize - 1, blockSize, blockSize + 1, blockSize + slack,
		blockSize + slack + 1, 2 * blockSize, 3*blockSize + 77} {
		texts = append(texts, longText(rng, size), append(bytes.Repeat([]byte("b"), size), "\nneedle\n"...))
	}
	for shift := -7; shift <= 7; shift++ { // a match at every offset around a block boundary
		text := bytes.Repeat([]byte(strings.Repeat("b", 58)+"\r\n"), 4*blockSize/60)
		copy(text[2*blockSize+shift:], "needle")
		texts = append(texts, text)
	}
	for i := 0; i < len(texts); i += needs.Step(4) {
		text := texts[i]
		for _, expr := range []string{"needle", "^$", `\w+\s+=\s+\w+\[\d+\]`, "^b+$"} {
			p, err := Compile(expr, PatternOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want := lineByLine(p, text)
			for how, search := range searches(t, p, text) {
				var got heard
				in, err := search(got.emit)
				if err != nil {
					t.Fatal(err)
				}
				if d := difference(got, want); d != "" || in.count != len(want) || in.cut != 0 {
					t.Fatalf("%s in text %d of %d bytes, %s: %+v, %s", expr, i, len(text), how, in, d)
				}
			}
		}
	}
}

// searches are the ways to search a file.
func searches(t *testing.T, p *Pattern, text []byte) map[string]func(emit func([]Line)) (inFile, error) {
	size := int64(len(text))
	return map[string]func(emit func([]Line)) (inFile, error){
		"whole": func(emit func([]Line)) (inFile, error) {
			return p.searcher(emit).file(t.Context(), bytes.NewReader(text), size)
		},
		"in blocks": func(emit func([]Line)) (inFile, error) {
			return p.searcher(emit).blocks(t.Context(), bytes.NewReader(text), size)
		},
		"shared": func(emit func([]Line)) (inFile, error) {
			return p.parallel(t.Context(), bytes.NewReader(text), size, emit)
		},
		"shared, from a disk": func(emit func([]Line)) (inFile, error) {
			return p.parallel(t.Context(), onDisk(t, text), size, emit)
		},
	}
}

// onDisk returns an open file that holds text.
func onDisk(t *testing.T, text []byte) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFileCutShort searches a file that was truncated after its size was read.
func TestFileCutShort(t *testing.T) {
	text := bytes.Repeat([]byte("some line\n"), 4*blockSize/10)
	copy(text[blockSize:], "needle")
	p, err := Compile("needle", PatternOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 1, blockSize / 2, 3*blockSize/2 + 7, 3 * blockSize} {
		f := onDisk(t, text)
		if err := f.Truncate(int64(size)); err != nil {
			t.Fatal(err)
		}
		var got heard
		_, err := p.parallel(t.Context(), f, int64(len(text)), got.emit)
		if d := difference(got, lineByLine(p, text[:size])); err != nil || d != "" {
			t.Errorf("cut to %d bytes: %v, %s", size, err, d)
		}
	}
}

func difference(got, want heard) string {
	for i := range min(len(got), len(want)) {
		g, w := got[i], want[i]
		if g.Number != w.Number || g.Offset != w.Offset || !bytes.Equal(g.Text, w.Text) {
			return fmt.Sprintf("line %d at %d, %.50q; want %d at %d, %.50q", g.Number, g.Offset, g.Text,
				w.Number, w.Offset, w.Text)
		}
	}
	if len(got) != len(want) {
		return fmt.Sprintf("%d lines, want %d", len(got), len(want))
	}
	return ""
}

// TestBinaryFile checks that only a NUL byte near the beginning makes a file binary.
func TestBinaryFile(t *testing.T) {
	p, err := Compile("x", PatternOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for at, binary := range map[int]bool{0: true, sniffed - 1: true, sniffed: false} {
		data := bytes.Repeat([]byte("x"), sniffed+10)
		data[at] = 0
		in, err := p.searcher(func([]Line) {}).file(t.Context(), bytes.NewReader(data), int64(len(data)))
		if err != nil || in.binary != binary || (in.count == 1) == binary {
			t.Errorf("NUL at %d: %+v, %v", at, in, err)
		}
	}
}

// endless is a file of one very long line of a's, with a needle near its end.
type endless struct{ size int64 }

func (e endless) ReadAt(p []byte, off int64) (int, error) {
	for i := range p {
		if off+int64(i) >= e.size {
			return i, io.EOF
		}
		p[i] = 'a'
	}
	return len(p), nil
}

// TestLongLine searches a line of 200 MB with little memory, and counts it as cut.
func TestLongLine(t *testing.T) {
	p, err := Compile("^a{5}", PatternOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	s := p.searcher(func(lines []Line) {
		for _, line := range lines {
			if len(line.Text) < maxLine {
				t.Errorf("only %d bytes were searched", len(line.Text))
			}
			got = append(got, string(Shorten(line.Text, 10)))
		}
	})
	in, err := s.blocks(t.Context(), endless{200 << 20}, 200<<20)
	if err != nil || in != (inFile{count: 1, cut: 1}) || len(got) != 1 || got[0] != "aaaaaaaaaa" {
		t.Errorf("%+v, %q, %v", in, got, err)
	}
	if len(s.b.buf) > 3*maxLine {
		t.Errorf("%d bytes were kept of it", len(s.b.buf))
	}
}

// failing is a file that fails to read in the middle.
type failing struct{ *bytes.Reader }

var errDisk = errors.New("disk on fire")

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off > 2*blockSize {
		return 0, errDisk
	}
	return f.Reader.ReadAt(p, off)
}

func TestFileErrors(t *testing.T) {
	p, err := Compile("x", PatternOptions{})
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Repeat([]byte("x\n"), 20*blockSize) // more blocks than are searched at once
	f := failing{bytes.NewReader(data)}
	silent := func([]Line) {}
	for name, search := range map[string]func(emit func([]Line)) (inFile, error){
		"in blocks": func(emit func([]Line)) (inFile, error) { return p.searcher(emit).blocks(t.Context(), f, f.Size()) },
		"shared":    func(emit func([]Line)) (inFile, error) { return p.parallel(t.Context(), f, f.Size(), emit) },
	} {
		next := 1
		in, err := search(func(lines []Line) {
			for _, line := range lines {
				if line.Number != next || line.Offset != int64(next-1)*2 || string(line.Text) != "x" {
					t.Fatalf("%s: line %d at %d, %q; want line %d", name, line.Number, line.Offset,
						line.Text, next)
				}
				next++
			}
		})
		if err != errDisk || in.count != next-1 {
			t.Errorf("%s: %d lines of %d, %v", name, next-1, in.count, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.searcher(silent).blocks(ctx, f, f.Size()); err != context.Canceled {
		t.Error(err)
	}
	if _, err := p.parallel(ctx, f, f.Size(), silent); err != context.Canceled {
		t.Error(err)
	}
}

func TestShorten(t *testing.T) {
	for _, tt := range []struct {
		line, want string
		n          int
	}{
		{"abc", "abc", 3}, {"abcd", "abc", 3}, {"abé", "ab", 3}, {"aé", "aé", 3}, {"日本", "日", 5},
		{"\x80\x80\x80\x80\x80\x80", "\x80", 5}, {"x", "", 0},
	} {
		if got := string(Shorten([]byte(tt.line), tt.n)); got != tt.want {
			t.Errorf("%q to %d: %q", tt.line, tt.n, got)
		}
	}
}
