package main

import (
	"context"
	"fmt"
	"strings"

	"textskill/skill"
	"textskill/skill/agent"
)

// A viewer prints a run for a person: the model's words as they come, a line for each
// call and result, the report, and what it cost.
type viewer struct {
	*console
	price *agent.Price    // of the model; nil if it is not known
	x     *skill.Executor // for the diffs of changes; nil to show none
	words strings.Builder
	paint *markdown // nil without colours
}

// show runs an expert and prints what happens. It returns the last event.
func (c *console) show(ctx context.Context, cfg agent.Config, query string) (last agent.Event, err error) {
	v := &viewer{console: c, price: cfg.Budget.Price}
	if c.coloured() != nil {
		v.paint = &markdown{start: true}
	}
	if onTerminal(c.stdout) {
		v.x = cfg.Executor
	}
	cfg.Heard = v.heard
	last, err = c.eachEvent(ctx, cfg, query, func(e agent.Event) error {
		v.event(e)
		v.diffs(ctx, e)
		return nil
	})
	v.pause()
	return last, err
}

// heard prints words of the model.
func (v *viewer) heard(text string) {
	if v.words.Len() == 0 {
		if text = strings.TrimLeft(text, " \n"); text == "" {
			return
		}
		fmt.Fprintln(v.stdout)
	}
	v.words.WriteString(text)
	v.print(visible(text))
}

// print prints words of the model, on a terminal with the colours of their Markdown.
func (v *viewer) print(text string) {
	if v.paint == nil {
		fmt.Fprint(v.stdout, text)
		return
	}
	v.coloured().send([]byte(v.paint.add(string(visibleControls([]byte(text))))))
}

// pause ends the line of words that were printed, and returns the words.
func (v *viewer) pause() string {
	words := v.words.String()
	if v.paint != nil {
		v.coloured().send([]byte(v.paint.end()))
	}
	if words != "" && !strings.HasSuffix(words, "\n") {
		fmt.Fprintln(v.stdout)
	}
	v.words.Reset()
	return strings.TrimSpace(words)
}

// said prints words that came in one piece, unless they were printed as they came.
func (v *viewer) said(text string) {
	if !strings.Contains(v.pause(), strings.TrimSpace(text)) {
		fmt.Fprintln(v.stdout)
		v.print(visible(text) + "\n")
	}
}

// A markdown colours Markdown that comes in pieces, and leaves its characters as they are:
// headings and **words** are bold, code has a colour.
type markdown struct {
	start, fence        bool // at the beginning of a line; between two lines of three backticks
	heading, code, bold bool
	marks               string // the last characters, if they are backticks or asterisks
	shown               string // the style that the terminal has now
}

// add returns a text with the codes of its colours.
func (m *markdown) add(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '*' || r == '`' {
			if m.marks != "" && m.marks[0] != byte(r) {
				m.mark(&b)
			}
			m.marks += string(r)
			continue
		}
		m.mark(&b)
		switch {
		case r == '\n':
			m.heading, m.code, m.bold = false, false, false
		case m.start:
			m.heading = r == '#' && !m.fence
		}
		if m.start = r == '\n'; m.start {
			m.write(&b, "")
			b.WriteByte('\n')
		} else {
			m.write(&b, string(r))
		}
	}
	return b.String()
}

// mark writes the marks, and begins or ends what they do.
func (m *markdown) mark(b *strings.Builder) {
	marks := m.marks
	if marks == "" {
		return
	}
	var style *bool // that the marks begin or end
	switch {
	case marks[0] == '`' && len(marks) >= 3 && m.start:
		style = &m.fence
	case m.fence:
	case marks[0] == '`':
		style = &m.code
	case len(marks) == 2 && !m.code:
		style = &m.bold
	}
	m.marks, m.start = "", false
	if style == nil {
		m.write(b, marks)
		return
	}
	on := *style
	*style = true // marks have the style of what they are about
	m.write(b, marks)
	*style = !on
}

// write writes a text in the present style.
func (m *markdown) write(b *strings.Builder, text string) {
	style := ""
	switch {
	case m.fence || m.code:
		style = fmt.Sprintf("\x1b[%dm", cyan)
	case m.heading || m.bold:
		style = fmt.Sprintf("\x1b[%dm", bold)
	}
	if text == "" {
		style = ""
	}
	if style != m.shown {
		if m.shown != "" {
			b.WriteString("\x1b[0m")
		}
		b.WriteString(style)
		m.shown = style
	}
	b.WriteString(text)
}

// end returns what is still to print, and ends all styles.
func (m *markdown) end() string {
	var b strings.Builder
	m.mark(&b)
	m.write(&b, "")
	*m = markdown{start: true}
	return b.String()
}

// event prints what an event says that matters to a person.
func (v *viewer) event(e agent.Event) {
	shown := true
	switch e.Type {
	case agent.StartRun:
		shown = e.InitialCheckpoint.DelegatedBy != nil && e.InitialCheckpoint.Status == agent.Init
	case agent.CompleteRun:
		v.said(*e.Text)
		fmt.Fprintf(v.stdout, "\n")
		if e.Checkpoint.DelegatedBy == nil {
			v.total(e)
		}
		return
	case agent.StopRunByExceededMaxSteps:
		v.pause()
		what := "the last step allowed is taken"
		if e.Reason != "" {
			what = e.ReasonText()
		}
		fmt.Fprintf(v.stdout, "\nstopped: %s\n", oneLine(what, lineWidth))
		v.total(e)
		return
	case agent.StopRunByError:
		shown = e.Checkpoint.DelegatedBy != nil // else the program ends with the error, and prints it
	case agent.CallTool:
		v.said(e.NewMessage.Text())
	case agent.CallInteractiveTool, agent.CallDelegate:
		v.said(e.NewMessage.Text())
		shown = false
	case agent.StartGeneration, agent.FinishToolCall, agent.ContinueToNextStep,
		agent.StopRunByInteractiveTool, agent.StopRunByDelegate:
		return
	}
	v.pause()
	if shown {
		fmt.Fprintf(v.stdout, "%3d  %s\n", e.StepNumber, line(e, v.price))
	}
}

// diffLines is how many lines of a diff are shown.
const diffLines = 40

// diffs prints what a call changed.
func (v *viewer) diffs(ctx context.Context, e agent.Event) {
	if v.x == nil || e.ToolResult == nil || e.ToolResult.Session == nil {
		return
	}
	for _, id := range e.ToolResult.Session.Changes {
		r, err := v.x.Execute(ctx, &skill.Session{}, skill.Difference{ID: id})
		if err != nil {
			continue // the history says why, to who asks for it
		}
		lines := strings.Split(visible(r.Message()), "\n")
		const indent = "     "
		text := indent + strings.Join(lines[:min(len(lines), diffLines)], "\n"+indent)
		v.printColoured(text, func(_ int, line string) int { return diffColour(line[len(indent):]) })
		if more := len(lines) - diffLines; more > 0 {
			fmt.Fprintf(v.stdout, "     … %d more lines: %s diff %s\n", more, v.program(), id)
		}
	}
}

// total prints what the run has used so far.
func (v *viewer) total(e agent.Event) {
	if u := e.Checkpoint.Usage; u.TotalTokens > 0 {
		fmt.Fprintf(v.stdout, "(step %d, %s)\n\n", e.StepNumber, spent(u, v.price))
	}
}

// visible returns a text without the characters that control a terminal, except line
// ends and tabs.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' &&
			(r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0) {
			return -1
		}
		return r
	}, text)
}
