package process

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"
	"time"
)

func TestHeadTailKeepsStartAndEnd(t *testing.T) {
	tests := []struct {
		limit  int
		writes []string
		want   string
		cut    int64
	}{
		{10, nil, "", 0},
		{10, []string{"0123456789"}, "0123456789", 0},
		{10, []string{"01", "23456", "789"}, "0123456789", 0},
		{10, []string{"0123456789a"}, "01234\n[… 1 bytes left out …]\n6789a", 1},
		{10, []string{"0", "12345678", "9abcd", "ef"}, "01234\n[… 6 bytes left out …]\nbcdef", 6},
		{1, []string{"abc"}, "a\n[… 2 bytes left out …]\n", 2},
		{12, []string{"a\nbcdefghijklmnop\nq\n"}, "a\n[… 16 bytes left out …]\nq\n", 16},
		{4, []string{"\xff\xfe\xfd\xfc\xfb"}, "\xff\xfe\n[… 1 bytes left out …]\n\xfc\xfb", 1},
	}
	for _, tt := range tests {
		e := headTail{limit: tt.limit}
		for _, w := range tt.writes {
			if n, err := io.WriteString(&e, w); n != len(w) || err != nil {
				t.Errorf("%q: %d, %v", w, n, err)
			}
		}
		if got, cut := e.bytes(); string(got) != tt.want || cut != tt.cut {
			t.Errorf("%d %q\n got %q, %d\nwant %q, %d", tt.limit, tt.writes, got, cut, tt.want, tt.cut)
		}
	}
}

// TestWhatWasPrintedIsKept lets the time for reading a stream be over before any of it is read,
// as on a machine that stops for so long. Of some streams a process holds the other end open.
func TestWhatWasPrintedIsKept(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its pipes have no deadlines")
	}
	printed := bytes.Repeat([]byte("0123456789abcdef"), 256)
	for i := range 100 {
		c, err := newCapture(0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.w.Write(printed); err != nil {
			t.Fatal(err)
		}
		if i%50 > 0 {
			c.w.Close()
		}
		if kept, cut := c.finish(time.Now().Add(-time.Minute)); !bytes.Equal(kept, printed) || cut != 0 {
			t.Fatalf("stream %d: %d of %d bytes are kept, %d cut", i, len(kept), len(printed), cut)
		}
		c.w.Close()
	}
}

// Whatever the sizes of the writes, the result is the start of the stream, the number
// of bytes left out, and the end of the stream.
func FuzzHeadTail(f *testing.F) {
	f.Add([]byte("0123456789"), uint8(4), uint8(3))
	f.Add([]byte("a\nb\nc\nd\ne\nf\n"), uint8(7), uint8(1))
	f.Add([]byte("0\n0"), uint8(2), uint8(18))
	f.Add(bytes.Repeat([]byte("long line "), 40), uint8(64), uint8(200))
	f.Fuzz(func(t *testing.T, all []byte, limit, piece uint8) {
		e := headTail{limit: max(1, int(limit))}
		for p := range slices.Chunk(all, max(1, int(piece))) {
			e.Write(p)
		}
		kept, cut := e.bytes()
		if len(all) <= e.limit {
			if !bytes.Equal(kept, all) || cut != 0 {
				t.Fatalf("%q became %q", all, kept)
			}
			return
		}
		line := fmt.Appendf(nil, "[… %d bytes left out …]\n", cut)
		head, tail, ok := bytes.Cut(kept, line)
		fits := func(head []byte) bool {
			return bytes.HasPrefix(all, head) && bytes.HasSuffix(all, tail) &&
				cut == int64(len(all)-len(head)-len(tail))
		}
		// A newline is added to the head if it has none.
		if !ok || !fits(head) && !fits(bytes.TrimSuffix(head, []byte("\n"))) ||
			cut < int64(len(all)-e.limit) {
			t.Fatalf("%q became %q, %d left out", all, kept, cut)
		}
	})
}
