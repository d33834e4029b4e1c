package search

import (
	"iter"
	"path/filepath"
	"strings"
)

// maxIncludes limits how many files a git configuration may include in total.
const maxIncludes = 50

// excludesFile returns the last core.excludesFile in a git configuration file and the files that
// it includes. set is false if there is no such setting. Conditional includes are not read.
func excludesFile(read reader, file string) (name string, set bool) {
	includes := maxIncludes
	return excludesIn(read, file, &includes)
}

func excludesIn(read reader, file string, includes *int) (name string, set bool) {
	for key, value := range Settings(string(read(file, maxRules))) {
		switch strings.ToLower(key) {
		case "core.excludesfile":
			name, set = value, true
		case "include.path":
			if *includes--; *includes < 0 {
				break
			}
			if value = expand(value); !filepath.IsAbs(value) {
				value = filepath.Join(filepath.Dir(file), value)
			}
			if n, ok := excludesIn(read, value, includes); ok {
				name, set = n, true
			}
		}
	}
	return name, set
}

// Settings yields the keys, as git config names them, and the values in a git configuration file. It skips keys
// without a value.
func Settings(text string) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		c := config{text: strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")}
		for c.text != "" {
			if key, value := c.next(); key != "" && !yield(key, value) {
				return
			}
		}
	}
}

// config parses a git configuration file.
type config struct {
	text    string
	section string
}

// next parses one line and returns its setting. key is "" for a line without a setting.
func (c *config) next() (key, value string) {
	c.text = strings.TrimLeft(c.text, " \t\r\n")
	if rest, ok := strings.CutPrefix(c.text, "["); ok {
		c.head(rest)
		return "", ""
	}
	end := strings.IndexAny(c.text, "=\n#;")
	if end < 0 || c.text[end] != '=' {
		c.line()
		return "", ""
	}
	key = c.section + "." + strings.TrimSpace(c.text[:end])
	c.text = c.text[end+1:]
	return key, c.value()
}

// head parses the name of a section up to its bracket. A name in quotes may hold brackets.
func (c *config) head(text string) {
	end := strings.IndexAny(text, "]\"\n")
	if end < 0 {
		end = len(text)
	}
	c.section, c.text = strings.TrimSpace(text[:end]), text[min(end+1, len(text)):]
	if end == len(text) || text[end] != '"' {
		return
	}
	name := []byte(c.section + ".")
	for c.text != "" && c.text[0] != '"' {
		if c.text[0] == '\\' && len(c.text) > 1 {
			c.text = c.text[1:]
		}
		name, c.text = append(name, c.text[0]), c.text[1:]
	}
	_, c.text, _ = strings.Cut(c.text, "]")
	c.section = string(name)
}

// line skips the rest of a line.
func (c *config) line() { _, c.text, _ = strings.Cut(c.text, "\n") }

// value parses a value. Quotes keep blanks and comment signs. A backslash escapes a character or
// continues the value on the next line.
func (c *config) value() string {
	var b strings.Builder
	quoted, kept := false, 0 // blanks after the first kept bytes are trimmed at the end
	c.text = strings.TrimLeft(c.text, " \t")
	for i := 0; i < len(c.text); i++ {
		switch ch := c.text[i]; {
		case ch == '\n', !quoted && (ch == '#' || ch == ';'):
			c.text = c.text[i:]
			c.line()
			return b.String()[:kept]
		case ch == '"':
			quoted = !quoted
			kept = b.Len()
			continue
		case ch == '\\' && i+1 < len(c.text):
			i++
			b.WriteString(unescape(c.text[i]))
		default:
			b.WriteByte(ch)
			if !quoted && (ch == ' ' || ch == '\t') {
				continue
			}
		}
		kept = b.Len()
	}
	c.text = ""
	return b.String()[:kept]
}

func unescape(b byte) string {
	switch b {
	case '\n':
		return ""
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case 'b':
		return "\b"
	}
	return string(b)
}
