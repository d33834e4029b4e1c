package rawjson

import (
	"encoding/json"
	"errors"
	"strings"
)

// maxTopValues is the most values that a text may hold.
const maxTopValues = 64

// A topValue is one value that stands at the top level of a text.
type topValue struct {
	raw    json.RawMessage
	offset int
}

// amongProse collects the objects and arrays of a text. The rest of the text must be
// prose without doubt: a stray bracket, or a comma after a value, suggests that a
// part of the value is outside it, and is an error.
func (d *decoder) amongProse() ([]topValue, error) {
	p := proseReader{decoder: d, begin: d.pos, outside: d.pos, before: d.repairs}
	for {
		i := strings.IndexAny(d.rest(), "{}[]<")
		if i < 0 {
			break
		}
		d.pos += i
		read := p.bracket
		if d.peek() == '<' {
			read = p.angle
		}
		if err := read(); err != nil {
			return nil, err
		}
	}
	switch {
	case len(p.values) > 0:
		d.beside(p.outside, d.end)
		return p.values, nil
	case p.broken != nil:
		return nil, p.broken
	}
	return nil, &Error{Err: ErrNoJSON}
}

// A proseReader is a decoder between the values of a text.
type proseReader struct {
	*decoder
	values  []topValue
	begin   int      // where the text begins
	outside int      // where the last value ended, or begin
	before  []string // repairs made before begin
	broken  error    // why the remark at the beginning of the text is not a value
}

// bracket reads the value or remark at pos.
func (p *proseReader) bracket() error {
	start := p.pos
	if c := p.peek(); c == '}' || c == ']' {
		return p.syntax("outside any value")
	}
	raw, remark, err := p.oneOrRemark()
	if remark {
		if start == p.begin {
			p.broken = err
		}
		return nil
	}
	if err != nil {
		return err
	}
	p.beside(p.outside, start)
	p.outside = p.pos
	if p.values = append(p.values, topValue{raw, start}); len(p.values) > maxTopValues {
		return &Error{Offset: start, Err: ErrSeveralValues}
	}
	if p.space(); p.peek() == ',' || p.peek() == ':' {
		return p.syntax("after the value")
	}
	return nil
}

// angle skips the reasoning block at pos, or the one character.
func (p *proseReader) angle() error {
	start := p.pos
	size, alone, err := Reasoning(p.rest())
	if err != nil {
		return &Error{Offset: p.end, Reason: err.Error(), Err: ErrTruncated}
	}
	if size == 0 {
		p.pos++
		return nil
	}
	if alone {
		p.values, p.repairs = nil, p.before
	} else {
		p.beside(p.outside, start)
	}
	p.repaired(repairReasoning)
	p.pos += size
	p.outside = p.pos
	return nil
}

// Reasoning returns the length in bytes of the reasoning block that text begins
// with, as in <think>…</think>; 0 for none. With alone it is an end tag,
// which means that all before it was the block. A block without an end is an error.
func Reasoning(text string) (size int, alone bool, err error) {
	for _, name := range []string{"think>", "thinking>"} {
		if strings.HasPrefix(text, "</"+name) {
			return len("</" + name), true, nil
		}
		if strings.HasPrefix(text, "<"+name) {
			i := strings.Index(text, "</"+name)
			if i < 0 {
				return 0, false, errors.New("<" + name + " has no end")
			}
			return i + len("</"+name), false, nil
		}
	}
	return 0, false, nil
}

// oneOrRemark reads the value at pos. A remark such as [see below] or {name} is not
// valid JSON, but prose: it is skipped, and err says why it is not a value. A remark
// closes before any quote or further bracket, so it cannot hold a part of a value.
func (d *decoder) oneOrRemark() (raw json.RawMessage, remark bool, err error) {
	start, before := d.pos, d.repairs
	raw, err = d.one()
	if !errors.Is(err, ErrSyntax) {
		return raw, false, err
	}
	closing := byte(']')
	if d.text[start] == '{' {
		closing = '}'
	}
	end := start + 1 + strings.IndexAny(d.text[start+1:d.end], "{}[]\"'“”‘’")
	if d.text[end] != closing {
		return nil, false, err
	}
	d.pos, d.repairs = end+1, before
	return nil, true, err
}

// beside records text[from:to], which stands beside a value, as a removed fence or
// removed prose, unless it is only white space.
func (d *decoder) beside(from, to int) {
	before, after, fence := strings.Cut(d.text[from:to], "```")
	if fence {
		d.repaired(repairFence)
		_, after, _ = strings.Cut(after, "\n")
	}
	if strings.Trim(before, Space) != "" || strings.Trim(after, Space+"`") != "" {
		d.repaired(repairProse)
	}
}

// Fenced reports whether text is one code fence, with white space around it, and
// returns the bounds of what the fence holds.
func Fenced(text string) (from, to int, ok bool) {
	s := strings.Trim(text, Space)
	if len(s) < len("```\n```") || !strings.HasPrefix(s, "```") || !strings.HasSuffix(s, "```") {
		return 0, 0, false
	}
	line := strings.IndexByte(s, '\n')
	if line < 0 || strings.Contains(s[3:line], "`") {
		return 0, 0, false
	}
	at := strings.Index(text, "```")
	return at + line + 1, at + len(s) - 3, true
}
