package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"textskill/skill/agent"
	"textskill/skill/agent/provider"
)

// runExpert plays a section run: the name of an expert, and the query for it. The sections
// llm before are the answers of the model.
func (g *golden) runExpert(text string) (string, error) {
	expert, query, _ := strings.Cut(strings.TrimSuffix(g.expand(text), "\n"), " ")
	words := []string{"--", expert}
	if query != "" {
		words = append(words, query)
	}
	c := g.cli([]string{"run"})
	if c.agent == nil {
		c.agent = &scriptedAgent{}
	}
	out, errs, code := g.exec(c, "", slices.Concat(g.base(), []string{"run"}, g.flags, words))
	if left := len(c.agent.replies) - len(c.agent.prompts); left > 0 && c.refused == nil {
		errs += fmt.Sprintf("skill test: %d of the %d answers in llm were not asked for\n", left,
			len(c.agent.replies))
	}
	return g.outcome(out+errs, code), c.refused
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
		a.Calls = append(a.Calls, agent.Call{ID: fmt.Sprintf("%d.%d", len(m.prompts), len(a.Calls)+1),
			Name: call[1], Arguments: call[2]})
	}
	a.Text = strings.Join(text, "\n")
	return a, nil
}

// transcript runs an expert and prints what it says and calls, and what the calls answer, in
// full: calls as in the sections llm, and what is not the model's with two blanks before it.
func (c *console) transcript(ctx context.Context, cfg agent.Config, query string) (last agent.Event, err error) {
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

// A modelRun is what a model did in a section model.
type modelRun struct {
	dir    string // the workspace of the run
	report string
	calls  []agent.ToolCall
}

// modelRules are the rules of a section model by their first word. Each reports whether it holds,
// and an error if the rest of its line is not what it takes.
var modelRules = map[string]func(r *modelRun, rest string) (bool, error){
	"contains": func(r *modelRun, text string) (bool, error) { return strings.Contains(r.report, text), nil },
	"calls":    (*modelRun).called,
	"json":     (*modelRun).hasValue,
	"file":     (*modelRun).fileHolds,
}

// called looks for a call of a tool: "TOOL", or "TOOL {JSON}" with arguments that the call must have.
func (r *modelRun) called(rest string) (bool, error) {
	name, args, some := strings.Cut(rest, " ")
	var want map[string]any
	if some && json.Unmarshal([]byte(args), &want) != nil {
		return false, fmt.Errorf("%s is not an object of JSON", args)
	}
	return slices.ContainsFunc(r.calls, func(call agent.ToolCall) bool {
		var got map[string]any
		if call.ToolName != name || json.Unmarshal(call.Args, &got) != nil {
			return false
		}
		for member, value := range want {
			if !reflect.DeepEqual(got[member], value) {
				return false
			}
		}
		return true
	}), nil
}

// hasValue looks at a path in the report, which is JSON: "items.0.name VALUE".
func (r *modelRun) hasValue(rest string) (bool, error) {
	path, text, _ := strings.Cut(rest, " ")
	var want, got any
	if json.Unmarshal([]byte(text), &want) != nil {
		return false, fmt.Errorf("%s is not a value of JSON", text)
	}
	begin, end := strings.IndexAny(r.report, "{["), strings.LastIndexAny(r.report, "}]")
	if begin < 0 || end < begin || json.Unmarshal([]byte(r.report[begin:end+1]), &got) != nil {
		return false, nil
	}
	for name := range strings.SplitSeq(path, ".") {
		switch at := got.(type) {
		case map[string]any:
			got = at[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(at) {
				return false, nil
			}
			got = at[i]
		default:
			return false, nil
		}
	}
	return reflect.DeepEqual(got, want), nil
}

// fileHolds looks for a text in a file of the workspace: "NAME TEXT".
func (r *modelRun) fileHolds(rest string) (bool, error) {
	name, text, _ := strings.Cut(rest, " ")
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return false, err
	}
	defer root.Close()
	data, err := root.ReadFile(filepath.FromSlash(name))
	return err == nil && strings.Contains(string(data), text), nil
}

// holds reports whether a line of rules holds.
func (r *modelRun) holds(line string) (bool, error) {
	line, negated := strings.CutPrefix(line, "not ")
	word, rest, _ := strings.Cut(line, " ")
	rule, known := modelRules[word]
	if !known || rest == "" {
		return false, errors.New("a rule is contains TEXT, calls TOOL {JSON}, json PATH VALUE or file NAME TEXT, or one of them after not")
	}
	ok, err := rule(r, rest)
	return ok != negated, err
}

// askModel plays a section model: an expert and the query for it, and a rule a line. The model works in
// a copy of the directory.
func (g *golden) askModel(text string) error {
	query, rest, _ := strings.Cut(g.expand(text), "\n")
	rules := slices.DeleteFunc(strings.Split(rest, "\n"),
		func(line string) bool { return strings.TrimSpace(line) == "" })
	for _, rule := range rules {
		if _, err := (&modelRun{dir: g.dir}).holds(rule); err != nil {
			return fmt.Errorf("model: %s: %w", rule, err)
		}
	}
	if len(rules) == 0 {
		return errors.New("model: it has no rule; add one below the line of the expert and the query, like contains TEXT")
	}
	if g.live == nil {
		if g.unasked != nil {
			g.unasked.Add(1)
		}
		return nil
	}
	r, err := g.runModel(query)
	if err != nil {
		return fmt.Errorf("model: %w", err)
	}
	var broken []string
	for _, rule := range rules {
		if ok, err := r.holds(rule); !ok || err != nil {
			broken = append(broken, "model: this does not hold: "+rule)
		}
	}
	if broken == nil {
		return nil
	}
	for _, call := range r.calls {
		broken = append(broken, fmt.Sprintf("  it called %s %s", call.ToolName, call.Args))
	}
	return errors.New(strings.Join(append(broken, "  it reported "+r.report), "\n"))
}

// runModel lets the model that the environment names work on a query.
func (g *golden) runModel(query string) (r *modelRun, err error) {
	own := *g
	if own.dir, own.state, err = g.folders(); err != nil {
		return nil, err
	}
	if err := os.CopyFS(own.dir, g.root.FS()); err != nil {
		return nil, err
	}
	own.llm = nil
	c := own.cli([]string{"run"})
	c.getenv = own.liveVariable
	expert, query, _ := strings.Cut(query, " ")
	words := slices.Concat(own.base(), []string{"run", "--json"}, own.flags, []string{"--", expert, query})
	out, errs, code := own.exec(c, "", words)
	r = &modelRun{dir: own.dir}
	done := false
	var last agent.Event
	for line := range strings.Lines(out) {
		last = agent.Event{}
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			return nil, err
		}
		if last.ToolCall != nil && (last.Type == agent.CallTool || last.Type == agent.CallInteractiveTool) {
			r.calls = append(r.calls, *last.ToolCall)
		}
		if last.Type == agent.CompleteRun && last.Text != nil {
			r.report, done = *last.Text, true
		}
	}
	switch {
	case c.refused != nil:
		return nil, c.refused
	case code != 0 || !done:
		return nil, fmt.Errorf("the expert is not done\n%s%s", errs, transcribed(last))
	}
	return r, nil
}

// liveVariable returns a variable that says where a model is, and the history of the run.
func (g *golden) liveVariable(name string) string {
	known := name == "SKILL_MODEL" || slices.ContainsFunc(provider.All, func(p provider.Provider) bool {
		return p.BaseURL == name || slices.Contains(p.Keys, name)
	})
	switch {
	case name == "SKILL_STATE":
		return g.state
	case known:
		return g.live(name)
	}
	return ""
}
