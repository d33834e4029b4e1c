package merge

import (
	"bytes"
	"slices"
	"strings"
)

// An Edit replaces a text that occurs once.
type Edit struct{ Old, New string }

// Together makes edits in one pass. It returns the new text and the offset of each old text in the
// given text. ok is false if edits one after the other might give a different result: if an old
// text is missing, very short, or occurs twice, also after an edit; if edits overlap; if a text has a CR.
func Together(text []byte, edits []Edit) (now []byte, places []int, ok bool) {
	f := newTextFinder(text, edits)
	if f == nil {
		return nil, nil, false
	}
	places = make([]int, len(edits))
	for i := range places {
		places[i] = -1
	}
	unique := true
	f.each(text, func(i, start int) bool {
		unique = places[i] < 0
		places[i] = start
		return unique
	})
	if !unique || slices.Contains(places, -1) {
		return nil, nil, false
	}
	p := &pieces{text: text, edits: edits, places: places, rank: make([]int, len(edits)),
		done: make([]bool, len(edits))}
	for i := range edits {
		p.order = append(p.order, i)
	}
	slices.SortFunc(p.order, func(a, b int) int { return places[a] - places[b] })
	for n, i := range p.order {
		if p.rank[i] = n; n > 0 && places[i] < p.end(p.order[n-1]) {
			return nil, nil, false
		}
	}
	for i := range edits {
		if p.done[i] = true; f.changes(p, i) {
			return nil, nil, false
		}
	}
	return p.all(), places, true
}

// pieces are a text in which some of the edits are made.
type pieces struct {
	text   []byte
	edits  []Edit
	places []int  // by edit: the offset of its old text in text
	order  []int  // the edits, sorted by their places
	rank   []int  // by edit: its index in order
	done   []bool // by edit: it is made
}

func (p *pieces) end(i int) int { return p.places[i] + len(p.edits[i].Old) }

// content returns the current text at the place of an edit.
func (p *pieces) content(i int) string {
	if p.done[i] {
		return p.edits[i].New
	}
	return p.edits[i].Old
}

// before returns the n bytes of the current text before an edit, fewer at the beginning of the text.
func (p *pieces) before(i, n int) []byte {
	var parts [][]byte
	to := p.places[i]
	for r := p.rank[i] - 1; ; r-- {
		from := 0
		if r >= 0 {
			from = p.end(p.order[r])
		}
		from = max(from, to-n)
		parts = append(parts, p.text[from:to])
		if n -= to - from; n <= 0 || r < 0 {
			break
		}
		c := p.content(p.order[r])
		c = c[len(c)-min(n, len(c)):]
		parts = append(parts, []byte(c))
		if n -= len(c); n <= 0 {
			break
		}
		to = p.places[p.order[r]]
	}
	slices.Reverse(parts)
	return bytes.Join(parts, nil)
}

// after appends the n bytes of the current text after an edit, fewer at the end of the text.
func (p *pieces) after(out []byte, i, n int) []byte {
	from := p.end(i)
	for r := p.rank[i] + 1; ; r++ {
		to := len(p.text)
		if r < len(p.order) {
			to = p.places[p.order[r]]
		}
		to = min(to, from+n)
		out = append(out, p.text[from:to]...)
		if n -= to - from; n <= 0 || r >= len(p.order) {
			return out
		}
		c := p.content(p.order[r])
		c = c[:min(n, len(c))]
		out = append(out, c...)
		if n -= len(c); n <= 0 {
			return out
		}
		from = p.end(p.order[r])
	}
}

// all returns the text with all edits made.
func (p *pieces) all() []byte {
	out := make([]byte, 0, len(p.text))
	last := 0
	for _, i := range p.order {
		out = append(append(out, p.text[last:p.places[i]]...), p.edits[i].New...)
		last = p.end(i)
	}
	return append(out, p.text[last:]...)
}

// A textFinder finds the old texts of edits in one pass, by rolling sums of their first bytes.
type textFinder struct {
	edits   []Edit
	size    int              // bytes in a sum
	longest int              // bytes of the longest old text
	drop    uint64           // factor of the byte that leaves the sum
	sums    map[uint64][]int // the edits by the sum of their old texts
	likely  [1 << 13]uint64  // a Bloom filter of sums
}

// The limits of Together.
const (
	minTogether = 3 // bytes of the shortest old text
	maxAround   = 8 // bytes to search again around all edits, for each byte of the text
)

const sumFactor = 0x9e3779b97f4a7c15

// newTextFinder returns nil if the edits are outside the limits.
func newTextFinder(text []byte, edits []Edit) *textFinder {
	if len(edits) < 2 || bytes.IndexByte(text, '\r') >= 0 {
		return nil
	}
	f := &textFinder{edits: edits, size: 64, drop: 1, sums: map[uint64][]int{}}
	for _, e := range edits {
		if len(e.Old) < minTogether || strings.Contains(e.Old+e.New, "\r") {
			return nil
		}
		f.size, f.longest = min(f.size, len(e.Old)), max(f.longest, len(e.Old))
	}
	if f.longest*len(edits) > maxAround*len(text) {
		return nil
	}
	for range f.size {
		f.drop *= sumFactor
	}
	for i, e := range edits {
		var sum uint64
		for _, b := range []byte(e.Old[:f.size]) {
			sum = sum*sumFactor + uint64(b)
		}
		f.sums[sum] = append(f.sums[sum], i)
		f.likely[sum>>51] |= 1 << (sum >> 45 & 63)
	}
	return f
}

// each calls found for each occurrence of an old text in text, until found returns false.
func (f *textFinder) each(text []byte, found func(i, start int) bool) {
	var sum uint64
	for n, b := range text {
		sum = sum*sumFactor + uint64(b)
		if n >= f.size {
			sum -= f.drop * uint64(text[n-f.size])
		}
		if n+1 < f.size || f.likely[sum>>51]&(1<<(sum>>45&63)) == 0 {
			continue
		}
		start := n + 1 - f.size
		for _, i := range f.sums[sum] {
			if old := f.edits[i].Old; len(text)-start >= len(old) &&
				string(text[start:start+len(old)]) == old && !found(i, start) {
				return
			}
		}
	}
}

// changes reports whether edit i, which was just made, created the old text of a later edit.
func (f *textFinder) changes(p *pieces, i int) (made bool) {
	around := p.before(i, f.longest-1)
	from := len(around)
	around = append(around, f.edits[i].New...)
	to := len(around)
	f.each(p.after(around, i, f.longest-1), func(j, start int) bool {
		end := start + len(f.edits[j].Old)
		made = j > i && start < to &&
			end > from || j > i && start < from && end > from
		return !made
	})
	return made
}
