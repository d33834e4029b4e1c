package skill

import (
	"fmt"

	"textskill/skill/internal/refusal"
)

// An ArgError reports an argument that its operation cannot accept.
type ArgError = refusal.ArgError

// A RefusedError reports what may not be done: an operation or an address that the
// configuration forbids, or a path. It matches fs.ErrPermission, and [ErrOutside] where the
// path leads out of the workspace.
type RefusedError = refusal.RefusedError

// ErrOutside reports a path that leads out of the workspace.
var ErrOutside = refusal.ErrOutside

// A NoMatchError reports that a file does not have [EditFile].Old, or the lines of a [Patch].
type NoMatchError struct {
	Path   string    // absolute
	Near   *NearLine // the most similar line; nil if no line is similar
	Line   int       // of the patch, from 1: where the hunk begins; 0 for an edit
	Wanted string    // the line of the patch that was looked for
	Rows   string    // of an edit: the lines around the most similar one, with numbers and letters
}

func (e *NoMatchError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s: the hunk at line %d of the patch does not match: %.200q", e.Path,
			e.Line, e.Wanted)
	}
	return "old text not found in " + e.Path
}

// Hint describes the most similar line and how it differs, "" for none.
func (e *NoMatchError) Hint() string {
	if e.Near == nil {
		return ""
	}
	return fmt.Sprintf("line %d is nearest: %s; wanted: %s (%s)", e.Near.Number, e.Near.Text, e.Near.Wanted,
		e.Near.Differs)
}

// A ManyMatchesError reports that the text of an edit occurs more than once in the file.
type ManyMatchesError struct {
	Path  string
	Lines []int // where it begins, from 1
}

func (e *ManyMatchesError) Error() string {
	return fmt.Sprintf("the old text occurs %d times in %s, first in lines %d and %d", len(e.Lines),
		e.Path, e.Lines[0], e.Lines[1])
}

// Hint says what makes the edit possible.
func (e *ManyMatchesError) Hint() string {
	return "name more of the text around it, or ask for all of them to be replaced"
}

// A NearLine is a line of a file and the similar line that was searched for. In both,
// invisible characters are replaced: → tab, · trailing space, ␍ CR, ⍽ no-break space.
type NearLine struct {
	Number  int // from 1
	Text    string
	Wanted  string
	Differs string // how they differ: "tabs and blanks", "letters differ"
}

// A TooLargeError reports content that exceeds [Config].MaxRead.
type TooLargeError struct {
	Path        string
	Size, Limit int64 // bytes; of lines whose end was not looked for, Size is 0
}

func (e *TooLargeError) Error() string {
	if e.Size == 0 {
		return fmt.Sprintf("the lines asked for of %s hold more than the %d bytes that one answer carries; ask for fewer", e.Path, e.Limit)
	}
	return fmt.Sprintf("%s holds %d bytes, more than the %d that one answer carries; ask for some of its lines", e.Path, e.Size, e.Limit)
}
