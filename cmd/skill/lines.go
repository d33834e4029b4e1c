package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"textskill/skill/dialect"
)

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

// answerLine carries out line n and prints its answer.
func (p *prompter) answerLine(ctx context.Context, n int, line inputLine) error {
	at := *p
	at.line = n
	if strings.TrimSpace(line.text) != "" {
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
