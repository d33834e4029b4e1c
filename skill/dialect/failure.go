package dialect

import (
	"errors"
	"syscall"

	"textskill/skill"
)

// A Failure is why a call was refused or did not succeed.
type Failure struct {
	Message string // in the dialect's words, complete
	Code    string // "ENOENT"; "" where there is none
	Hint    string // what to do next; "" where there is nothing to say
	Cause   error  // nil where the message is all there is
}

func (f *Failure) Error() string { return f.Message }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Cause }

// errnoNames are the symbols of the errors that file operations meet.
var errnoNames = map[syscall.Errno]string{
	syscall.EACCES: "EACCES", syscall.EAGAIN: "EAGAIN", syscall.EBADF: "EBADF", syscall.EBUSY: "EBUSY",
	syscall.EEXIST: "EEXIST", syscall.EFBIG: "EFBIG", syscall.EINVAL: "EINVAL", syscall.EIO: "EIO",
	syscall.EISDIR: "EISDIR", syscall.ELOOP: "ELOOP", syscall.EMFILE: "EMFILE", syscall.EMLINK: "EMLINK",
	syscall.ENAMETOOLONG: "ENAMETOOLONG", syscall.ENFILE: "ENFILE", syscall.ENODEV: "ENODEV",
	syscall.ENOENT: "ENOENT", syscall.ENOMEM: "ENOMEM", syscall.ENOSPC: "ENOSPC", syscall.ENOSYS: "ENOSYS",
	syscall.ENOTDIR: "ENOTDIR", syscall.ENOTEMPTY: "ENOTEMPTY", syscall.ENXIO: "ENXIO",
	syscall.EPERM: "EPERM", syscall.EROFS: "EROFS", syscall.ETXTBSY: "ETXTBSY", syscall.EXDEV: "EXDEV",
}

// codeOf returns the symbol of an error, "" where it has none.
func codeOf(err error) string {
	var errno syscall.Errno
	var arg *skill.ArgError
	var outside *skill.OutsideError
	var denied *skill.DeniedError
	switch {
	case errors.As(err, &errno):
		return errnoNames[errno]
	case errors.As(err, &arg):
		return arg.Code
	case errors.As(err, &outside), errors.As(err, &denied):
		return "EACCES"
	}
	return ""
}
