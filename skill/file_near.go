package skill

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"textskill/skill/internal/merge"
	"textskill/skill/internal/patch"
	"textskill/skill/internal/search"
)

// nearLimit is how many bytes of a file are searched for a similar line.
const nearLimit = 4 << 20

// nearest returns the line most similar to the first line of old that contains text, so
// that the caller can see why old did not match; where that line is there as it is, the first
// one after it that is not. It returns nil if no line is similar.
func nearest(ctx context.Context, src io.ReaderAt, size int64, old string) *NearLine {
	wanted := strings.Split(lf(old), "\n")
	for len(wanted) > 0 && removeSpace(wanted[0]) == "" {
		wanted = wanted[1:]
	}
	if len(wanted) == 0 || len(wanted[0]) > 2000 {
		return nil
	}
	text, err := io.ReadAll(io.NewSectionReader(src, 0, min(size, nearLimit)))
	if err != nil {
		return nil
	}
	lines := strings.Split(string(text), "\n")
	best, bestRun := -1, 0
	for i, line := range lines {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil
		}
		run := 2 * alike(lines[i:], wanted[:min(len(wanted), 100)])
		if run > 0 && strings.TrimSuffix(line, "\r") != wanted[0] {
			run-- // a line that is the whole one is nearer than the end of one
		}
		if run > bestRun {
			best, bestRun = i, run
		}
	}
	if best < 0 {
		best = similarTo(wanted[0], lines)
	}
	if best < 0 {
		return nil
	}
	return nearLine(lines, best, wanted, alike(lines[best:], wanted))
}

// maxCompared is how many bytes of a line are compared with another, at a cost of its square,
// and maxCandidates with how many lines that is done.
const (
	maxCompared   = 200
	maxCandidates = 64
)

// compared returns what of a line is compared.
func compared(line string) string {
	s := straight(patch.Compose(line))
	return s[:min(len(s), maxCompared)]
}

// similarTo returns the index of the line that is most similar to the wanted one, -1 if none is.
// It compares those that share the most pairs of bytes with it.
func similarTo(wanted string, lines []string) int {
	key := compared(wanted)
	var pairs [1 << 16]bool
	eachPair(key, func(pair int) { pairs[pair] = true })
	type candidate struct{ shared, line int }
	var list []candidate
	for i, line := range lines {
		if len(line) >= maxShown {
			continue
		}
		shared, s := 0, compared(line)
		eachPair(s, func(pair int) {
			if pairs[pair] {
				shared++
			}
		})
		if 5*min(len(s), len(key)) > 3*max(len(s), len(key)) {
			list = append(list, candidate{shared, i})
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return b.shared - a.shared })
	list = list[:min(len(list), maxCandidates)]
	slices.SortFunc(list, func(a, b candidate) int { return a.line - b.line })
	best, bestScore := -1, 0.6
	for _, c := range list {
		if score := similarity(key, compared(lines[c.line]), bestScore); score > bestScore {
			best, bestScore = c.line, score
		}
	}
	return best
}

// eachPair calls use with the pairs of neighbouring bytes of s, which stands between two NULs.
func eachPair(s string, use func(pair int)) {
	last := byte(0)
	for i := range len(s) {
		use(int(last)<<8 | int(s[i]))
		last = s[i]
	}
	use(int(last) << 8)
}

// near shows the lines of a text around the nearest one.
func (a *address) near(text []byte, n *NearLine) string {
	if n == nil {
		return ""
	}
	lines := merge.Split(text)
	at := min(n.Number-1, len(lines)-1)
	if at < 0 || len(lines) != len(a.lines) {
		return ""
	}
	if a.view != nil && a.view.raw != nil {
		a.view.show(at-1, at+2)
	}
	return rowsAround(lines, []int{at}, 1)
}

// alike counts how many lines are as they are wanted. The last that is wanted may be a part of
// one, and the first may begin after the blanks of one.
func alike(lines, wanted []string) (n int) {
	if len(wanted) > 1 && strings.HasSuffix(strings.TrimSuffix(lines[0], "\r"), wanted[0]) &&
		removeSpace(lines[0]) == removeSpace(wanted[0]) {
		n = 1
	}
	for n < min(len(lines), len(wanted)) && (strings.TrimSuffix(lines[n], "\r") == wanted[n] || n > 0 &&
		n == len(wanted)-1 && strings.HasPrefix(lines[n], wanted[n])) {
		n++
	}
	return n
}

// nearLine describes the line after n lines at i that are as they are wanted.
func nearLine(lines []string, i int, wanted []string, n int) *NearLine {
	if n == len(wanted) {
		return &NearLine{i + 1, visible(lines[i]), visible(wanted[0]),
			"this line matches; the blank ones before it do not"}
	}
	near := &NearLine{i + n + 1, "``", visible(wanted[n]), "the file ends"}
	if i+n < len(lines) {
		near.Text, near.Differs = visible(lines[i+n]), difference(lines[i+n], wanted[n])
	}
	switch {
	case n == 1:
		near.Differs += "; the line before it matches"
	case n > 1:
		near.Differs += fmt.Sprintf("; the %d lines before it match", n)
	}
	return near
}

// removeSpace removes all white space, including zero-width characters.
func removeSpace(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\u200b' || r == '\ufeff' {
			return -1
		}
		return r
	}, s)
}

// straight removes all white space, and has the quotes and dashes of ASCII.
func straight(s string) string { return strings.Map(patch.Straight, removeSpace(s)) }

// difference describes how two similar lines differ.
func difference(text, wanted string) string {
	if removeSpace(text) != removeSpace(wanted) {
		if straight(text) == straight(wanted) {
			return "typographic quotes or dashes"
		}
		if patch.Compose(text) == patch.Compose(wanted) {
			return "the same letters, composed in one and decomposed in the other"
		}
		return "letters differ"
	}
	switch {
	case strings.TrimSuffix(text, "\r") == wanted:
		return "the line ends with CR"
	case strings.ContainsAny(text, "\u00a0\u200b\ufeff") != strings.ContainsAny(wanted, "\u00a0\u200b\ufeff"):
		return "a no-break or zero-width blank"
	case strings.Contains(text, "\t") != strings.Contains(wanted, "\t"):
		return "tabs and blanks"
	}
	return "blanks"
}

// visibleChars replaces characters that look alike.
var visibleChars = strings.NewReplacer("\t", "→", "\r", "␍", "\u00a0", "⍽", "\u200b", "[ZWSP]",
	"\ufeff", "[BOM]")

// maxShown is how many bytes of a line an error shows.
const maxShown = 4000

func visible(line string) string {
	if len(line) > maxShown {
		line = string(search.Shorten([]byte(line), maxShown)) + "…"
	}
	body := strings.TrimRight(line, " ")
	return "`" + visibleChars.Replace(body) + strings.Repeat("·", len(line)-len(body)) + "`"
}

// similarity returns 1 for equal strings, and less the more of their bytes must change.
// Below atLeast it may return 0 instead of the exact value.
func similarity(a, b string, atLeast float64) float64 {
	if a == b {
		return 1
	}
	long := max(len(a), len(b))
	if long == 0 || float64(min(len(a), len(b)))/float64(long) <= atLeast {
		return 0
	}
	return 1 - float64(Distance(a, b))/float64(long)
}

// Distance returns how many bytes must be inserted, removed or replaced, or swapped with the
// next one, to turn a into b.
func Distance(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			n := row[j]
			if a[i] != b[j] {
				n = 1 + min(n, row[j+1], next[j])
				if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
					n = min(n, 1+before[j-1])
				}
			}
			next[j+1] = n
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
