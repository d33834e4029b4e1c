// Package refusal defines the errors of operations that are refused because of an
// argument, a path or the program's configuration.
package refusal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
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

// A RefusedError reports what may not be done. It matches [fs.ErrPermission], and
// [ErrOutside] where Path leads out of the workspace.
type RefusedError struct {
	Path      string // absolute, as the caller spelled it; "" for an operation or an address
	Workspace string // the directory that Path leads out of; "" for all else
	Reason    string // names what forbids it, or the flag that would allow it; "" outside the workspace
}

// ErrOutside reports a path that leads out of the workspace.
var ErrOutside = errors.New("outside the workspace")

func (e *RefusedError) Error() string {
	switch {
	case e.Workspace != "":
		return filepath.Clean(e.Path) + " is " + ErrOutside.Error() + " " + e.Workspace
	case e.Path != "":
		return e.Path + " is denied: " + e.Reason
	}
	return e.Reason
}

// Is makes the error match [fs.ErrPermission] and [ErrOutside].
func (e *RefusedError) Is(target error) bool {
	return target == fs.ErrPermission || target == ErrOutside && e.Workspace != ""
}

// Denied returns the error for a path in the workspace that operations may not use.
func Denied(path, reason string) error { return &RefusedError{Path: path, Reason: reason} }

// Under returns the error for what a flag in force forbids: "running a program",
// "--read-only".
func Under(what, flag string) error {
	return &RefusedError{Reason: what + " is refused under " + flag}
}

// Off returns the error for what only a flag allows: "reaching other machines",
// "--network".
func Off(what, flag string) error {
	return &RefusedError{Reason: what + " is off; start skill with " + flag + " to allow it"}
}

// CheckPath returns an *ArgError for arg if the path name, whose absolute form is abs,
// contains a NUL byte.
func CheckPath(arg, name, abs string) error {
	if strings.IndexByte(name, 0) < 0 {
		return nil
	}
	return &ArgError{Arg: arg, Reason: fmt.Sprintf("holds a NUL byte, which no file name can: %q", abs),
		Code: "ERR_INVALID_ARG_VALUE"}
}
