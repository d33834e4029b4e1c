package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// markup is HTML. A constant of this package converts to it by itself; text that comes
// from elsewhere does not compile as markup, and is escaped by [doc.add].
//
// html/template is not used: it calls methods by name, with which the linker keeps every
// exported method of the program (22.0 MB, not 19.3 MB).
type markup string

// long is text that is shown whole; of other text, a name or a sentence,
// maxSentence bytes are.
type long string

const maxSentence = 1000

// A doc is HTML that is being written.
type doc struct{ b strings.Builder }

// add writes a format with each % replaced by the next argument: markup as it is, numbers,
// times, and text that is escaped and whose controls are shown. A % stands between tags or
// in an attribute in double quotes, but in no script and no style, and an address begins
// with the folder of the page: TestFormats holds all formats to that.
func (d *doc) add(format markup, args ...any) {
	rest := string(format)
	for _, arg := range args {
		before, after, ok := strings.Cut(rest, "%")
		if !ok {
			panic(fmt.Sprintf("page: %d arguments are too many for %s", len(args), format))
		}
		d.b.WriteString(before)
		d.value(arg)
		rest = after
	}
	if strings.Contains(rest, "%") {
		panic(fmt.Sprintf("page: %d arguments are too few for %s", len(args), format))
	}
	d.b.WriteString(rest)
}

func (d *doc) value(arg any) {
	switch v := arg.(type) {
	case markup:
		d.b.WriteString(string(v))
	case long:
		d.text(string(v))
	case string:
		head, whole := cut(v, maxSentence, maxSentence)
		d.text(string(head))
		if !whole {
			d.text("…")
		}
	case int:
		d.b.WriteString(strconv.Itoa(v))
	case time.Time:
		d.add(`<time datetime="%">%</time>`, v.UTC().Format(time.RFC3339), v.Local().Format(time.DateTime))
	default:
		panic(fmt.Sprintf("page: a %T is no text", arg))
	}
}

// text writes text that may be anybody's.
func (d *doc) text(s string) {
	for _, r := range s { // invalid UTF-8 is U+FFFD
		switch {
		case r == '&':
			d.b.WriteString("&amp;")
		case r == '<':
			d.b.WriteString("&lt;")
		case r == '>':
			d.b.WriteString("&gt;")
		case r == '"':
			d.b.WriteString("&#34;")
		case r == '\'':
			d.b.WriteString("&#39;")
		case r == '\n' || r == '\t':
			d.b.WriteRune(r)
		case r < ' ':
			d.b.WriteRune('␀' + r)
		case r == 0x7f:
			d.b.WriteRune('␡')
		case hidden(r):
			fmt.Fprintf(&d.b, "[U+%04X]", r)
		default:
			d.b.WriteRune(r)
		}
	}
}

// hidden reports whether a character cannot be seen, or changes the order in which others are.
func hidden(r rune) bool {
	switch {
	case 0x80 <= r && r < 0xa0, // controls
		r == 0xad, r == 0x61c, r == 0x180e, r == 0xfeff, // hyphens, marks and spaces without a width
		r == 0x34f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, // joiners, fillers
		r == 0x200b, r == 0x200e, r == 0x200f,
		0x2028 <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f, // lines, directions
		0xfff9 <= r && r <= 0xfffb, 0xe0000 <= r && r <= 0xe0fff: // annotations, tags, variants that hold any text
		return true
	}
	return false
}

// cut returns the beginning of a text, of at most so many bytes and lines, and whether that
// is all of it.
func cut(text string, bytes, lines int) (head long, whole bool) {
	head = long(text)
	if len(head) > bytes {
		head = head[:bytes]
		for len(head) > 0 && !utf8.RuneStart(text[len(head)]) {
			head = head[:len(head)-1]
		}
	}
	for at, n := 0, 0; ; n++ {
		end := strings.IndexByte(text[at:len(head)], '\n')
		if end < 0 {
			break
		}
		if at += end + 1; n+1 == lines {
			head = head[:at]
			break
		}
	}
	return head, len(head) == len(text)
}

// line returns the first line of a text, and … for the others.
func line(text string) string {
	text = strings.TrimSpace(text)
	if first, _, more := strings.Cut(text, "\n"); more {
		return strings.TrimSpace(first) + " …"
	}
	return text
}
