package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"textskill/llmfallback"
	"textskill/parser/wire"
	"textskill/skill"
	"textskill/skill/dialect"
)

// dialect returns what --tools names, nil if it names nothing.
func (o *options) dialect() (*dialect.Dialect, error) {
	if o.tools == "" {
		return nil, nil
	}
	d := dialect.Named(o.tools)
	if d == nil {
		return nil, fmt.Errorf("--tools %s is not a dialect; there are %s", o.tools,
			strings.Join(dialect.Names(), ", "))
	}
	return o.limit(d), nil
}

// limit returns the dialect with the limit that max-text sets, if it does.
func (o *options) limit(d *dialect.Dialect) *dialect.Dialect {
	if o.maxText < 0 {
		return d
	}
	return d.Limit(o.maxText)
}

// prompter answers prompts.
type prompter struct {
	*cli
	o   *options
	x   *skill.Executor
	s   *skill.Session
	ask dialect.Fallback

	line int // number of the line that is answered, from 1; 0 without --lines
}

// prompter opens the workspace that the flags name. The caller closes it.
func (c *cli) prompter(o *options) (*prompter, error) {
	x, err := c.executor(o)
	if err != nil {
		return nil, err
	}
	ask, err := o.interpreter(c, x)
	if err != nil {
		x.Close()
		return nil, err
	}
	return &prompter{cli: c, o: o, x: x, s: &skill.Session{}, ask: ask}, nil
}

// answer carries out one prompt and prints the replies.
func (p *prompter) answer(ctx context.Context, text string) error {
	d, in, err := p.read(text)
	if err != nil {
		return err
	}
	return p.printAll(d.Answer(ctx, p.x, p.s, in))
}

// read says what a prompt is read as, and by which dialect. Without --tools, the shape of the
// prompt says that.
func (p *prompter) read(text string) (*dialect.Dialect, dialect.Input, error) {
	d, err := p.o.dialect()
	in := dialect.Input{Text: text, Fallback: p.ask, Strict: p.o.strict, UndoKeys: p.o.json,
		Wire: wire.Named(p.o.wire), Named: d != nil}
	switch {
	case err != nil:
	case d == nil && in.Wire != nil:
		d = dialect.Filesystem
	case d == nil:
		d = dialect.Of(text)
	case d.Prompt == nil && d.Wire(in) == nil:
		err = fmt.Errorf("--tools %[1]s takes no prompts; \"%[2]s mcp --tools %[1]s\" serves it", d.Name,
			p.program())
	}
	return d, in, err
}

// printAll prints replies. The error is an exit if one of the calls failed.
func (p *prompter) printAll(replies iter.Seq[dialect.Reply]) error {
	var worst exit
	for r := range replies {
		err := p.print(r)
		var code exit
		if err != nil && !errors.As(err, &code) {
			return err
		}
		worst = max(worst, code)
	}
	if worst != 0 {
		return worst
	}
	return nil
}

// warn says why changes cannot be undone, unless the reply itself says it.
func (p *prompter) warn(replies ...dialect.Reply) {
	for _, r := range replies {
		p.warn(r.Calls...)
		if why := r.NotKept(); why != "" && !(r.JSON && strings.Contains(r.Body, `"not_undoable":`)) {
			p.say("this cannot be undone:", why)
		}
	}
}

// record is the answer to a text command as --json prints it.
type record struct {
	OK        bool   `json:"ok"`
	Operation string `json:"operation,omitempty"`
	Result    string `json:"result,omitempty"`
	Data      any    `json:"data,omitempty"`
	Error     string `json:"error,omitempty"`
	Code      string `json:"code,omitempty"`
	Hint      string `json:"hint,omitempty"`
	Cause     string `json:"cause,omitempty"`
	Via       string `json:"via,omitempty"`
	Undo      string `json:"undo,omitempty"`

	Repaired []string `json:"repaired,omitempty"`
	Line     int      `json:"line,omitempty"`
}

// print writes a reply. The error is an exit if the call failed.
func (p *prompter) print(r dialect.Reply) error {
	if !p.o.json && len(r.Repairs) > 0 {
		p.say(p.where()+"repaired:", strings.Join(r.Repairs, ", "))
	}
	if p.o.tools != dialect.Achilles.Name { // who names it sends what the original takes
		for _, what := range r.Ignored {
			p.say(what)
		}
	}
	if r.JSON || r.Message && !p.o.json {
		return p.printDocument(r)
	}
	rec := record{Line: p.line, OK: r.Err == nil, Operation: r.Tool, Via: r.Via, Undo: r.UndoID(),
		Repaired: r.Repairs}
	if r.Message { // a text, of a failure too
		rec.Result = r.Body
		code := error(nil)
		if r.Err != nil {
			code = exit(exitFailed)
		}
		return cmp.Or(p.printJSON(rec), code)
	}
	if r.Err == nil {
		if !p.o.json {
			err := p.printBody(r)
			p.warn(r)
			return err
		}
		rec.Result, rec.Data = r.Body, dialect.Data(r.Result)
		return p.printJSON(rec)
	}
	return p.printFailure(rec, r)
}

// printFailure writes the reply of a call that failed. The error is an exit.
func (p *prompter) printFailure(rec record, r dialect.Reply) error {
	code := exitFailed
	var confirm *llmfallback.ConfirmError
	if errors.As(r.Err, &confirm) {
		code = exitConfirm
	}
	rec.Error = r.Err.Error()
	var f *dialect.Failure
	if errors.As(r.Err, &f) {
		rec.Code, rec.Hint = f.Code, f.Hint
		if f.Cause != nil && f.Cause.Error() != f.Message {
			rec.Cause = f.Cause.Error()
		}
	}
	if p.o.json {
		return cmp.Or(p.printJSON(rec), error(exit(code)))
	}
	p.say(p.where() + rec.Error)
	if rec.Hint != "" {
		fmt.Fprintln(p.stderr, rec.Hint)
	}
	if p.o.verbose && rec.Cause != "" {
		fmt.Fprintln(p.stderr, "cause:", rec.Cause)
	}
	return exit(code)
}

// printBody writes the sentence of a reply, on a terminal with what a person wants to see
// besides: the text that was read.
func (p *prompter) printBody(r dialect.Reply) error {
	switch result := r.Result.(type) {
	case skill.Compared:
		return p.printDiff(r.Body)
	case skill.Changes:
		return p.printHistory(r.Body, p.x.Dir(), result)
	}
	err := printLine(p.stdout, r.Body)
	if read, ok := r.Result.(skill.FileRead); ok && err == nil && onTerminal(p.stdout) &&
		len(read.Content) > 0 {
		_, err = fmt.Fprintln(p.stdout, strings.TrimSuffix(string(read.Content), "\n"))
	}
	return err
}

// printDocument writes a reply that is JSON by itself.
func (p *prompter) printDocument(r dialect.Reply) error {
	if !p.o.json {
		p.warn(r)
	}
	body := r.Body
	if object, ok := strings.CutSuffix(body, "}"); ok && p.o.json && p.line > 0 {
		body = fmt.Sprintf(`%s,"line":%d}`, object, p.line)
	}
	if err := printLine(p.stdout, body); err != nil {
		return err
	}
	if r.Err != nil {
		return exit(exitFailed)
	}
	return nil
}

// where names the line that is answered, for a message.
func (p *prompter) where() string {
	if p.line == 0 {
		return ""
	}
	return fmt.Sprintf("line %d: ", p.line)
}
