package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"textskill/skill/agent"
)

// runExpert plays a section run: the name of an expert, and the query for it. The sections
// llm before are the answers of the model.
func (g *golden) runExpert(text string) (string, error) {
	expert, query, _ := strings.Cut(strings.TrimSuffix(g.expand(text), "\n"), " ")
	words := []string{"--", expert}
	if query != "" {
		words = append(words, query)
	}
	var out, errs bytes.Buffer
	c := g.cli([]string{"run"})
	if c.agent == nil {
		c.agent = &scriptedAgent{}
	}
	c.stdin, c.stdout, c.stderr = strings.NewReader(""), &out, &errs
	code := c.run(g.ctx, slices.Concat(g.base(), []string{"run"}, g.flags, words))
	if left := len(c.agent.replies) - len(c.agent.prompts); left > 0 && c.refused == nil {
		fmt.Fprintf(&errs, "skill test: %d of the %d answers in llm were not asked for\n", left, len(c.agent.replies))
	}
	return g.outcome(out.String()+errs.String(), code), c.refused
}

// A scriptedModel answers an expert as the sections llm say.
type scriptedModel struct{ *scriptedAgent }

// callLine matches a line of an answer that calls a tool.
var callLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z]\w*) (\{.*\})$`) })

// Next implements [agent.Model]. A line like "readTextFile {"path":"a.txt"}" is a call, the
// others are the text.
func (m scriptedModel) Next(ctx context.Context, r agent.Request) (a agent.Answer, err error) {
	reply, err := m.complete(ctx, "")
	if err != nil {
		return a, errors.New("the model has no answer left; add a section llm")
	}
	var text []string
	for line := range strings.SplitSeq(reply, "\n") {
		call := callLine().FindStringSubmatch(line)
		if call == nil {
			text = append(text, line)
			continue
		}
		a.Calls = append(a.Calls, agent.Call{ID: fmt.Sprintf("%d.%d", len(m.prompts), len(a.Calls)+1), Name: call[1], Arguments: call[2]})
	}
	a.Text = strings.Join(text, "\n")
	return a, nil
}

// transcript runs an expert and prints what it says and calls, and what the calls answer, in
// full: calls as in the sections llm, and what is not the model's with two blanks before it.
func (c *cli) transcript(ctx context.Context, cfg agent.Config, query string) (last agent.Event, err error) {
	return c.eachEvent(ctx, cfg, query, func(e agent.Event) error {
		_, err := fmt.Fprint(c.stdout, transcribed(e))
		return err
	})
}

// transcribed returns the lines of an event in a transcript.
func transcribed(e agent.Event) string {
	indented := func(text string) string {
		return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
	}
	switch {
	case e.Error != nil:
		return indented(string(e.Type) + ": " + e.Error.Message)
	case e.Type == agent.CompleteRun:
		return fmt.Sprintf("%s\n%s", *e.Text, indented(e.ExpertKey+" is done"))
	case e.Type == agent.StartRun:
		return indented(line(e, nil))
	case e.Reason != "":
		return indented(string(e.Type) + ": " + e.ReasonText())
	case e.ToolResult != nil:
		var b strings.Builder
		for _, p := range e.ToolResult.Result {
			if p.EncodedData != "" {
				p.Text = p.MimeType
			}
			b.WriteString(indented(p.Text))
		}
		return b.String()
	case e.ToolCall != nil:
		said := e.NewMessage.Text()
		if said != "" {
			said += "\n"
		}
		return fmt.Sprintf("%s%s %s\n", said, e.ToolCall.ToolName, e.ToolCall.Args)
	case e.Type == agent.StopRunByExceededMaxSteps, e.Type == agent.StopRunByInteractiveTool:
		return indented(string(e.Type))
	}
	return ""
}
