package dialect

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"textskill/skill"
)

// A Failure says why a call failed. A row returns a Failure with the message of the original
// program; the dialect adds its form around the message.
type Failure struct {
	Message string // the whole message of the dialect; "" means the message of Cause
	Code    string // such as "ENOENT"; "" for none
	Hint    string // what to do next; "" for none
	Cause   error  // nil if Message says everything

	body string // the whole reply, instead of the dialect's form of the message
	keys keys   // what the reply holds besides
}

func (f *Failure) Error() string {
	if f.Message == "" && f.Cause != nil {
		return f.Cause.Error()
	}
	return f.Message
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Cause }

// failf returns a failure with a message of the original.
func failf(format string, args ...any) error { return &Failure{Message: fmt.Sprintf(format, args...)} }

// withKeys adds keys to the reply that err is answered with.
func withKeys(err error, lists ...keys) error {
	f := Failure{Cause: err}
	if own, ok := errors.AsType[*Failure](err); ok {
		f = *own
	}
	f.keys = slices.Concat(lists...)
	return &f
}

// besides returns what an error says after the system's own, as of what could not be put back; "" if nothing.
func besides(err error, errno syscall.Errno) string {
	_, rest, found := strings.Cut(err.Error(), errno.Error()+"; ")
	if !found {
		return ""
	}
	return "; " + rest
}

// isMissing reports whether an error means that nothing is there.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// hintOf returns what an error says to do next, "" if it says nothing.
func hintOf(err error) string {
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		return hinted.Hint()
	}
	return ""
}

func failureReply(f *Failure) Reply { return Reply{Body: f.Message, Err: f} }

// errnoNames are the symbols of the errors that files and programs meet.
var errnoNames = map[syscall.Errno]string{
	syscall.E2BIG: "E2BIG", syscall.EACCES: "EACCES", syscall.EAGAIN: "EAGAIN", syscall.EBADF: "EBADF",
	syscall.EBUSY:  "EBUSY",
	syscall.EEXIST: "EEXIST", syscall.EFBIG: "EFBIG", syscall.EINVAL: "EINVAL", syscall.EIO: "EIO",
	syscall.EISDIR: "EISDIR", syscall.ELOOP: "ELOOP", syscall.EMFILE: "EMFILE", syscall.EMLINK: "EMLINK",
	syscall.ENAMETOOLONG: "ENAMETOOLONG", syscall.ENFILE: "ENFILE", syscall.ENODEV: "ENODEV",
	syscall.ENOENT: "ENOENT", syscall.ENOEXEC: "ENOEXEC", syscall.ENOMEM: "ENOMEM", syscall.ENOSPC: "ENOSPC",
	syscall.ENOSYS:  "ENOSYS",
	syscall.ENOTDIR: "ENOTDIR", syscall.ENOTEMPTY: "ENOTEMPTY", syscall.ENXIO: "ENXIO",
	syscall.EPERM: "EPERM", syscall.EROFS: "EROFS", syscall.ETXTBSY: "ETXTBSY", syscall.EXDEV: "EXDEV",
}

func codeOf(err error) string {
	var errno syscall.Errno
	var arg *skill.ArgError
	var refused *skill.RefusedError
	switch {
	case errors.As(err, &errno):
		return errnoNames[errno]
	case errors.As(err, &arg):
		return arg.Code
	case errors.As(err, &refused) && refused.Path != "":
		return "EACCES"
	}
	return ""
}
