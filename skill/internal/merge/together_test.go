package merge

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// inTurn makes edits one after the other; ok is false if an old text does not occur once, also
// counting occurrences that overlap.
func inTurn(text []byte, edits []Edit) ([]byte, bool) {
	for _, e := range edits {
		at := bytes.Index(text, []byte(e.Old))
		if at < 0 || bytes.Contains(text[at+1:], []byte(e.Old)) {
			return nil, false
		}
		text = bytes.Replace(text, []byte(e.Old), []byte(e.New), 1)
	}
	return text, true
}

// TestTogether compares random edits that are made together with those that are made in turn.
func TestTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	made, left := 0, 0
	for range 30000 {
		word := func(most int) string {
			var b strings.Builder
			for range 1 + rng.IntN(most) {
				b.WriteByte("abcdef\n"[rng.IntN(7)])
			}
			return b.String()
		}
		text := []byte(word(60))
		var edits []Edit
		for range 2 + rng.IntN(4) {
			from := rng.IntN(len(text))
			to := min(len(text), from+3+rng.IntN(6))
			edits = append(edits, Edit{string(text[from:to]), strings.Repeat(word(6), rng.IntN(2))})
		}
		now, _, ok := Together(text, edits)
		want, can := inTurn(text, edits)
		switch {
		case !ok && can:
			left++
		case ok && (!can || !bytes.Equal(now, want)):
			t.Fatalf("%q with %q: %q, want %q, %t", text, edits, now, want, can)
		case ok:
			made++
		}
	}
	if made < 1000 || left > made {
		t.Errorf("%d were made together, %d were not and could be", made, left)
	}
}

// BenchmarkTogether makes an edit in each 40th line.
func BenchmarkTogether(b *testing.B) {
	for _, n := range []int{250, 1000, 4000} {
		var text strings.Builder
		var edits []Edit
		for i := range n {
			fmt.Fprintf(&text, "x%d\n%s", i, strings.Repeat("filler text of a line\n", 40))
			edits = append(edits, Edit{fmt.Sprintf("x%d\n", i), fmt.Sprintf("y%d\n", i)})
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				if _, _, ok := Together([]byte(text.String()), edits); !ok {
					b.Fatal("they are not made")
				}
			}
		})
	}
}
