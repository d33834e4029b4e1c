package dialect

import (
	"bytes"
	"encoding/json"
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
)

// Texts that came as JSON may hold half of a surrogate pair, which is no character
// but goes through JavaScript unharmed. In a Go string such a half is the three
// bytes that UTF-8 would have for it; [whole] makes it U+FFFD for the disk, and
// appendString prints it as it came.

// object is a JSON object as JSON.stringify prints it: names and values in turn,
// the names in the order given. A value is nil, a string, bool, int, int64 or
// float64, or []byte that is JSON already.
func object(pairs ...any) []byte {
	b := []byte{'{'}
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, pairs[i].(string)), ':')
		b = appendValue(b, pairs[i+1])
	}
	return append(b, '}')
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
		return appendString(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return append(b, number(v)...)
	case []byte:
		return append(b, v...)
	}
	return append(b, "null"...)
}

// number prints a number as JavaScript does: 1, 0.5, 1e+308.
func number(f float64) string {
	if f == 0 { // also -0
		return "0"
	}
	b, err := json.Marshal(f)
	if err != nil { // an infinity
		return "null"
	}
	return string(b)
}

// shortEscapes are the control characters with an escape of two letters.
var shortEscapes = [0x20]string{'\b': `\b`, '\t': `\t`, '\n': `\n`, '\f': `\f`, '\r': `\r`}

// appendString prints s as JSON.stringify does: escaped are quotes, backslashes,
// control characters and halves of surrogate pairs, and nothing else. Other bytes
// that are no UTF-8 are replaced.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c, size, escape := s[i], 1, ""
		switch {
		case c == '"':
			escape = `\"`
		case c == '\\':
			escape = `\\`
		case c < 0x20:
			if escape = shortEscapes[c]; escape == "" {
				escape = fmt.Sprintf(`\u%04x`, c)
			}
		case isHalf(s[i:]):
			size = 3
			escape = `\u` + strconv.FormatInt(0xd000|int64(s[i+1]&0x3f)<<6|int64(s[i+2]&0x3f), 16)
		case c >= utf8.RuneSelf:
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && size == 1 {
				size, escape = brokenSize(s[i:]), "\ufffd"
			}
		}
		if escape != "" {
			b = append(append(b, s[from:i]...), escape...)
			from = i + size
		}
		i += size
	}
	return append(append(b, s[from:]...), '"')
}

// isHalf tells whether s begins with half of a surrogate pair.
func isHalf(s string) bool {
	return len(s) >= 3 && s[0] == 0xed && s[1]&0xe0 == 0xa0 && s[2]&0xc0 == 0x80
}

// whole replaces the halves of surrogate pairs in s by U+FFFD, as they are written
// to a file or used in its name.
func whole(s string) string {
	i := strings.IndexByte(s, 0xed)
	if i < 0 || utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i = 0; i < len(s); i++ {
		if isHalf(s[i:]) {
			b.WriteRune(utf8.RuneError)
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unquote decodes a valid JSON string.
func unquote(raw []byte) string {
	raw = raw[1 : len(raw)-1]
	if !utf8.Valid(raw) {
		raw = []byte(wellFormed(string(raw)))
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	b := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			b = append(b, raw[i])
			continue
		}
		i++
		switch c := raw[i]; c {
		case 'u':
			r := hex4(raw[i+1:])
			i += 4
			if next := raw[i+1:]; utf16.IsSurrogate(r) && len(next) >= 6 && next[0] == '\\' && next[1] == 'u' {
				if pair := utf16.DecodeRune(r, hex4(next[2:])); pair != utf8.RuneError {
					r, i = pair, i+6
				}
			}
			b = appendRune(b, r)
		case 'b', 't', 'n', 'f', 'r':
			b = append(b, "\b\t\n\f\r"[strings.IndexByte("btnfr", c)])
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// appendRune is utf8.AppendRune that keeps halves of surrogate pairs.
func appendRune(b []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(b, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(b, r)
}

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

// trims tells whether nothing is left of s when JavaScript trims it.
func trims(s string) bool {
	return strings.TrimFunc(s, func(r rune) bool {
		switch r {
		case ' ', '\t', '\n', '\v', '\f', '\r', 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff:
			return true
		}
		return 0x2000 <= r && r <= 0x200a
	}) == ""
}

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
		case r < 0x20 && shortEscapes[r] != "":
			b = append(b, shortEscapes[r]...)
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

// fixed prints n/unit with so many decimals, rounding halves up as toFixed does.
// unit must be a power of 1024.
func fixed(n, unit int64, decimals int) string {
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
