package rawjson

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// TestHalves takes halves of surrogate pairs from JSON to a reply, as node does,
// and to a file, where they are replaced.
func TestHalves(t *testing.T) {
	for _, tt := range []struct {
		in, printed, disk string
	}{
		{`"plain"`, `"plain"`, "plain"},
		{`"\u00e9\n\/\"\\"`, `"é\n/\"\\"`, "é\n/\"\\"},
		{`"\b\f\r\t\u000b\u0000"`, `"\b\f\r\t\u000b\u0000"`, "\b\f\r\t\v\x00"},
		{`"\ud83d\ude00"`, `"😀"`, "😀"},
		{`"😀"`, `"😀"`, "😀"},
		{`"\ud800"`, `"\ud800"`, "\ufffd"},
		{`"\uD800x"`, `"\ud800x"`, "\ufffdx"},
		{`"a\udc00\ud800b"`, `"a\udc00\ud800b"`, "a\ufffd\ufffdb"},
		{`"\ud83d\ude00\ud83d"`, `"😀\ud83d"`, "😀\ufffd"},
		{`"\ud800\n"`, `"\ud800\n"`, "\ufffd\n"},
		{`"\ud800\u0041"`, `"\ud800A"`, "\ufffdA"},
		{`"\udfff\udfff"`, `"\udfff\udfff"`, "\ufffd\ufffd"},
		{"\"\xed\xa0\x80\"", "\"\ufffd\ufffd\ufffd\"", "\ufffd\ufffd\ufffd"},
		{"\"\xff\\u0041\xe2\x82\"", "\"\ufffdA\ufffd\"", "\ufffdA\ufffd"},
		{`"íí힟"`, `"íí힟"`, "íí힟"},
		{`"<>&\u2028\u007f"`, "\"<>&\u2028\x7f\"", "<>&\u2028\x7f"},
	} {
		s := Unquote([]byte(tt.in))
		if got := string(AppendString(nil, s)); got != tt.printed {
			t.Errorf("%s is printed %s, want %s", tt.in, got, tt.printed)
		}
		if got := ReplaceHalves(s); got != tt.disk {
			t.Errorf("%s is %q on the disk, want %q", tt.in, got, tt.disk)
		}
	}
}

// FuzzUnquote holds strings to encoding/json, and to going through JavaScript
// unchanged.
func FuzzUnquote(f *testing.F) {
	for _, s := range []string{`""`, `"a\u00e9\n\/"`, `"\ud83d\ude00\ud83d"`, `"\ud800\u0041é"`, `"\\\"\b"`,
		"\"\xff\xed\xa0\x80\"", `5`, `null`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		value = bytes.TrimSpace(value)
		if !json.Valid(value) {
			return
		}
		var want string
		wrong := json.Unmarshal(value, &want)
		got, ok := String(value)
		if ok != (wrong == nil && value[0] == '"') ||
			ok && utf8.Valid(value) && got != want {
			t.Errorf("String(%s)\n got %q %t\nwant %q", value, got, ok, want)
		}
		if !ok {
			return
		}
		text := Unquote(value)
		if printed := AppendString(nil, text); Unquote(printed) != text || !json.Valid(printed) {
			t.Errorf("Unquote(%s) is %q, and printed %s", value, text, printed)
		}
		at := 0
		for from, to := range EachString(value) {
			if at++; from != 0 || to != len(value) || at > 1 {
				t.Errorf("EachString(%s) has [%d:%d]", value, from, to)
			}
		}
	})
}
