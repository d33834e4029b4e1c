package skill

import (
	"bufio"
	"io"
	"strings"
	"unicode"
)

// nearSize is how many bytes of a file are looked through for a near miss.
const nearSize = 4 << 20

// nearest finds the line that resembles the first telling line of old most, so
// that whoever missed can see why. It returns nil where nothing comes close.
func nearest(src io.ReaderAt, size int64, old string) *NearLine {
	wanted := tellingLine(old)
	if wanted == "" || len(wanted) > 2000 {
		return nil
	}
	best, bestScore := (*NearLine)(nil), 0.6
	key := squeeze(wanted)
	lines := bufio.NewReaderSize(io.NewSectionReader(src, 0, min(size, nearSize)), block)
	for number := 1; ; number++ {
		line, err := lines.ReadString('\n')
		if line != "" && len(line) <= 4000 {
			text := strings.TrimSuffix(line, "\n")
			if score := likeness(key, squeeze(text), bestScore); score > bestScore {
				bestScore = score
				best = &NearLine{Number: number, Text: visible(text), Wanted: visible(wanted), Differs: difference(text, wanted)}
			}
		}
		if err != nil || bestScore >= 1 {
			return best
		}
	}
}

// tellingLine returns the first line of old that holds more than white space.
func tellingLine(old string) string {
	for line := range strings.SplitSeq(lf(old), "\n") {
		if squeeze(line) != "" {
			return line
		}
	}
	return ""
}

// squeeze leaves out all white space, the kinds that cannot be seen included.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\u200b' || r == '\ufeff' {
			return -1
		}
		return r
	}, s)
}

// difference says in what kind of characters two lines that look alike differ.
func difference(text, wanted string) string {
	if squeeze(text) != squeeze(wanted) {
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

// visible shows the characters that a reader cannot tell apart.
var shown = strings.NewReplacer("\t", "→", "\r", "␍", "\u00a0", "⍽", "\u200b", "[ZWSP]", "\ufeff", "[BOM]")

func visible(line string) string {
	body := strings.TrimRight(line, " ")
	return "`" + shown.Replace(body) + strings.Repeat("·", len(line)-len(body)) + "`"
}

// likeness is 1 for equal strings and falls with the part of their letters that
// would have to change. Below atLeast it need not be exact.
func likeness(a, b string, atLeast float64) float64 {
	if a == b {
		return 1
	}
	long := max(len(a), len(b))
	if long == 0 || float64(min(len(a), len(b)))/float64(long) <= atLeast {
		return 0
	}
	return 1 - float64(Distance(a, b))/float64(long)
}

// Distance is how many bytes must be inserted, removed or replaced to make b of a.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := diagonal
			if a[i] != b[j] {
				next = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
