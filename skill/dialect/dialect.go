// Package dialect gives each kind of client the tools that it knows, with their names,
// arguments, limits and replies. A dialect is a table with a row for each tool. The row
// turns the arguments of a call into an operation of package skill, and the operation's
// result into a reply.
//
// [Dialect.Do] carries out one call. [Of] chooses the dialect of a text by its shape,
// and [Dialect.Answer] carries out all calls of the text. [All] lists the dialects.
package dialect

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"time"

	"textskill/parser/wire"
	"textskill/skill"
)

// A Dialect is a set of tools that one kind of client knows.
type Dialect struct {
	Name  string // as in --tools
	Doc   string // one sentence
	Tools []Tool // in the order of the manual

	Prompt *Prompt // recognizes and answers texts; nil if the dialect has only tool calls

	Guard skill.Guard // the guard of sessions with many calls; "" for none

	Resources bool // MCP clients get the history and files as resources, if there are tools history and read

	own bool // it is this program's: see For
	// a blank string in place of arguments is an error, not a call without any
	strict bool
	// refuse arguments with half of a surrogate pair; else it is read as U+FFFD
	noSurrogates bool
	// maps names that are the same to one; nil means that no two are
	foldName func(name string) string
	// reads the arguments, which may be missing; nil means as [Dialect.arguments] says
	decode func(t *Tool, raw json.RawMessage) (values, error)
	// formats an error; in.tool is nil for an unknown tool
	fail func(in *call, err error) Reply
	// characters of a file that an answer shows; 0 if rows have no such limit
	shown int
	// by which the model is called that has the tools; nil if only messages say it
	speaks *wire.Wire
	// how long a command of a shell may take; 0 if rows say it
	bashTime time.Duration
	// for a request; nil, or without an answer, means the definitions of Tools
	definitions func(d *Dialect, w *wire.Wire) json.RawMessage
}

// A Tool is a row: a name, its arguments, the operation, and the reply.
type Tool struct {
	Name       string
	Title      string   // for people; "" if Name is enough
	Aliases    []string // further names; not shown to clients
	Doc        string   // for a model: the effect and the reply
	Output     []Param  // members of [Reply.Structured]; nil if replies have none
	Effect     Effect
	Open       bool // it may reach outside the workspace
	Local      bool // it reaches the localhost of commands, even without the network
	More       bool // it accepts arguments that Params does not name
	Idempotent bool // a second call with the same arguments changes nothing more

	words    string // what other programs call a text command, in lower case without _ and -
	onFolder string // what others call the tool if its path is a folder, for which it fails

	params func() []Param // nil for none
	// carries out a call; see row
	run func(in *call) (any, error)

	function *function // what Func has made
}

// For returns the dialect without the tools that an executor with this configuration always
// refuses. ReadOnly leaves out tools that change something. DryRun leaves out tools that start
// programs but for run, and no Helper leaves out all. Without the network For leaves out tools that
// only reach other machines. Dialects of other programs keep all their tools.
func (d *Dialect) For(cfg skill.Config) *Dialect {
	if !d.own {
		return d
	}
	able := *d
	able.Tools = slices.DeleteFunc(slices.Clone(d.Tools), func(t Tool) bool {
		changes, opens := t.Effect != Reads, t.Open && t.Effect != Reads
		reads := t.Open && !changes && !cfg.Reaches()
		if t.Local && cfg.Helper != "" && !cfg.ReadOnly && !cfg.DryRun { // commands may have started a server
			reads = false
		}
		alone := cfg.Helper == "" && !cfg.Unfenced
		return cfg.ReadOnly && changes ||
			opens && (cfg.DryRun && t.Name != "run" || alone) || reads
	})
	return &able
}

// Effect is the most that a call may do to the workspace.
type Effect int

// The effects of a tool.
const (
	Reads    Effect = iota // nothing
	Adds                   // creates, but destroys nothing
	Destroys               // may replace or remove
)

// EffectOf returns the effect of a call of a tool. Writing a file that does not exist is
// [Adds], also if the tool may replace files.
func (d *Dialect) EffectOf(x *skill.Executor, s *skill.Session, name string,
	arguments json.RawMessage) Effect {
	t := d.Lookup(name)
	if t == nil {
		return Destroys
	}
	params := t.Params()
	i := slices.IndexFunc(params, func(p Param) bool { return p.New })
	var given map[string]any
	if i < 0 || json.Unmarshal(arguments, &given) != nil {
		return t.Effect
	}
	for _, name := range params[i].names() {
		if path, ok := given[name].(string); ok && path != "" {
			if _, err := x.Look(s, path, false); errors.Is(err, fs.ErrNotExist) {
				return Adds
			}
		}
	}
	return t.Effect
}

// Lookup returns the tool with a name or alias, or nil.
func (d *Dialect) Lookup(name string) *Tool {
	if d.foldName != nil {
		name = d.foldName(name)
	}
	for i := range d.Tools {
		if t := &d.Tools[i]; t.Name == name || slices.Contains(t.Aliases, name) {
			return t
		}
	}
	return nil
}

// Limit returns the dialect with the limit n on the length of texts, in UTF-16 units, in
// place of its own limits; 0 is no limit. It returns a dialect without limits as it is.
func (d *Dialect) Limit(n int) *Dialect {
	limited := *d
	limited.Tools = slices.Clone(d.Tools)
	changed := d.shown > 0
	if changed {
		limited.shown = n
	}
	for i := range limited.Tools {
		t := &limited.Tools[i]
		params := slices.Clone(t.Params())
		for j := range params {
			if p := &params[j]; p.Max > 0 {
				p.Max, changed = n, true
			}
		}
		t.params = func() []Param { return params }
	}
	if !changed {
		return d
	}
	return &limited
}
