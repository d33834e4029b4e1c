// Package refusal holds the errors of operations that were not carried out: because
// of an argument, or because of how the program was configured.
package refusal

import (
	"fmt"
	"io/fs"
	"strings"
)

// An ArgError reports an argument that its operation cannot accept.
type ArgError struct {
	Tool   string // name that the caller used; empty until package dialect fills it in
	Arg    string // argument at fault: "destination"
	Reason string // "is required", "already exists"; no period
	Code   string // for programs; "" or a code like those of system errors
}

func (e *ArgError) Error() string {
	if e.Tool == "" {
		return e.Arg + " " + e.Reason
	}
	return e.Tool + ": " + e.Arg + " " + e.Reason
}

// A RefusedError reports an operation that the configuration rules out. It matches
// [fs.ErrPermission].
type RefusedError struct {
	What string // "running a program"
	Flag string // the flag in force: "--read-only"
	Why  string // "" where the flag says it all
}

func (e *RefusedError) Error() string {
	text := e.What + " is refused under " + e.Flag
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// Is makes the error match [fs.ErrPermission].
func (e *RefusedError) Is(target error) bool { return target == fs.ErrPermission }

// An OffError reports an operation that has to be allowed first.
type OffError struct {
	What string // "reaching other machines"
	Flag string // what allows it: "--network"
}

func (e *OffError) Error() string {
	return e.What + " is off; start skill with " + e.Flag + " to allow it"
}

// CheckPath refuses the path name, absolute abs, if it holds a NUL byte.
func CheckPath(arg, name, abs string) error {
	if strings.IndexByte(name, 0) < 0 {
		return nil
	}
	return &ArgError{Arg: arg, Reason: fmt.Sprintf("holds a NUL byte, which no file name can: %q", abs), Code: "ERR_INVALID_ARG_VALUE"}
}
