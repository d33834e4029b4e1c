// Package refusal defines the errors of operations that are refused because of an
// argument or because of the program's configuration.
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
	Code   string // "" or an error code in the style of Node.js: "ERR_INVALID_ARG_VALUE"
}

func (e *ArgError) Error() string {
	if e.Tool == "" {
		return e.Arg + " " + e.Reason
	}
	return e.Tool + ": " + e.Arg + " " + e.Reason
}

// A RefusedError reports an operation that the configuration forbids. It matches
// [fs.ErrPermission].
type RefusedError struct {
	What string // "running a program"
	Flag string // the flag in force: "--read-only"
	Why  string // "" if the flag is the whole reason
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

// An OffError reports an operation that must be turned on first.
type OffError struct {
	What string // "reaching other machines"
	Flag string // the flag that allows it: "--network"
}

func (e *OffError) Error() string {
	return e.What + " is off; start skill with " + e.Flag + " to allow it"
}

// CheckPath returns an *ArgError for arg if the path name, whose absolute form is abs,
// contains a NUL byte.
func CheckPath(arg, name, abs string) error {
	if strings.IndexByte(name, 0) < 0 {
		return nil
	}
	return &ArgError{Arg: arg, Reason: fmt.Sprintf("holds a NUL byte, which no file name can: %q", abs), Code: "ERR_INVALID_ARG_VALUE"}
}
