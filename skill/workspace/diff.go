package workspace

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// maxDiff is the size in bytes up to which two versions are compared line by line.
const maxDiff = 1 << 20

// Unified returns the difference between two versions of a file in unified
// format with three lines of context, "" if there is none. A nil version means
// that there is no such file. Binary and large versions are summed up in a line.
func Unified(oldName, newName string, before, after []byte) string {
	if before == nil {
		oldName = "/dev/null"
	}
	if after == nil {
		newName = "/dev/null"
	}
	header := "--- " + oldName + "\n+++ " + newName + "\n"
	switch {
	case before != nil && after != nil && bytes.Equal(before, after):
		return ""
	case binary(before) || binary(after):
		return header + fmt.Sprintf("Binary file: %d bytes before, %d after\n", len(before), len(after))
	case len(before) > maxDiff || len(after) > maxDiff:
		return header + fmt.Sprintf("Large file: %d bytes before, %d after\n", len(before), len(after))
	}
	return unifiedAt(oldName, newName, before, after, 0)
}

// unifiedAt is Unified for parts of two files that start after so many lines.
func unifiedAt(oldName, newName string, before, after []byte, passed int) string {
	header := "--- " + oldName + "\n+++ " + newName + "\n"
	if binary(before) || binary(after) {
		return header + "Binary file\n"
	}
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
	return header + h.out.String()
}

// binary tells by the rule of git: a NUL byte near the start.
func binary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}

// around is how many equal lines stand around a difference.
const around = 3

// hunks collects lines into hunks. The zero value is empty.
type hunks struct {
	out            strings.Builder
	lines          []string // of the open hunk, with their first column
	oldAt, newAt   int      // lines passed so far
	oldLen, newLen int      // of the open hunk
	changed        bool     // the open hunk has a difference
	quiet          int      // equal lines at the end of the open hunk
}

func (h *hunks) add(kind diffmatchpatch.Operation, line string) {
	mark := map[diffmatchpatch.Operation]string{
		diffmatchpatch.DiffEqual: " ", diffmatchpatch.DiffDelete: "-", diffmatchpatch.DiffInsert: "+",
	}[kind]
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
		h.changed, h.quiet = true, 0
		return
	}
	h.quiet++
	switch {
	case !h.changed && h.quiet > around:
		h.drop(1)
	case h.changed && h.quiet > 2*around:
		h.emit(around + 1)
	}
}

// drop forgets the first n lines of the open hunk, all equal.
func (h *hunks) drop(n int) {
	h.lines = h.lines[n:]
	h.oldLen, h.newLen, h.quiet = h.oldLen-n, h.newLen-n, h.quiet-n
}

// emit prints the open hunk without its last keep lines, which start the next one.
func (h *hunks) emit(keep int) {
	n := len(h.lines) - keep
	fmt.Fprintf(&h.out, "@@ -%s +%s @@\n",
		span(h.oldAt-h.oldLen, h.oldLen-keep), span(h.newAt-h.newLen, h.newLen-keep))
	for _, l := range h.lines[:n] {
		h.out.WriteString(l)
	}
	h.lines = append([]string(nil), h.lines[n:]...)
	h.oldLen, h.newLen, h.quiet, h.changed = keep, keep, keep, false
	h.drop(max(0, keep-around))
}

func (h *hunks) flush() {
	if h.changed {
		h.emit(max(0, h.quiet-around))
	}
}

// span prints a range of lines as unified format counts them: from 1, and an
// empty one by the line before it.
func span(before, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", before)
	case 1:
		return fmt.Sprint(before + 1)
	}
	return fmt.Sprintf("%d,%d", before+1, n)
}

// endLine marks a last line that has no newline.
func endLine(line string) string {
	if strings.HasSuffix(line, "\n") {
		return line
	}
	return line + "\n\\ No newline at end of file\n"
}
