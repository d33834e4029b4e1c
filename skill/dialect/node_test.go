package dialect

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"textskill/parser/rawjson"
)

// TestUnits counts as JavaScript does: a half of a surrogate pair is one unit.
func TestUnits(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int
	}{
		{`"plain"`, 5},
		{`"\u00e9\n\/\"\\"`, 5},
		{`"\b\f\r\t\u000b\u0000"`, 6},
		{`"\ud83d\ude00"`, 2},
		{`"😀"`, 2},
		{`"\ud800"`, 1},
		{`"\uD800x"`, 2},
		{`"a\udc00\ud800b"`, 4},
		{`"\ud83d\ude00\ud83d"`, 3},
		{`"\ud800\n"`, 2},
		{`"\ud800\u0041"`, 2},
		{`"\udfff\udfff"`, 2},
		{"\"\xed\xa0\x80\"", 3},
		{"\"\xff\\u0041\xe2\x82\"", 3},
		{`"íí힟"`, 3},
		{`"<>&\u2028\u007f"`, 5},
	} {
		if got := units(rawjson.Unquote([]byte(tt.in))); got != tt.want {
			t.Errorf("%s has %d units, want %d", tt.in, got, tt.want)
		}
	}
}

func TestSizeWords(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1: "1.00 B", 1023: "1023.00 B", 1152: "1.13 KB", 1239: "1.21 KB", 1<<20 - 1: "1024.00 KB",
		1 << 20:       "1.00 MB",
		1<<30 + 1<<29: "1.50 GB", 1<<40 - 1: "1024.00 GB", 1 << 40: "1.00 TB", 1 << 50: "1024.00 TB",
		1<<63 - 1: "8388608.00 TB",
	} {
		if got := formatSize(n); got != want {
			t.Errorf("formatSize(%d) is %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{17039360: "16.3", 31457281: "30.0", 15<<20 + 1: "15.0"} {
		if got := toFixed(n, 1<<20, 1); got != want {
			t.Errorf("toFixed(%d) is %s, want %s", n, got, want)
		}
	}
}

func TestExtensions(t *testing.T) {
	for path, want := range map[string][2]string{
		"/x/.bashrc": {"", "application/octet-stream"}, "/x/..foo": {".foo", "application/octet-stream"},
		"/x/..":  {"", "application/octet-stream"},
		"/x/...": {".", "application/octet-stream"}, "/x/f.": {".", "application/octet-stream"},
		"/x/a.tar.gz": {".gz", "application/gzip"},
		"/x/.a.":      {".", "application/octet-stream"}, "/x/a..": {".", "application/octet-stream"},
		"/x.d/f":  {"", "application/octet-stream"},
		"/x/a.TS": {".TS", "video/mp2t"}, "/x/a.rs": {".rs", "application/rls-services+xml"},
		"/x/a.yaml": {".yaml", "text/yaml"},
		"/x/a.go":   {".go", "application/octet-stream"}, "/x/a.js": {".js", "text/javascript"},
		"/x/a.jpe": {".jpe", "image/jpeg"},
	} {
		if got := [2]string{extensionOf(path), mimeType(path)}; got != want {
			t.Errorf("%s has %q, want %q", path, got, want)
		}
	}
	if n := len(mimeTypes()); n != 1239 {
		t.Errorf("the table has %d extensions, want 1239", n)
	}
}

// TestTrims has the blanks of JavaScript, and some that are none there.
func TestTrims(t *testing.T) {
	for s, want := range map[string]bool{"": true, " \t\n\v\f\r": true,
		"\u00a0\u3000\ufeff\u2028\u2029\u1680\u2003": true, "\u180e": false, "\u0085": false, "\u200b": false,
		" x ": false} {
		if got := isBlank(s); got != want {
			t.Errorf("isBlank(%q) is %t", s, got)
		}
	}
}

func TestObject(t *testing.T) {
	got := object("b", "x", "a", nil, "n", 1, "big", int64(1)<<53+1, "f", 0.5, "ok", true, "in", object(),
		"list", array([][]byte{[]byte("1"), []byte("{}")}))
	want := `{"b":"x","a":null,"n":1,"big":9007199254740993,"f":0.5,"ok":true,"in":{},"list":[1,{}]}`
	if string(got) != want || !json.Valid(got) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// The parts of an error that are ours are worded as in every original.
func TestBesides(t *testing.T) {
	err := fmt.Errorf("move: %w; b holds a copy",
		&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EPERM})
	if got, _, _ := libuv(err); got != "EPERM: operation not permitted, rename 'a' -> 'b'; b holds a copy" {
		t.Error(got)
	}
	if got, _ := python(err); !strings.HasSuffix(got, "peration not permitted: 'a' -> 'b'; b holds a copy") {
		t.Error(got)
	}
}
