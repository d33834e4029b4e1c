package dialect

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"textskill/parser"
	rawjson "textskill/parser/json"
)

// object is a JSON object as JSON.stringify prints it: names and values in turn,
// the names in the order given. A value is nil, a string, bool, int, int64 or
// float64, or []byte that is JSON already.
func object(pairs ...any) []byte {
	b := []byte{'{'}
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rawjson.AppendString(b, pairs[i].(string)), ':')
		b = appendValue(b, pairs[i+1])
	}
	return append(b, '}')
}

// withContent returns a document of JSON, which has "content":"", with the content text,
// which is UTF-8. That may be long, so it is copied once.
func withContent(document, text string) string {
	const empty = `"content":""`
	before, after, _ := strings.Cut(document, empty)
	var b strings.Builder
	b.Grow(len(document) + rawjson.TextSize(text))
	b.WriteString(before + strings.TrimSuffix(empty, `"`))
	rawjson.WriteText(&b, text)
	b.WriteString(`"` + after)
	return b.String()
}

// array is a JSON array of values that are JSON already.
func array(items [][]byte) []byte {
	b := []byte{'['}
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, item...)
	}
	return append(b, ']')
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return rawjson.AppendString(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return append(b, rawjson.Number(v)...)
	case []byte:
		return append(b, v...)
	}
	return append(b, "null"...)
}

// whole returns s as it is written to a file or used in its name, where half of a
// surrogate pair cannot be.
func whole(s string) string { return rawjson.ReplaceHalves(s) }

// wellFormed replaces what is not UTF-8 in s, as node and Python do.
func wellFormed(s string) string { return rawjson.WellFormed(s) }

// units is the length of s as JavaScript counts it, in UTF-16 units.
func units(s string) (n int) {
	for i := range len(s) {
		if s[i]&0xc0 != 0x80 {
			n++
		}
		if s[i] >= 0xf0 {
			n++
		}
	}
	return n
}

// isBlank reports whether nothing is left of s after JavaScript's trim.
func isBlank(s string) bool { return strings.TrimFunc(s, parser.IsSpace) == "" }

// inspect quotes s as node does in its messages, and cuts it as they do.
func inspect(s string) string {
	quote := byte('\'')
	if strings.Contains(s, "'") {
		switch {
		case !strings.Contains(s, `"`):
			quote = '"'
		case !strings.Contains(s, "`") && !strings.Contains(s, "${"):
			quote = '`'
		}
	}
	b := []byte{quote}
	for _, r := range s {
		switch {
		case r == '\\' || r == '\'' && quote == '\'':
			b = append(b, '\\', byte(r))
		case strings.ContainsRune("\b\t\n\f\r", r):
			b = append(b, '\\', "btn?fr"[r-'\b'])
		case r < 0x20 || 0x7f <= r && r < 0xa0:
			b = fmt.Appendf(b, `\x%02X`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	b = append(b, quote)
	if units := utf16.Encode([]rune(string(b))); len(units) > 128 {
		return string(utf16.Decode(units[:128])) + "..."
	}
	return string(b)
}

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
