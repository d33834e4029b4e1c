package skill

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"

	"textskill/skill/internal/words"
)

const (
	maxDecoded = 64 << 20 // bytes of the largest file in another encoding that is read as text
	headSize   = 1024     // bytes in which a file says what encoding it has, as HTML does
)

// decode returns a file's content as UTF-8, and the name of its encoding if that is
// another. Known are UTF-16 with a byte order mark, and what HTML and XML declare. ok is
// false, and the content as it is, if no known encoding gives it back byte for byte.
func decode(data []byte) (text []byte, name string, ok bool) {
	if utf8.Valid(data) {
		return data, "", true
	}
	e, name := declared(data)
	if e == nil {
		return data, "", false
	}
	text, err := e.NewDecoder().Bytes(data)
	if err != nil {
		return data, "", false
	}
	if back, err := e.NewEncoder().Bytes(text); err != nil || !bytes.Equal(back, data) || !plausible(text) {
		return data, "", false
	}
	return text, name, true
}

// plausible reports whether a decoded text may be one. Any few bytes after FF FE are
// UTF-16, but of a text without ASCII none is in the Latin alphabet.
func plausible(text []byte) bool {
	latin := false
	for _, r := range string(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		if ' ' <= r && r < 0x7f || r == '\n' {
			return true
		}
		latin = latin || r < 0x250
	}
	return !latin
}

var declaration = words.Pattern(`(?i)<meta\s[^>]*charset\s*=\s*["']?\s*([\w.:-]+)|^<\?xml\s[^>]*encoding\s*=\s*["']([\w.:-]+)`)

// declared returns the encoding that the beginning of a file declares, by a byte order
// mark or as HTML and XML do, nil if that is UTF-8 or none.
func declared(data []byte) (encoding.Encoding, string) {
	head := data[:min(len(data), headSize)]
	label := ""
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")): // UTF-32
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return charset.Lookup("utf-16le")
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return charset.Lookup("utf-16be")
	case bytes.IndexByte(head, '<') >= 0:
		if at := declaration().FindSubmatch(head); at != nil {
			label = string(at[1]) + string(at[2])
		}
	}
	e, name := charset.Lookup(label)
	if strings.HasPrefix(name, "utf-") { // 8 bits are no UTF-16
		return nil, ""
	}
	return e, name
}

// looksUTF16 reports whether half of the first bytes of a text are NUL, all at even or all at
// odd places.
func looksUTF16(text []byte) bool {
	var nul [2]int
	text = text[:min(len(text), headSize)&^1]
	for i, b := range text {
		if b == 0 {
			nul[i%2]++
		}
	}
	return len(text) >= 4 && max(nul[0], nul[1])*4 > len(text)*3/2 && min(nul[0], nul[1]) == 0
}

// checkMark refuses to put UTF-8 into a file that looks like UTF-16 without a mark.
func checkMark(abs string, text []byte) error {
	if looksUTF16(text) {
		return fmt.Errorf("%s looks like UTF-16 without a byte order mark, and UTF-8 cannot be put into it", abs)
	}
	return nil
}

// asText returns the content of a file as UTF-8, like decode, with its size. A file in
// UTF-8, without text, or too large to decode is returned itself.
func asText(f io.ReaderAt, size int64) (src io.ReaderAt, textSize int64, name string, err error) {
	head, err := readRange(f, 0, min(size, headSize))
	if e, _ := declared(head); err != nil || e == nil || size > maxDecoded {
		return f, size, "", err
	}
	data, err := readRange(f, 0, size)
	if err != nil {
		return nil, 0, "", err
	}
	text, name, _ := decode(data)
	return bytes.NewReader(text), int64(len(text)), name, nil
}

// decodeUTF16 returns the content of a file in UTF-16 with a byte order mark as UTF-8,
// without the mark, so that its first line begins with its text.
func decodeUTF16(f io.ReaderAt, size int64) (text []byte, ok bool) {
	src, size, name, err := asText(f, size)
	if err != nil || !strings.HasPrefix(name, "utf-16") {
		return nil, false
	}
	text, err = readRange(src, 0, size)
	return bytes.TrimPrefix(text, []byte("\ufeff")), err == nil
}

// encodeLike returns content in the encoding of the file abs that it is to replace, if
// the content declares the same one. It refuses content that was read of a file in no
// known encoding, with U+FFFD in place of bytes: writing it back would lose them.
func (x *Executor) encodeLike(abs, content string) ([]byte, error) {
	data := []byte(content)
	marked := strings.HasPrefix(content, "\ufeff")
	lossy := strings.Contains(content, "\ufffd")
	if _, name := declared(data); !marked && !lossy && name == "" {
		return data, nil
	}
	old, err := x.ws.ReadUpTo(abs, maxDecoded)
	if err != nil {
		return data, nil // there is nothing to keep, or the write itself says what is wrong
	}
	text, name, ok := decode(old)
	switch {
	case !ok && lossy:
		return nil, fmt.Errorf("%s is not text: reading shows the bytes that are not UTF-8 as U+FFFD, and writing that back would change them; delete the file first to replace it", abs)
	case name == "" || marked != bytes.HasPrefix(text, []byte("\ufeff")):
		return data, nil
	}
	if e, again := declared(data); !marked && (e == nil || again != name) {
		return data, nil
	}
	return encodeAs(name, abs, content)
}

// encodeAs encodes text for the file abs; name is "" for UTF-8.
func encodeAs(name, abs, text string) ([]byte, error) {
	if name == "" {
		return []byte(text), nil
	}
	e, _ := charset.Lookup(name)
	data, err := e.NewEncoder().Bytes([]byte(text))
	if err == nil { // characters that the encoding lacks are encoded as HTML
		if back, err := e.NewDecoder().Bytes(data); err == nil && string(back) == text {
			return data, nil
		}
	}
	return nil, fmt.Errorf("%s is in %s, which cannot hold all of the new text", abs, name)
}

// mixedError refuses letters outside ASCII for a file whose encoding is not known: they would be
// UTF-8, and no encoding could read the file any more.
func mixedError(abs string) error {
	return fmt.Errorf("%s is not UTF-8, and its encoding is not known: letters outside ASCII cannot be added to it", abs)
}

// checkLetters fails with mixedError if a text has letters that the file cannot have. Of a
// large file only the first 64 MiB are looked at.
func checkLetters(abs string, file io.ReaderAt, size int64, encoding, text string) error {
	if encoding != "" || !hasLetters(text) {
		return nil
	}
	data, err := readRange(file, 0, min(size, maxDecoded))
	if err == nil && !utf8.Valid(wholeRunes(data)) {
		err = mixedError(abs)
	}
	return err
}

// hasLetters reports whether a text has letters outside ASCII in UTF-8.
func hasLetters(s string) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) < len(s)
}

// encodeEnd returns content in the encoding of the file abs, to whose end it goes.
func (x *Executor) encodeEnd(abs, content string) ([]byte, error) {
	f, info, err := x.ws.Open(abs)
	if err != nil {
		return []byte(content), nil // the file is missing, or the write itself says what is wrong
	}
	defer f.Close()
	text, size, name, err := asText(f, info.Size)
	if err == nil && name == "" {
		head, _ := readRange(text, 0, min(size, headSize))
		err = checkMark(abs, head)
	}
	if err == nil {
		err = checkLetters(abs, text, size, name, content)
	}
	if err != nil {
		return nil, err
	}
	return encodeAs(name, abs, content)
}
