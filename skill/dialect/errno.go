package dialect

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"

	"textskill/skill"
)

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

// libuvTexts are where libuv's words differ from the C library's.
var libuvTexts = map[syscall.Errno]string{
	syscall.EISDIR: "illegal operation on a directory", syscall.EEXIST: "file already exists",
	syscall.ELOOP: "too many symbolic links encountered", syscall.ENAMETOOLONG: "name too long",
	syscall.EXDEV: "cross-device link not permitted", syscall.EBUSY: "resource busy or locked",
	syscall.EIO: "i/o error", syscall.ETXTBSY: "text file is busy",
}

// libuv words a file system error as node does: "ENOENT: no such file or
// directory, open 'P'". ok is false for every other error.
func libuv(err error) (message, code string, ok bool) {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return "", "", false
	}
	code = codeOf(err)
	text, found := libuvTexts[errno]
	if !found {
		text = errno.Error()
	}
	message = code + ": " + text
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe) && pe.Op == "read":
		message += ", read"
	case errors.As(err, &pe):
		message += ", " + pe.Op + " '" + pe.Path + "'"
	case errors.As(err, &le):
		message += ", " + le.Op + " '" + le.Old + "' -> '" + le.New + "'"
	}
	return message, code, true
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

// python words a file system error as Python does: "[Errno 2] No such file or
// directory: 'P'". ok is false for every other error.
func python(err error) (message string, ok bool) {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return "", false
	}
	text := errno.Error()
	if runtime.GOOS != "windows" {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	message = "[Errno " + itoa(int(errno)) + "] " + text
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		message += ": " + pyRepr(pe.Path)
	case errors.As(err, &le):
		message += ": " + pyRepr(le.Old) + " -> " + pyRepr(le.New)
	}
	return message, true
}
