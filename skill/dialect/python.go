package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"textskill/parser/rawjson"
	"textskill/skill/internal/words"
)

// python formats a file system error as Python does: "[Errno 2] No such file or
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
	message = "[Errno " + strconv.Itoa(int(errno)) + "] " + text
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		message += ": " + pyRepr(pe.Path)
	case errors.As(err, &le):
		message += ": " + pyRepr(le.Old) + " -> " + pyRepr(le.New)
	}
	return message + besides(err, errno), true
}

// pyPath reads a path as Python does: without white space at its ends, and with the home
// folder of the user in place of ~ or ~user.
func pyPath(path string) (string, error) {
	path = words.Strip(path)
	if strings.Contains(path, "\x00") {
		return "", errors.New("embedded null byte")
	}
	first, rest, below := strings.Cut(path, "/")
	name, ok := strings.CutPrefix(first, "~")
	if !ok {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if name != "" {
		var u *user.User
		if u, err = user.Lookup(name); err == nil {
			home = u.HomeDir
		}
	}
	switch {
	case err != nil:
		//lint:ignore ST1005 the wording of the original
		return "", errors.New("Could not determine home directory.")
	case below:
		home += "/" + rest
	}
	return home, nil
}

// pyEncodeError returns the error of encoding a text that holds halves of surrogate pairs,
// nil if there are none. It names the first, and those next to it.
func pyEncodeError(s string) error {
	at, code := rawjson.IndexHalf(s)
	if at < 0 {
		return nil
	}
	first, n := utf8.RuneCountInString(s[:at]), 0
	for next := 0; next == 0; n++ {
		at += len("\xed\xa0\x80")
		next, _ = rawjson.IndexHalf(s[at:])
	}
	if n > 1 {
		return fmt.Errorf("'utf-8' codec can't encode characters in position %d-%d: surrogates not allowed",
			first, first+n-1)
	}
	return fmt.Errorf("'utf-8' codec can't encode character '\\u%x' in position %d: surrogates not allowed",
		code, first)
}

// pyInt reads a number as Python's isinstance(v, int) lets it through.
func pyInt(v any) (int, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case json.Number:
		n, err := v.Int64()
		if f, wrong := v.Float64(); err != nil && wrong == nil && f == math.Trunc(f) { // 3.0
			n, err = int64(max(math.MinInt32, min(math.MaxInt32, f))), nil
		}
		return int(max(math.MinInt32, min(math.MaxInt32, n))), err == nil
	}
	return 0, false
}

func pyBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// pyFloat prints a number as Python does: 1700000000.0.
func pyFloat(f float64) string {
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// pyRepr quotes a string as Python does.
func pyRepr(s string) string {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteRune(quote)
	return b.String()
}
