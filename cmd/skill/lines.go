package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"textskill/skill"
	"textskill/skill/dialect"
)

// maxAhead is how many lines may be carried out while their answers wait for the disk: 1,000
// writes then take a third of the time that they take one by one.
const maxAhead = 64

// A lineAnswer is what is printed for a line.
type lineAnswer struct {
	print   func() error
	printed chan struct{} // closed after that
}

// eachLine carries out one command per line, as they come. A blank line is nothing to
// do, which JSON says, so that each line has its answer. It goes on after a failure, and
// then fails at the end.
//
// The next line does not wait until the change of a text command is on the disk. The answers
// do, and come in the order of the lines.
func (p *prompter) eachLine(ctx context.Context, r io.Reader) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers, printed := make(chan lineAnswer, maxAhead), make(chan error, 1)
	go func() { printed <- printInOrder(answers, cancel) }()
	err := p.carryOutLines(ctx, r, answers)
	close(answers)
	if perr := <-printed; err == nil || perr != nil && !errors.As(perr, new(exit)) {
		return perr
	}
	return err
}

// printInOrder prints answers until there are no more, or until one cannot be printed, which
// it cancels the rest for. The error is an exit if a line failed.
func printInOrder(answers <-chan lineAnswer, cancel context.CancelCauseFunc) error {
	var worst exit
	var failed error
	for a := range answers {
		if failed == nil {
			err := a.print()
			var code exit
			if errors.As(err, &code) {
				worst = max(worst, code)
			} else if err != nil {
				failed = err
				cancel(err)
			}
		}
		close(a.printed)
	}
	if failed == nil && worst != 0 {
		return worst
	}
	return failed
}

// carryOutLines carries out the lines of r and sends their answers.
func (p *prompter) carryOutLines(ctx context.Context, r io.Reader, answers chan<- lineAnswer) error {
	input := make(chan inputLine)
	go sendLines(ctx, r, input) // it ends with the input, at the latest with the program
	for n := 1; ; n++ {
		var line inputLine
		select {
		case line = <-input:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		at := *p
		at.line = n
		if blank := strings.TrimSpace(line.text) == ""; !blank {
			at.carryOutLine(ctx, line.text, answers)
		} else if p.o.json && line.err == nil {
			answers <- lineAnswer{at.printNothingDone, make(chan struct{})}
		}
		switch {
		case line.err == io.EOF:
			return nil
		case line.err != nil:
			return line.err
		}
	}
}

// carryOutLine returns when the next line may be carried out: for a text command, when its
// change is made; for all else, which may be several calls, when it is answered.
func (p *prompter) carryOutLine(ctx context.Context, text string, answers chan<- lineAnswer) {
	d, in, err := p.read(text)
	a := lineAnswer{print: func() error { return p.answer(ctx, text) }, printed: make(chan struct{})}
	if err != nil || d.Name != dialect.Achilles.Name || d.Wire(in) != nil {
		answers <- a
		<-a.printed
		return
	}
	var replies []dialect.Reply
	made, done := make(chan struct{}), make(chan struct{})
	isMade := sync.OnceFunc(func() { close(made) })
	ctx = skill.WithRun(ctx, skill.RunStep{Made: func(string) { isMade() }})
	go func() {
		defer close(done)
		replies = slices.Collect(d.Answer(ctx, p.x, p.s, in))
	}()
	a.print = func() error {
		<-done
		return p.printAll(slices.Values(replies))
	}
	select {
	case <-made:
	case <-done:
	}
	answers <- a
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
