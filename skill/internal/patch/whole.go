package patch

import (
	"fmt"
	"slices"
	"strings"
)

// Whole fails unless the old lines of hunks that delete a file are all lines of its text.
func Whole(text string, hunks []Hunk) error {
	lines := split(text)
	var want []string
	for _, h := range hunks {
		if slices.ContainsFunc(h.Lines, func(l Line) bool { return l.Mark != '-' }) {
			return fmt.Errorf("the hunk at line %d of the patch keeps lines of a file that it deletes", h.Line)
		}
		want = append(want, oldLines(h.Lines)...)
	}
	if len(lines) > 0 && len(want) > 0 && !strings.HasPrefix(want[0], "\ufeff") { // reading hides a mark
		lines[0].text = strings.TrimPrefix(lines[0].text, "\ufeff")
	}
	at := 0
	for at < min(len(lines), len(want)) && lines[at].text == want[at] {
		at++
	}
	switch {
	case at < len(lines):
		return fmt.Errorf("the patch deletes a file of %d lines, and this one has %d; line %d is %.80q",
			len(want), len(lines), at+1, lines[at].text)
	case at < len(want):
		return fmt.Errorf("the patch deletes a file of %d lines, and this one has %d", len(want), len(lines))
	}
	return nil
}
