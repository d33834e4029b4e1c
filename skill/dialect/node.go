package dialect

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// toFixed prints n/unit with so many decimals, rounding halves up as toFixed does.
// unit must be a power of 1024.
func toFixed(n, unit int64, decimals int) string {
	scale := int64(math.Pow10(decimals))
	part := (n%unit*scale*2 + unit) / (2 * unit)
	whole := n/unit + part/scale
	tail := strconv.FormatInt(part%scale, 10)
	return strconv.FormatInt(whole, 10) + "." + strings.Repeat("0", decimals-len(tail)) + tail
}

// isoTime prints a time as Date.prototype.toISOString does, to the nearest
// millisecond.
func isoTime(t time.Time) string {
	return t.Add(time.Millisecond / 2).UTC().Format("2006-01-02T15:04:05.000Z")
}

// extensionOf is what follows the last dot of a name, with it; a name that begins
// with its only dot has none.
func extensionOf(path string) string {
	name := filepath.Base(path)
	if i := strings.LastIndexByte(name, '.'); i > 0 && name != ".." {
		return name[i:]
	}
	return ""
}

// libuvTexts are the messages of libuv that differ from the C library's.
var libuvTexts = map[syscall.Errno]string{
	syscall.EISDIR: "illegal operation on a directory", syscall.EEXIST: "file already exists",
	syscall.ELOOP: "too many symbolic links encountered", syscall.ENAMETOOLONG: "name too long",
	syscall.EXDEV: "cross-device link not permitted", syscall.EBUSY: "resource busy or locked",
	syscall.EIO: "i/o error", syscall.ETXTBSY: "text file is busy",
}

// libuv formats a file system error as node does: "ENOENT: no such file or
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
	return message + besides(err, errno), code, true
}
