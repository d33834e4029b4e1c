package dialect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html/charset"

	"textskill/parser"
	"textskill/skill"
	"textskill/testdata/needs"
)

// encodings are those that the WHATWG names, by their first labels.
var encodings = strings.Fields(`utf-8 ibm866 iso-8859-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7
	iso-8859-8 iso-8859-8-i iso-8859-10 iso-8859-13 iso-8859-14 iso-8859-15 iso-8859-16 koi8-r koi8-u macintosh
	windows-874 windows-1250 windows-1251 windows-1252 windows-1253 windows-1254 windows-1255 windows-1256
	windows-1257 windows-1258 x-mac-cyrillic gbk gb18030 hz-gb-2312 big5 euc-jp iso-2022-jp shift_jis euc-kr
	utf-16be utf-16le x-user-defined replacement`)

// A codec encodes a text, or returns it as it is if the encoding lacks some of it.
type codec func(text string) string

func codecOf(t *testing.T, name string) codec {
	e, _ := charset.Lookup(name)
	if e == nil {
		t.Fatalf("there is no encoding %s", name)
	}
	return func(text string) string {
		data, err := e.NewEncoder().String(text)
		if back, berr := e.NewDecoder().String(data); err != nil || berr != nil || back != text {
			return text
		}
		return data
	}
}

// encodedTexts returns contents of files. Each has the word eins once, but for the
// empty one.
func encodedTexts(name string, enc codec) map[string]string {
	letter := strangeLetter(enc)
	meta := "<meta charset=" + name + ">\n"
	broken := enc(letter)[:max(1, len(enc(letter))-1)]
	texts := map[string]string{
		"empty": "",
		"plain": enc("eins\nzwei " + letter + "\n"),
		"html":  enc(meta + "eins\nzwei " + letter + "\n"),
		"xml": enc(`<?xml version="1.0" encoding="` + name + "\"?>\r\neins\r\nzwei " +
			letter + "\r\n"),
		"no final newline": enc(meta + letter + "\neins"),
		"mixed line ends":  enc(meta + "eins\r" + letter + "\r\nzwei\n\n\r\n"),
		"NUL":              enc(meta + "eins\x00" + letter + "\x00\n"),
		"broken letter":    enc(meta+"eins "+letter+"\n") + broken,
		"no text":          enc(meta+"eins\n") + "\xff\xfe\x80\x00\x81",
		"surrogate":        enc(meta+"eins\n") + "\xed\xa0\x80",
		"UTF-8 mark":       "\xef\xbb\xbf" + enc(meta+"eins "+letter+"\n"),
	}
	if strings.HasPrefix(name, "utf-16") {
		half := enc("\ufeff")[:2]
		if texts["surrogate"] = half + enc("eins\n") + "\x00\xd8"; name == "utf-16be" {
			texts["surrogate"] = half + enc("eins\n") + "\xd8\x00"
		}
		texts["UTF-16 mark"] = enc("\ufeffeins\r\nzwei " + letter + "\U0001F600")
		texts["UTF-16 mark, odd"] = enc("\ufeffeins "+letter) + "a"
		texts["two marks"] = enc("\ufeff\ufeffeins" + letter)
	}
	return texts
}

// strangeLetter returns a character beyond ASCII that the encoding has, "ä" if it has none.
func strangeLetter(enc codec) string {
	for r := rune(0xc0); r < 0xff00; r++ {
		if letter := string(r); enc(letter) != letter {
			return letter
		}
	}
	return "ä"
}

// A textTools are the tools by which a dialect reads and writes texts.
type textTools struct {
	dialect            *Dialect
	read, write, edit  string
	path, text, of, to string // the names of arguments
	content            func(body string) string
}

func contentOf(body string) string {
	var v struct{ Content string }
	json.Unmarshal([]byte(body), &v)
	return v.Content
}

var allTextTools = []textTools{
	{Filesystem, "read_file", "write_file", "edit_file", "path", "content", "old_text", "new_text",
		func(body string) string { return body }},
	{Perstack, "readTextFile", "writeTextFile", "editTextFile", "path", "text", "oldText", "newText",
		contentOf},
	{Stack, "read", "write", "edit", "path", "content", "old_text", "new_text", contentOf},
}

// TestEncodingsRoundTrip reads files in all encodings, writes back what was read, edits
// and appends: each time no other byte changes, or the change is refused and none does.
func TestEncodingsRoundTrip(t *testing.T) {
	b := newBase(t, skill.Config{})
	file := filepath.Join(b.dir, "f")
	cases := 0
	for i := 0; i < len(encodings); i += needs.Step(4) {
		name := encodings[i]
		enc := codecOf(t, name)
		letter := strangeLetter(enc)
		word := func(text string) string { // as the file has it
			if strings.HasPrefix(name, "utf-16") {
				return enc(text)
			}
			return text
		}
		for what, content := range encodedTexts(name, enc) {
			cases++
			before, after, found := strings.Cut(content, word("eins"))
			for _, tools := range allTextTools {
				do := func(tool string, args map[string]any) Reply {
					t.Helper()
					if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
						t.Fatal(err)
					}
					args[tools.path] = "f"
					raw, _ := json.Marshal(args)
					return tools.dialect.Do(t.Context(), b.x, b.s,
						parser.ToolCall{Name: tool, Arguments: raw})
				}
				check := func(did string, r Reply, want ...string) {
					t.Helper()
					got, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					if r.Err != nil {
						want = []string{content}
					}
					for _, w := range want {
						if string(got) == w {
							return
						}
					}
					t.Errorf("%s, %s, %s of %s: %.120s\n got %q\nwant %q", name, what, did,
						tools.dialect.Name, r.Body, got, want)
				}
				read := do(tools.read, map[string]any{})
				if read.Err != nil {
					t.Errorf("%s, %s: %s of %s: %v", name, what, tools.read, tools.dialect.Name, read.Err)
					continue
				}
				check("write", do(tools.write, map[string]any{tools.text: tools.content(read.Body)}), content)
				check("edit", do(tools.edit, map[string]any{tools.of: "eins", tools.to: "one"}),
					before+word("one")+after)
				if !found || tools.dialect != Filesystem { // the operations are the same
					continue
				}
				for _, to := range []string{letter, "☃"} {
					check("edit to "+to, do(tools.edit, map[string]any{tools.of: "eins", tools.to: to}),
						before+enc(to)+after, before+to+after)
				}
				check("append", do("append_file", map[string]any{tools.text: "end\n"}), content+word("end\n"),
					content+"end\n")
			}
		}
	}
	if cases < 236/needs.Step(4) {
		t.Errorf("only %d cases", cases)
	}
}
