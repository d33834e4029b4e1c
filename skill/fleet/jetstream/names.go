package jetstream

import (
	"fmt"
	"strings"
)

// maxName is the longest name in bytes. Three escaped names fit in the 4 KiB of a subject.
const maxName = 256

// token returns a name as one token of a subject. It escapes all bytes except letters, digits, _
// and -. Different names have different tokens, and no token contains a wildcard.
func token(name string) (string, error) {
	if name == "" || len(name) > maxName {
		return "", fmt.Errorf("the name %.40q has %d bytes; names have 1 to %d", name, len(name), maxName)
	}
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if 'a' <= c && c <= 'z' || 'A' <= c &&
			c <= 'Z' || '0' <= c && c <= '9' ||
			c == '_' || c == '-' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String(), nil
}

// subject replaces each % of a pattern by the token of a name.
func subject(pattern string, names ...string) (string, error) {
	var b strings.Builder
	for _, name := range names {
		t, err := token(name)
		if err != nil {
			return "", err
		}
		before, after, _ := strings.Cut(pattern, "%")
		b.WriteString(before)
		b.WriteString(t)
		pattern = after
	}
	return b.String() + pattern, nil
}
