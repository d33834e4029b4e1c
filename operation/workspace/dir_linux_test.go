package workspace

import (
	"encoding/binary"
	"math"
	"testing"
)

// TestDirEnd asks for more names behind every offset but that which is known to be
// the last: a server, or a file system in a program, may choose any other.
func TestDirEnd(t *testing.T) {
	for _, tt := range []struct {
		local bool
		next  uint64
		last  bool
	}{
		{true, math.MaxInt64, true}, {true, math.MaxInt64 - 1, false}, {true, 0, false},
		{false, math.MaxInt64, false}, {false, 1<<63 + 7, false}, {true, 1<<63 + 7, false}, {true, math.MaxUint64, false},
	} {
		raw := make([]byte, 24)
		binary.NativeEndian.PutUint64(raw[8:], tt.next)
		binary.NativeEndian.PutUint16(raw[16:], 24)
		raw[18] = 8 // a regular file
		raw[19] = 'f'
		var b Block
		if last := (kernelDir{local: tt.local}).parse(&b, raw); last != tt.last || len(b.Names) != 1 {
			t.Errorf("local %t, %#x: the last %t, names %v", tt.local, tt.next, last, b.Names)
		}
	}
}
