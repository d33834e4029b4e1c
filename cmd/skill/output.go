package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"textskill/parser/rawjson"
	"textskill/skill"
)

// An output is standard output or standard error. On a terminal the control characters
// of what is written are shown and not sent: names, contents and errors are a
// stranger's. Anywhere else every byte stays.
type output struct {
	w        io.Writer
	terminal bool

	mu  sync.Mutex
	err error // of the first write that failed
}

// errUnwritten is the error of an output that cannot be written.
var errUnwritten = errors.New("the answer cannot be written")

func newOutput(w io.Writer) *output { return &output{w: w, terminal: isTerminal(w)} }

func (o *output) Write(text []byte) (int, error) {
	sent := text
	if o.terminal {
		sent = visibleControls(text)
	}
	if err := o.send(sent); err != nil {
		return 0, err
	}
	return len(text), nil
}

// WriteString is Write without a copy of the text, except on a terminal.
func (o *output) WriteString(text string) (int, error) {
	if o.terminal {
		return o.Write([]byte(text))
	}
	err := o.keep(func() (int, error) { return io.WriteString(o.w, text) })
	if err != nil {
		return 0, err
	}
	return len(text), nil
}

// printLine writes a text and a line end, at once if the text is short. Of a long one
// package fmt would make two copies.
func printLine(w io.Writer, text string) error {
	if len(text) < 64<<10 {
		_, err := fmt.Fprintln(w, text)
		return err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// printJSON prints a value as one line of JSON.
func (c *console) printJSON(value any) error {
	_, err := fmt.Fprintf(c.stdout, "%s\n", rawjson.Encode(value))
	return err
}

func (o *output) send(text []byte) error {
	return o.keep(func() (int, error) { return o.w.Write(text) })
}

// keep writes, and keeps the error of the first write that failed.
func (o *output) keep(write func() (int, error)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := write()
	if err != nil {
		err = fmt.Errorf("%w: %w", errUnwritten, err)
		o.err = cmp.Or(o.err, err)
	}
	return err
}

// Colours as a terminal numbers them.
const (
	bold  = 1
	faint = 2
	red   = 31
	green = 32
	cyan  = 36
)

// paint writes a text in a colour to a terminal; 0 is the terminal's own colour.
func (o *output) paint(colour int, text string) error {
	shown := visibleControls([]byte(text))
	if colour != 0 {
		shown = fmt.Appendf(nil, "\x1b[%dm%s\x1b[0m", colour, shown)
	}
	return o.send(shown)
}

// printDiff writes a diff, in colours on a terminal.
func (c *console) printDiff(diff string) error {
	return c.printColoured(diff, func(_ int, line string) int { return diffColour(line) })
}

// diffColour returns the colour of a line of a diff.
func diffColour(line string) int {
	switch {
	case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "): // mostly the names of the files
	case strings.HasPrefix(line, "@@"):
		return cyan
	case strings.HasPrefix(line, "+"):
		return green
	case strings.HasPrefix(line, "-"):
		return red
	}
	return 0
}

// historyColumns is how wide a list of changes is on a terminal.
const historyColumns = 80

// printHistory writes a list of changes, a line for each. On a terminal long lines are broken,
// paths in the folder dir are relative to it, and changes that are undone or without effect are
// faint.
func (c *console) printHistory(text, dir string, changes skill.Changes) error {
	if !onTerminal(c.stdout) {
		return printLine(c.stdout, text)
	}
	var shown []string
	var colours []int // of the shown lines
	for i, line := range strings.Split(text, "\n") {
		colour := 0
		if i < len(changes.List) && (changes.List[i].Undone || changes.List[i].Idle) {
			colour = faint
		}
		line = strings.ReplaceAll(line, dir+string(filepath.Separator), "")
		for part := range strings.SplitSeq(fitted(line, historyColumns), "\n") {
			shown, colours = append(shown, part), append(colours, colour)
		}
	}
	return c.printColoured(strings.Join(shown, "\n"), func(i int, _ string) int { return colours[i] })
}

// fitted breaks a line between words, so that it fits width columns.
func fitted(line string, width int) string {
	const indent = "    "
	var b strings.Builder
	column := 0
	for i, word := range strings.Split(line, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i > 0 && column+1+n > width:
			b.WriteString("\n" + indent)
			column = len(indent)
		case i > 0:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

// printColoured writes lines, on a terminal in colours, but not under NO_COLOR.
func (c *console) printColoured(text string, colour func(i int, line string) int) error {
	o := c.coloured()
	if o == nil {
		return printLine(c.stdout, text)
	}
	for i, line := range strings.Split(text, "\n") {
		if err := o.paint(colour(i, line), line); err != nil {
			return err
		}
		fmt.Fprintln(o)
	}
	return nil
}

// coloured returns standard output if it is a terminal that shows colours, else nil.
func (c *console) coloured() *output {
	o, ok := c.stdout.(*output)
	if !ok || !o.terminal || c.getenv("NO_COLOR") != "" || c.getenv("TERM") == "dumb" {
		return nil
	}
	return o
}

// pageLines is how many lines go to a terminal without a pager.
const pageLines = 20

// paged prints by a pager if that is a person's terminal and the text is long: $PAGER, else
// less if there is one. PAGER=cat means none.
func (c *console) paged(print func(*console) error) error {
	o, _ := c.stdout.(*output)
	if o == nil || !o.terminal {
		return print(c)
	}
	var text bytes.Buffer
	own := *c
	own.stdout = &output{w: &text, terminal: true}
	failed := print(&own)
	terminal, ok := o.w.(*os.File)
	program, args := "less", []string{"-FRX"}
	if pager := c.getenv("PAGER"); pager != "" {
		program, args = "sh", []string{"-c", pager}
		ok = ok && pager != "cat"
	}
	if !ok || c.getenv("TERM") == "dumb" || bytes.Count(text.Bytes(), []byte("\n")) <= pageLines ||
		skill.RunPager(program, args, text.Bytes(), terminal) != nil {
		return cmp.Or(failed, o.send(text.Bytes()))
	}
	return failed
}

// onTerminal reports whether a person sees what is written.
func onTerminal(w io.Writer) bool {
	o, ok := w.(*output)
	return ok && o.terminal
}

// failure returns the error of the first write that failed. It does not wait for a write
// that is under way: a client that does not read would keep the program from ending.
func (o *output) failure() error {
	if !o.mu.TryLock() {
		return nil
	}
	defer o.mu.Unlock()
	return o.err
}

// visibleControls returns a text with its control characters, what changes the
// direction of writing, and bytes that are not UTF-8 escaped as in Go and JSON, but for
// line ends and tabs.
func visibleControls(text []byte) []byte {
	var out []byte // nil as long as nothing is escaped
	done := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		invalid := r == utf8.RuneError && size == 1
		lineEnd := r == '\r' && i+1 < len(text) && text[i+1] == '\n'
		if invalid || unicode.IsControl(r) &&
			r != '\n' && r != '\t' && !lineEnd ||
			unicode.Is(unicode.Bidi_Control, r) {
			out = append(out, text[done:i]...)
			if invalid {
				out = fmt.Appendf(out, `\x%02x`, text[i])
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
			done = i + size
		}
		i += size
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}
