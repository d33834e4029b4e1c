package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/pflag"

	"textskill/llmfallback"
	"textskill/parser"
	"textskill/parser/rawjson"
	"textskill/parser/wire"
	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/dialect"
)

// promptOptions are the flags of a prompt.
type promptOptions struct {
	workspaceOptions
	fallbackOptions
	dialectOptions
	lines, json, verbose bool
	strict               bool // what is read with notes is refused
}

// A subject is a group of flags, with its title in the help.
type subject struct {
	title string
	flags *pflag.FlagSet
}

// subjects returns all flags of a prompt.
func (o *promptOptions) subjects() (list []subject) {
	for _, group := range []struct {
		title string
		add   func(*pflag.FlagSet)
	}{
		{"Workspace", o.addWorkspace}, {"Undo", o.addUndo}, {"Sandbox", o.addSandbox},
		{"Network", o.addNetwork}, {"Model", o.addModel}, {"Input and output", o.addOutput},
	} {
		f := pflag.NewFlagSet(group.title, pflag.ContinueOnError)
		f.SortFlags = false
		group.add(f)
		list = append(list, subject{group.title, f})
	}
	return list
}

func (o *promptOptions) addModel(f *pflag.FlagSet) {
	o.addFallback(f)
	f.BoolVar(&o.strict, "strict", false, "refuse a text command or message that was read with notes, such as extra words")
}

func (o *promptOptions) addOutput(f *pflag.FlagSet) {
	o.addDialect(f)
	f.BoolVar(&o.lines, "lines", false,
		"read one command per line of standard input, and answer each at once; a JSON string is the prompt in it")
	addJSON(f, &o.json)
	addVerbose(f, &o.verbose)
	addMaxText(f, &o.maxText)
}

// dialectOptions say what the input is, or in which form the output is.
type dialectOptions struct {
	tools   string
	wire    string
	maxText int
}

func (o *dialectOptions) addDialect(f *pflag.FlagSet) {
	f.StringVar(&o.tools, "tools", "",
		"read the input as calls of `DIALECT`, a set of tools, instead of guessing from its form: "+
			strings.Join(dialect.Names(), ", "))
	wires := wire.Names(func(*wire.Wire) bool { return true })
	f.Var(choice[string]{&o.wire, "WIRE", wires}, "wire",
		"read the input as a message in the format WIRE, and answer in it, instead of guessing from its form: "+
			strings.Join(wires, ", "))
}

