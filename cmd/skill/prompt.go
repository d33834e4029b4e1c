package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"textskill/llmfallback"
	"textskill/parser"
	rawjson "textskill/parser/json"
	"textskill/skill"
	"textskill/skill/dialect"
)

// dialects are what --tools may name.
var dialects = []*dialect.Dialect{dialect.Achilles, dialect.Filesystem, dialect.Perstack, dialect.Stack, dialect.Undo}

func dialectNames() []string {
	names := make([]string, len(dialects))
	for i, d := range dialects {
		names[i] = d.Name
	}
	return names
}

// dialect returns what --tools names, nil if it names nothing.
func (o *options) dialect() (*dialect.Dialect, error) {
	if o.tools == "" {
		return nil, nil
	}
	for _, d := range dialects {
		if d.Name == o.tools {
			return o.limit(d), nil
		}
	}
	return nil, fmt.Errorf("--tools %s is not a dialect; there are %s", o.tools, strings.Join(dialectNames(), ", "))
}

// limit returns the dialect with the limit that --max-text sets, if it does.
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
}

// answer carries out one prompt and prints the answer.
func (p *prompter) answer(ctx context.Context, text string) error {
	d, err := p.o.dialect()
	if err != nil {
		return err
	}
	if d != nil && d.Name == dialect.Stack.Name {
		return p.stackCalls(ctx, text)
	}
	if d == dialect.Filesystem || d == nil && !isCommand(text) && parser.IsEnvelope(text) {
		return p.calls(ctx, text)
	}
	return p.print(parser.Text(text).Operation, dialect.Text(ctx, p.x, p.s, text, p.ask))
}

// isCommand tells whether a text is a command whatever else it looks like.
func isCommand(text string) bool {
	return dialect.Achilles.Lookup(parser.Text(text).Operation) != nil
}

// calls carries out an envelope of tool calls.
func (p *prompter) calls(ctx context.Context, text string) error {
	e, err := parser.ToolCalls(text)
	if err != nil {
		f := &dialect.Failure{Message: err.Error(), Cause: err}
		var hinted interface{ Hint() string }
		if errors.As(err, &hinted) {
			f.Hint = hinted.Hint()
		}
		return p.print("", dialect.Reply{Err: f})
	}
	if p.o.verbose && len(e.Repairs) > 0 {
		fmt.Fprintln(p.stderr, "skill: repaired:", strings.Join(e.Repairs, ", "))
	}
	if e.HasFinal {
		if p.o.json {
			return p.printJSON(record{OK: true, Operation: "final", Result: e.Final})
		}
		fmt.Fprintln(p.stdout, e.Final)
		return nil
	}
	messages, ok := dialect.Calls(ctx, p.x, p.s, e)
	fmt.Fprintf(p.stdout, "%s\n", rawjson.Encode(map[string]any{"messages": p.messages(messages)}))
	if !ok {
		return exit(exitFailed)
	}
	return nil
}

// messages returns the answers to an envelope as they are printed.
func (p *prompter) messages(list []dialect.Message) any {
	if !p.o.json {
		for _, m := range list {
			p.warn(m.NotKept)
		}
		return list
	}
	type message struct {
		dialect.Message
		Undo    string `json:"undo,omitempty"`
		NotKept string `json:"not_kept,omitempty"`
	}
	told := make([]message, len(list))
	for i, m := range list {
		told[i] = message{m, m.Undo, m.NotKept}
	}
	return told
}

// warn tells why a change cannot be undone.
func (p *prompter) warn(why string) {
	if why != "" {
		fmt.Fprintln(p.stderr, "skill: this cannot be undone:", why)
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
}

// print writes the answer to one text command.
func (p *prompter) print(operation string, r dialect.Reply) error {
	rec := record{OK: r.Err == nil, Operation: cmp.Or(r.Tool, operation), Via: r.Via, Undo: r.UndoID()}
	if r.Err == nil {
		if !p.o.json {
			fmt.Fprintln(p.stdout, r.Body)
			p.warn(r.NotKept())
			return nil
		}
		rec.Result, rec.Data = r.Body, dialect.Data(r.Result)
		return p.printJSON(rec)
	}
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
		p.printJSON(rec)
		return exit(code)
	}
	fmt.Fprintln(p.stderr, "skill:", rec.Error)
	if rec.Hint != "" {
		fmt.Fprintln(p.stderr, rec.Hint)
	}
	if p.o.verbose && rec.Cause != "" {
		fmt.Fprintln(p.stderr, "cause:", rec.Cause)
	}
	return exit(code)
}

func (p *prompter) printJSON(rec record) error {
	_, err := fmt.Fprintf(p.stdout, "%s\n", rawjson.Encode(rec))
	return err
}

// eachLine carries out one command per line, as they come. Blank lines are passed
// over. It goes on after a failure, and then fails at the end.
func (p *prompter) eachLine(ctx context.Context, r io.Reader) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	var worst exit
	for ctx.Err() == nil {
		line, err := readLine(lines)
		if strings.TrimSpace(line) != "" {
			aerr := p.answer(ctx, line)
			var code exit
			if errors.As(aerr, &code) {
				worst = max(worst, code)
			} else if aerr != nil {
				return aerr
			}
		}
		switch {
		case err == io.EOF && worst != 0:
			return worst
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
	return ctx.Err()
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
