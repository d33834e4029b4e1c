// Package dialect is what clients call things: the names of the tools, their
// arguments and limits, and the shape of the replies. A dialect is a table; each
// row turns arguments into an operation of package skill and its result into the
// client's words.
package dialect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"textskill/parser"
	"textskill/skill"
)

// A Dialect is a set of tools that one kind of client knows.
type Dialect struct {
	Name  string // as in --tools
	Doc   string // one sentence
	Tools []Tool // in the order of the manual

	noHalves bool                                                    // half a surrogate pair in a text is an error; else it is read as U+FFFD
	fold     func(name string) string                                // how names are compared; nil means as they are
	fail     func(d *Dialect, sent string, t *Tool, err error) Reply // t is nil for an unknown tool
	read     func(t *Tool, raw json.RawMessage) (values, error)      // reads arguments, which may be missing; nil means Tool.decode
}

// A Tool is a row: a name, its arguments, the operation, and the reply.
type Tool struct {
	Name    string
	Aliases []string // further names; not shown to clients
	Doc     string   // for a model: what it does and what it answers
	Params  []Param
	Effect  Effect
	Open    bool // it may reach what is outside the workspace
	More    bool // it takes arguments that Params does not name
	Repeats bool // a second call with the same arguments changes nothing more

	args  func(in values) (skill.Args, error)
	real  func(x *skill.Executor, s *skill.Session, in values) error // resolves paths beforehand; may be nil
	judge func(in values, r skill.Result) error                      // finds a result that is a failure for the client; may be nil
	reply func(t *Tool, in values, r skill.Result) string
	fails func(t *Tool, in values, err error) error // the tool's own words for an error; may be nil
}

// Effect says what a call may do to the workspace.
type Effect int

// The effects of a tool.
const (
	Reads    Effect = iota // nothing
	Adds                   // creates, but destroys nothing
	Destroys               // may replace or remove what is there
)

// A Reply is the answer to one call.
type Reply struct {
	Tool   string       // the row's name; "" where none was found
	Body   string       // for the client; also of a failure
	Result skill.Result // nil where the call failed
	Err    error        // a [*Failure]; for the model it is data like any other
	ran    skill.Result // where the call failed although something was done
	Via    string       // what read the prompt if no grammar did: "rules", "llm"; else ""
}

// UndoID returns what the change that the call made is taken back by; "" where it made
// none, or none that is recorded. A program that fails may have changed something, too.
func (r Reply) UndoID() string {
	if c, ok := r.outcome().(interface{ UndoID() string }); ok {
		return c.UndoID()
	}
	return ""
}

// NotKept says why the change that the call made, or a part of it, cannot be undone
// although changes are recorded; "" if it can.
func (r Reply) NotKept() string {
	if c, ok := r.outcome().(interface{ Left() string }); ok {
		return c.Left()
	}
	return ""
}

func (r Reply) outcome() skill.Result {
	if r.Result == nil {
		return r.ran
	}
	return r.Result
}

// Lookup returns the row of a name or alias, nil if there is none.
func (d *Dialect) Lookup(name string) *Tool {
	if d.fold != nil {
		name = d.fold(name)
	}
	for i := range d.Tools {
		t := &d.Tools[i]
		if t.Name == name {
			return t
		}
		for _, a := range t.Aliases {
			if a == name {
				return t
			}
		}
	}
	return nil
}

// Do carries out one call for s: it finds the row, reads the arguments, executes
// the operation and words the reply. It is the whole way.
func (d *Dialect) Do(ctx context.Context, x *skill.Executor, s *skill.Session, call parser.ToolCall) Reply {
	t := d.Lookup(call.Name)
	switch {
	case call.Err != nil:
		return d.fail(d, call.Name, t, call.Err)
	case t == nil:
		return d.fail(d, call.Name, nil, errUnknown)
	}
	read := d.read
	if read == nil {
		read = (*Tool).decode
	}
	in, err := read(t, call.Arguments)
	if err == nil && d.noHalves {
		err = halfPair(t, call.Arguments)
	}
	if err != nil {
		return d.fail(d, call.Name, t, err)
	}
	return d.run(ctx, x, s, call.Name, t, in)
}

// run is Do once the arguments are read.
func (d *Dialect) run(ctx context.Context, x *skill.Executor, s *skill.Session, sent string, t *Tool, in values) Reply {
	reply := d.execute(skill.WithLabel(ctx, d.Name, t.Name), x, s, sent, t, in)
	reply.Tool = t.Name
	return reply
}

func (d *Dialect) execute(ctx context.Context, x *skill.Executor, s *skill.Session, sent string, t *Tool, in values) Reply {
	if t.real != nil {
		if err := t.real(x, s, in); err != nil {
			return d.fail(d, sent, t, err)
		}
	}
	args, err := t.args(in)
	if err != nil {
		return d.fail(d, sent, t, err)
	}
	r, err := x.Execute(ctx, s, args)
	if err != nil && t.fails != nil {
		err = t.fails(t, in, err)
	}
	if err == nil && t.judge != nil {
		err = t.judge(in, r)
	}
	var said ownWords
	switch {
	case errors.As(err, &said) && said.ok:
		return Reply{Body: said.text, Result: r}
	case err != nil:
		reply := d.fail(d, sent, t, err)
		reply.ran = r
		return reply
	}
	return Reply{Body: t.reply(t, in, r), Result: r}
}

// errUnknown is the error of a name that no row bears.
var errUnknown = errors.New("no such tool")

// ownWords is an error in the words of the original, before which only the tool's
// name is set; with ok it is no failure, and the text is the whole answer.
type ownWords struct {
	text string
	ok   bool
}

func (w ownWords) Error() string { return w.text }

func own(format string, args ...any) error { return ownWords{text: fmt.Sprintf(format, args...)} }