// dialect returns the dialect that --tools names, or nil.
func (o *dialectOptions) dialect() (*dialect.Dialect, error) {
	if o.tools == "" {
		return nil, nil
	}
	list, err := dialectsOf([]string{o.tools}, o.maxText)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// dialectsOf returns the dialects with these names. Their texts have a limit, unless that is less
// than 0.
func dialectsOf(names []string, maxText int) ([]*dialect.Dialect, error) {
	list := make([]*dialect.Dialect, len(names))
	for i, name := range names {
		if list[i] = dialect.Named(name); list[i] == nil {
			return nil, fmt.Errorf("--tools %s is not a dialect; there are %s", name,
				strings.Join(dialect.Names(), ", "))
		}
		list[i] = limited(list[i], maxText)
	}
	return list, nil
}

// limited returns a dialect with a limit of its texts, unless that is less than 0.
func limited(d *dialect.Dialect, maxText int) *dialect.Dialect {
	if maxText < 0 {
		return d
	}
	return d.Limit(maxText)
}

// A printer prints replies.
type printer struct {
	*console
	json, verbose bool
	silent        bool // leave out the notes of how a text was read
	dir           string

	line int // number of the line that is answered, from 1; 0 without --lines
}

// A prompter answers prompts.
type prompter struct {
	printer
	o   *promptOptions
	x   *skill.Executor
	s   *skill.Session
	ask dialect.Fallback
}

// prompter opens the workspace that the flags name. The caller closes it.
func (c *cli) prompter(o *promptOptions) (*prompter, error) {
	x, err := c.executor(&o.workspaceOptions)
	if err != nil {
		return nil, err
	}
	ask, err := o.interpreter(c, x)
	if err != nil {
		x.Close()
		return nil, err
	}
	// a caller that names the dialect expects what the original accepts
	out := printer{console: &c.console, json: o.json, verbose: o.verbose, silent: o.tools == dialect.Achilles.Name,
		dir: x.Dir()}
	return &prompter{printer: out, o: o, x: x, s: &skill.Session{}, ask: ask}, nil
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
	in := dialect.Input{Text: text, Fallback: p.ask, Strict: p.o.strict, UndoKeys: p.json,
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
func (p *printer) printAll(replies iter.Seq[dialect.Reply]) error {
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
func (p *printer) warn(replies ...dialect.Reply) {
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

	Notes    []string `json:"notes,omitempty"`
	Repaired []string `json:"repaired,omitempty"`
	Line     int      `json:"line,omitempty"`
}

// print writes a reply. The error is an exit if the call failed.
func (p *printer) print(r dialect.Reply) error {
	if p.silent {
		r.Notes = nil
	}
	for _, note := range r.Notes {
		p.say(p.where() + note)
	}
	var hide agent.Redactor
	_, listed := r.Result.(skill.Changes)
	if listed { // a path may hold a secret
		hide = agent.NewRedactor((&variables{}).secrets())
		r.Body = hide.Text(r.Body)
	}
	if r.JSON || r.Message && !p.json {
		return p.printDocument(r)
	}
	rec := record{Line: p.line, OK: r.Err == nil, Operation: r.Tool, Via: r.Via, Undo: r.UndoID(),
		Notes: r.Notes, Repaired: r.Repairs}
	if r.Message { // a text, of a failure too
		rec.Result = r.Body
		code := error(nil)
		if r.Err != nil {
			code = exit(exitFailed)
		}
		return cmp.Or(p.printJSON(rec), code)
	}
	if r.Err == nil {
		var code error
		if undone, ok := r.Result.(skill.Reverted); ok && undone.Left() {
			code = exit(exitPartly)
		}
		if !p.json {
			err := p.printBody(r)
			p.warn(r)
			return cmp.Or(err, code)
		}
		if rec.Result, rec.Data = r.Body, dialect.Data(r.Result); listed {
			rec.Data = hide.JSON(rawjson.Encode(rec.Data))
		}
		if read, ok := r.Result.(skill.FileRead); ok && read.Partial {
			rec.Notes = append(rec.Notes, fmt.Sprintf("content has the first %d of %d bytes; the rest: %s exec -- tail -c +%d %s",
				len(read.Content), read.Size, p.program(), len(read.Content)+1, shellWord(read.Path)))
		}
		return cmp.Or(p.printJSON(rec), code)
	}
	return p.printFailure(rec, r)
}

// printFailure writes the reply of a call that failed. The error is an exit.
func (p *printer) printFailure(rec record, r dialect.Reply) error {
	code := exitFailed
	var confirm *llmfallback.ConfirmError
	if errors.As(r.Err, &confirm) {
		code = exitConfirm
	}
	if partly, ok := errors.AsType[*skill.PartlyUndoneError](r.Err); ok && len(partly.Done) > 0 {
		code = exitPartly
	}
	rec.Error = r.Err.Error()
	var f *dialect.Failure
	if errors.As(r.Err, &f) {
		rec.Code, rec.Hint = f.Code, f.Hint
		if f.Cause != nil && f.Cause.Error() != f.Message {
			rec.Cause = f.Cause.Error()
		}
	}
	if p.json {
		return cmp.Or(p.printJSON(rec), error(exit(code)))
	}
	p.say(p.where() + rec.Error)
	if rec.Hint != "" {
		fmt.Fprintln(p.stderr, rec.Hint)
	}
	if p.verbose && rec.Cause != "" {
		fmt.Fprintln(p.stderr, "cause:", rec.Cause)
	}
	return exit(code)
}

// printBody writes the sentence of a reply, on a terminal with what a person wants to see
// besides: the text that was read.
func (p *printer) printBody(r dialect.Reply) error {
	switch result := r.Result.(type) {
	case skill.Compared:
		return p.printDiff(r.Body)
	case skill.Changes:
		return p.printHistory(r.Body, p.dir, result)
	}
	err := printLine(p.stdout, r.Body)
	if read, ok := r.Result.(skill.FileRead); ok && err == nil && onTerminal(p.stdout) &&
		len(read.Content) > 0 {
		_, err = fmt.Fprintln(p.stdout, strings.TrimSuffix(string(read.Content), "\n"))
	}
	return err
}

// printDocument writes a reply that is JSON by itself.
func (p *printer) printDocument(r dialect.Reply) error {
	if !p.json {
		p.warn(r)
	}
	body := r.Body
	if object, ok := strings.CutSuffix(body, "}"); ok && p.json {
		if len(r.Notes) > 0 && !r.Message { // a message has its own
			object += `,"notes":` + string(rawjson.Encode(r.Notes))
		}
		if p.line > 0 {
			object += fmt.Sprintf(`,"line":%d`, p.line)
		}
		body = object + "}"
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
func (p *printer) where() string {
	if p.line == 0 {
		return ""
	}
	return fmt.Sprintf("line %d: ", p.line)
}

// eachLine carries out one command per line and answers each before it reads the next. A
// blank line has its answer too with --json. A failure does not stop the lines after it: the
// program then fails at the end.
func (p *prompter) eachLine(ctx context.Context, r io.Reader) error {
	input := make(chan inputLine)
	go sendLines(ctx, r, input) // it ends with the input, at the latest with the program
	var worst exit
	for n := 1; ; n++ {
		var line inputLine
		select {
		case line = <-input:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		var code exit
		if err := p.answerLine(ctx, n, line); errors.As(err, &code) {
			worst = max(worst, code)
		} else if err != nil {
			return err
		}
		switch {
		case line.err == io.EOF && worst != 0:
			return worst
		case line.err == io.EOF:
			return nil
		case line.err != nil:
			return line.err
		}
	}
}

// answerLine carries out line n and prints its answer. A line that is a JSON string is the prompt
// in the string, which may have several lines. A line that begins or ends a fenced block is blank.
func (p *prompter) answerLine(ctx context.Context, n int, line inputLine) error {
	at := *p
	at.line = n
	if text := strings.TrimSpace(line.text); text != "" && !parser.IsFence(text) {
		var prompt string
		if text[0] == '"' && json.Unmarshal([]byte(text), &prompt) == nil {
			return at.answer(ctx, prompt)
		}
		return at.answer(ctx, line.text)
	}
	if p.json && line.err == nil {
		return at.printNothingDone()
	}
	return nil
}

// printNothingDone answers a blank line, in the shape of the dialect's other answers.
func (p *prompter) printNothingDone() error {
	if p.o.tools == dialect.Stack.Name {
		return p.printDocument(dialect.Reply{Body: `{"success":true}`})
	}
	return p.printJSON(record{Line: p.line, OK: true})
}

// An inputLine is a line of the input, and the error that reading it ended with.
type inputLine struct {
	text string
	err  error
}

// sendLines sends the lines of r, the last with its error.
func sendLines(ctx context.Context, r io.Reader, to chan<- inputLine) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		text, err := readLine(in)
		select {
		case to <- inputLine{text, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxPrompt {
			return "", fmt.Errorf("a line is larger than %d bytes", maxPrompt)
		}
		if err != bufio.ErrBufferFull {
			return strings.TrimSuffix(string(line), "\n"), err
		}
	}
}
