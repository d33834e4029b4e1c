package workspace

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// maxDiff is the size limit for a comparison line by line, in bytes.
const maxDiff = 1 << 20

// Unified returns the difference between two versions of a file in unified format with
// three lines of context, "" for equal versions. A nil version is a file that does not
// exist. For binary and large versions one line gives the sizes.
func Unified(oldName, newName string, before, after []byte) string {
	if before == nil {
		oldName = "/dev/null"
	}
	if after == nil {
		newName = "/dev/null"
	}
	switch {
	case before != nil && after != nil && bytes.Equal(before, after):
		return ""
	case isBinary(before) || isBinary(after):
		return header(oldName, newName) + fmt.Sprintf("Binary file: %d bytes before, %d after\n", len(before),
			len(after))
	case len(before) > maxDiff || len(after) > maxDiff:
		return header(oldName, newName) + largeSummary(int64(len(before)), int64(len(after)))
	}
	return unifiedAt(oldName, newName, before, after, 0)
}

func largeSummary(before, after int64) string {
	return fmt.Sprintf("Large file: %d bytes before, %d after\n", before, after)
}

// unifiedAt is Unified for parts of two files. passed is the number of lines before both
// parts.
func unifiedAt(oldName, newName string, before, after []byte, passed int) string {
	dmp := diffmatchpatch.New()
	a, b, lines := dmp.DiffLinesToRunes(string(before), string(after))
	diffs := dmp.DiffCharsToLines(dmp.DiffMainRunes(a, b, false), lines)
	h := hunks{oldAt: passed, newAt: passed}
	for _, d := range diffs {
		for line := range strings.Lines(d.Text) {
			h.add(d.Type, line)
		}
	}
	h.flush()
	return header(oldName, newName) + h.out.String()
}

func header(oldName, newName string) string {
	return "--- " + headerName(oldName) + "\n+++ " + headerName(newName) + "\n"
}

// headerName quotes a name that contains control characters.
func headerName(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}

// isBinary reports whether data is binary by git's rule: a NUL byte near the start.
func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}

// contextLines is how many equal lines a hunk has before and after a difference.
const contextLines = 3

// hunks collects lines into hunks. The zero value is empty.
type hunks struct {
	out            strings.Builder
	lines          []string // lines of the open hunk, with their first column
	oldAt, newAt   int      // lines added so far, of each version
	oldLen, newLen int      // lines of the open hunk, of each version
	changed        bool     // the open hunk has a difference
	equal          int      // equal lines at the end of the open hunk
}

// add adds a line. It closes the open hunk after enough equal lines.
func (h *hunks) add(kind diffmatchpatch.Operation, line string) {
	mark := " "
	switch kind {
	case diffmatchpatch.DiffDelete:
		mark = "-"
	case diffmatchpatch.DiffInsert:
		mark = "+"
	}
	h.lines = append(h.lines, mark+endLine(line))
	if kind != diffmatchpatch.DiffInsert {
		h.oldAt++
		h.oldLen++
	}
	if kind != diffmatchpatch.DiffDelete {
		h.newAt++
		h.newLen++
	}
	if kind != diffmatchpatch.DiffEqual {
		h.changed, h.equal = true, 0
		return
	}
	h.equal++
	switch {
	case !h.changed && h.equal > contextLines:
		h.drop(1)
	case h.changed && h.equal > 2*contextLines:
		h.emit(contextLines + 1)
	}
}

// drop removes the first n lines of the open hunk, which are equal lines.
func (h *hunks) drop(n int) {
	h.lines = h.lines[n:]
	h.oldLen, h.newLen, h.equal = h.oldLen-n, h.newLen-n, h.equal-n
}

// emit prints the open hunk without its last keep lines, which start the next hunk.
func (h *hunks) emit(keep int) {
	n := len(h.lines) - keep
	fmt.Fprintf(&h.out, "@@ -%s +%s @@\n",
		lineRange(h.oldAt-h.oldLen, h.oldLen-keep), lineRange(h.newAt-h.newLen, h.newLen-keep))
	for _, l := range h.lines[:n] {
		h.out.WriteString(l)
	}
	h.lines = append([]string(nil), h.lines[n:]...)
	h.oldLen, h.newLen, h.equal, h.changed = keep, keep, keep, false
	h.drop(max(0, keep-contextLines))
}

// flush prints the open hunk, if it has a difference.
func (h *hunks) flush() {
	if h.changed {
		h.emit(max(0, h.equal-contextLines))
	}
}

// lineRange formats a range of n lines that follow before lines. Lines count from 1. An
// empty range names the line before it.
func lineRange(before, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", before)
	case 1:
		return fmt.Sprint(before + 1)
	}
	return fmt.Sprintf("%d,%d", before+1, n)
}

// endLine adds the marker of unified diffs to a last line without a newline.
func endLine(line string) string {
	if strings.HasSuffix(line, "\n") {
		return line
	}
	return line + "\n\\ No newline at end of file\n"
}
