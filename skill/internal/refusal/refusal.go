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

// A RefusedError reports an operation or an address that the configuration forbids. It
// matches [fs.ErrPermission].
type RefusedError struct {
	Reason string // names the flag that forbids it or would allow it
}

func (e *RefusedError) Error() string { return e.Reason }

// Is makes the error match [fs.ErrPermission].
func (e *RefusedError) Is(target error) bool { return target == fs.ErrPermission }

// Under returns the error for what a flag in force forbids: "running a program",
// "--read-only".
func Under(what, flag string) error {
	return &RefusedError{what + " is refused under " + flag}
}

// Off returns the error for what only a flag allows: "reaching other machines",
// "--network".
func Off(what, flag string) error {
	return &RefusedError{what + " is off; start skill with " + flag + " to allow it"}
}

// CheckPath returns an *ArgError for arg if the path name, whose absolute form is abs,
// contains a NUL byte.
func CheckPath(arg, name, abs string) error {
	if strings.IndexByte(name, 0) < 0 {
		return nil
	}
	return &ArgError{Arg: arg, Reason: fmt.Sprintf("holds a NUL byte, which no file name can: %q", abs), Code: "ERR_INVALID_ARG_VALUE"}
}
