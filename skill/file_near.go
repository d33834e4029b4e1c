package skill

import (
	"bufio"
	"io"
	"strings"
	"unicode"
)

// nearLimit is how many bytes of a file are searched for a similar line.
const nearLimit = 4 << 20

// nearest returns the line most similar to the first line of old that contains text, so
// that the caller can see why old did not match. It returns nil if no line is similar.
func nearest(src io.ReaderAt, size int64, old string) *NearLine {
	wanted := firstTextLine(old)
	if wanted == "" || len(wanted) > 2000 {
		return nil
	}
	best, bestScore := (*NearLine)(nil), 0.6
	key := removeSpace(wanted)
	lines := bufio.NewReaderSize(io.NewSectionReader(src, 0, min(size, nearLimit)), block)
	for number := 1; ; number++ {
		line, err := lines.ReadString('\n')
		if line != "" && len(line) <= 4000 {
			text := strings.TrimSuffix(line, "\n")
			if score := similarity(key, removeSpace(text), bestScore); score > bestScore {
				bestScore = score
				best = &NearLine{Number: number, Text: visible(text), Wanted: visible(wanted), Differs: difference(text, wanted)}
			}
		}
		if err != nil || bestScore >= 1 {
			return best
		}
	}
}

// firstTextLine returns the first line of old that is not only white space.
func firstTextLine(old string) string {
	for line := range strings.SplitSeq(lf(old), "\n") {
		if removeSpace(line) != "" {
			return line
		}
	}
	return ""
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

// difference describes how two similar lines differ.
func difference(text, wanted string) string {
	if removeSpace(text) != removeSpace(wanted) {
		return "letters differ"
	}
	switch {
	case text == wanted:
		return "this line matches; a later one does not"
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
var visibleChars = strings.NewReplacer("\t", "→", "\r", "␍", "\u00a0", "⍽", "\u200b", "[ZWSP]", "\ufeff", "[BOM]")

func visible(line string) string {
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
