package skill

import (
	"fmt"

	"textskill/skill/internal/refusal"
)

// An ArgError reports an argument that its operation cannot accept.
type ArgError = refusal.ArgError

// A RefusedError reports an operation that the configuration rules out. It matches
// fs.ErrPermission.
type RefusedError = refusal.RefusedError

// An OffError reports an operation that has to be allowed first.
type OffError = refusal.OffError

// A NoMatchError reports that the text to replace is not in the file.
type NoMatchError struct {
	Path string
	Near *NearLine // the line that resembles it most; nil if none does
}

func (e *NoMatchError) Error() string { return "old text not found in " + e.Path }

// Hint says where the text nearly stands and what differs, "" if nowhere.
func (e *NoMatchError) Hint() string {
	if e.Near == nil {
		return ""
	}
	return fmt.Sprintf("line %d is nearest: %s; wanted: %s (%s)", e.Near.Number, e.Near.Text, e.Near.Wanted, e.Near.Differs)
}

// NearLine is a line of a file beside the line that was looked for. Both have
// their invisible characters shown: → tab, · blank at an end, ␍ CR, ⍽ NBSP.
type NearLine struct {
	Number  int // counted from 1
	Text    string
	Wanted  string
	Differs string // what kind of difference it is: "tabs and blanks", "letters"
}

// A TooLargeError reports more bytes than one answer carries.
type TooLargeError struct {
	Path        string
	Size, Limit int64 // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s holds %d bytes, more than the %d that one answer carries; ask for some of its lines", e.Path, e.Size, e.Limit)
}
