package rawjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Encode encodes v as JavaScript would print it: nothing escaped but quotes,
// backslashes and control characters; each byte that is not UTF-8 becomes U+FFFD.
// It panics on a value that has no JSON form.
func Encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return plain(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// plainly are the characters that encoding/json escapes and JavaScript does not.
var plainly = map[string]string{`\u2028`: "\u2028", `\u2029`: "\u2029", `\ufffd`: "\ufffd"}

// plain prints the characters of plainly as themselves.
func plain(b []byte) []byte {
	if !bytes.Contains(b, []byte(`\u2`)) && !bytes.Contains(b, []byte(`\uf`)) {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := bytes.IndexByte(b, '\\'); i >= 0; i = bytes.IndexByte(b, '\\') {
		out = append(out, b[:i]...)
		size := 2
		if as := plainly[string(b[i:min(i+6, len(b))])]; as != "" {
			size = 6
			out = append(out, as...)
		} else {
			out = append(out, b[i:i+size]...)
		}
		b = b[i+size:]
	}
	return append(out, b...)
}

// Number returns a number as JavaScript prints it: 1, 0.5, 1e+308. A number that is not
// finite is null, as in JSON.stringify.
func Number(f float64) string {
	if f == 0 { // also -0
		return "0"
	}
	b, err := json.Marshal(f)
	if err != nil { // not finite
		return "null"
	}
	return string(b)
}

// AppendString appends s to b as JSON.stringify prints it: escaped are quotes,
// backslashes, control characters and halves of surrogate pairs, and nothing else.
// Other bytes that are not UTF-8 are replaced as by [WellFormed].
func AppendString(b []byte, s string) []byte {
	return append(AppendText(append(b, '"'), s), '"')
}

// AppendText is [AppendString] without the quotes.
func AppendText(b []byte, s string) []byte {
	for i, code := IndexHalf(s); i >= 0; i, code = IndexHalf(s) {
		b = fmt.Appendf(appendQuoted(b, WellFormed(s[:i])), `\u%x`, code)
		s = s[i+3:]
	}
	return appendQuoted(b, WellFormed(s))
}

// appendQuoted appends what jsontext prints of s, which is UTF-8, between the quotes.
func appendQuoted(b []byte, s string) []byte {
	at := len(b)
	b, _ = jsontext.AppendQuote(b, s)
	return append(b[:at], b[at+1:len(b)-1]...)
}

// WriteText writes s to b as [AppendText] prints it, if s is UTF-8. It needs no memory
// besides: encoding/json makes four copies of a long text.
func WriteText(b *strings.Builder, s string) {
	var buf [4 << 10]byte
	for len(s) > 0 {
		n := min(len(s), len(buf)/len(`\u0000`)-1)
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n--
		}
		b.Write(AppendText(buf[:0], s[:n]))
		s = s[n:]
	}
}

// TextSize returns at least as many bytes as [WriteText] writes of s.
func TextSize(s string) int {
	size := len(s)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			size += len(`\u0000`) - 1
		}
	}
	return size
}
