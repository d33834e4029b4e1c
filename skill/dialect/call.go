package dialect

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"textskill/parser"
	rawjson "textskill/parser/json"
	"textskill/skill"
)

// A call is one call of a tool on its way through the row.
type call struct {
	dialect *Dialect
	tool    *Tool           // nil if the dialect has no tool of that name
	sent    string          // the name as the client wrote it
	values                  // the arguments
	raw     json.RawMessage // the arguments as they came

	x        *skill.Executor
	s        *skill.Session
	resolved []resolvedPath // by the operation hook, for itself and for the reply
}

// A resolvedPath is where an argument leads.
type resolvedPath struct{ param, path string }

// call begins a call of the tool of a name, if there is one.
func (d *Dialect) call(x *skill.Executor, s *skill.Session, name string) *call {
	return &call{dialect: d, tool: d.Lookup(name), sent: name, x: x, s: s}
}

// at returns where the path in an argument leads: absolute if the row resolved it,
// else as it was sent.
func (in *call) at(param string) string {
	for _, r := range in.resolved {
		if r.param == param {
			return r.path
		}
	}
	return in.str(param)
}

// resolve records where the path in an argument leads.
func (in *call) resolve(param, path string) {
	in.resolved = append(in.resolved, resolvedPath{param, path})
}

// expandHome replaces a leading ~ by the home folder. If there is none, the path is
// returned as it is, with an error.
func expandHome(path string) (string, error) {
	if path != "~" && !strings.HasPrefix(path, "~/") {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return path, err
	}
	return filepath.Join(home, path[1:]), nil
}

// each returns what of makes of each element of a list.
func each[T, U any](list []T, of func(T) U) []U {
	made := make([]U, len(list))
	for i, element := range list {
		made[i] = of(element)
	}
	return made
}

// typed adapts a hook for the one type of result that the operation of its row has.
func typed[R skill.Result, T any](hook func(in *call, r R) T) func(*call, skill.Result) T {
	return func(in *call, r skill.Result) T { return hook(in, r.(R)) }
}

// Do carries out one call for s: it finds the row, reads the arguments, executes
// the operation and formats the reply.
func (d *Dialect) Do(ctx context.Context, x *skill.Executor, s *skill.Session, sent parser.ToolCall) Reply {
	in := d.call(x, s, sent.Name)
	switch {
	case sent.Err != nil:
		return in.refuse(ctx, sent.Err)
	case in.tool == nil:
		return in.refuse(ctx, errUnknown)
	case in.tool.reply == nil || in.tool.operation == nil && in.tool.function == nil:
		return in.refuse(ctx, errors.New("the tool has no function; make it with dialect.Func, and the dialect with dialect.New"))
	}
	in.raw = sent.Arguments
	var err error
	if in.values, err = d.arguments(in.tool, in.raw); err == nil && d.noSurrogates {
		err = refuseSurrogates(in.tool, sent.Arguments)
	}
	if err != nil {
		return in.refuse(ctx, err)
	}
	return in.run(ctx)
}

// arguments reads the arguments of a call as the dialect does.
func (d *Dialect) arguments(t *Tool, raw json.RawMessage) (values, error) {
	if d.decode != nil {
		return d.decode(t, raw)
	}
	return t.decode(raw)
}

// Report gives a call that the dialect does not carry out to [skill.Config].Called: one that is
// refused, or that another program has answered since began. err is nil if that succeeded.
func (d *Dialect) Report(ctx context.Context, x *skill.Executor, s *skill.Session, sent parser.ToolCall, began time.Time, err error) {
	in := d.call(x, s, sent.Name)
	if in.tool != nil {
		in.values, _ = d.arguments(in.tool, sent.Arguments) // what is wrong with them is not why
	} else {
		_ = json.Unmarshal(sent.Arguments, &in.values)
	}
	in.report(ctx, began, &Reply{Err: err})
}

// refuse answers a call that is not carried out.
func (in *call) refuse(ctx context.Context, err error) (r Reply) {
	defer in.report(ctx, time.Now(), &r)
	return in.fail(err)
}

// run carries out the call once its arguments are read.
func (in *call) run(ctx context.Context) (reply Reply) {
	defer in.report(ctx, time.Now(), &reply)
	t := in.tool
	ctx = skill.WithLabel(ctx, in.dialect.Name, t.Name)
	var r skill.Result
	var err error
	if t.function != nil {
		r, err = in.callFunction(ctx)
	} else {
		var args skill.Args
		if args, err = t.operation(in); err != nil {
			return in.fail(err)
		}
		r, err = in.x.Execute(ctx, in.s, args)
	}
	if err != nil && t.tolerate != nil {
		if body, ok := t.tolerate(in, err); ok {
			return Reply{Tool: t.Name, Body: body, Result: r}
		}
	}
	if err != nil && t.reword != nil {
		err = t.reword(in, err)
	}
	if err == nil && t.failure != nil {
		err = t.failure(in, r)
	}
	if err != nil {
		reply = in.fail(err)
		reply.ran = r
		return reply
	}
	reply = Reply{Tool: t.Name, Body: t.reply(in, r), Result: r}
	in.structure(&reply, r)
	return reply
}

// structure adds to a reply what of a result is not its text.
func (in *call) structure(reply *Reply, r skill.Result) {
	if f, ok := r.(returned); ok && f.object != nil {
		reply.Structured = f.object
	}
	if in.tool.data != nil {
		reply.Structured = rawjson.Encode(in.tool.data(in, r))
	}
	if in.tool.blocks != nil {
		reply.Blocks = in.tool.blocks(in, r)
	}
}

func (in *call) fail(err error) Reply {
	fail := in.dialect.fail
	if fail == nil {
		fail = workspaceFail
	}
	reply := fail(in, err)
	if in.tool != nil {
		reply.Tool = in.tool.Name
	}
	return reply
}

// errUnknown is the error of a name that no row has.
var errUnknown = errors.New("no such tool")

// A Reply is the answer to one call or one text.
type Reply struct {
	Tool   string       // the row's name; if there is none, the first word of a text command, else ""
	Body   string       // for the client; also of a failure
	Result skill.Result // nil if the call failed
	Err    error        // a [*Failure]; for the model it is data like any other

	Structured []byte  // Body as a JSON object that the tool's Output describes; nil if it has none
	Blocks     []Block // what Body cannot hold

	JSON    bool     // Body is a JSON document in the client's wire, of a failure too
	Message bool     // Body is a whole message in the client's wire, of a failure too; without JSON it is text
	Calls   []Reply  // to the calls of a message, which Body holds together
	Repairs []string // repairs to the syntax of the text, one phrase each
	Ignored []string // what to know of the text, a sentence each: parts that look like calls and were not carried out, a quote that was taken for a letter
	Via     string   // what read the text if no grammar did: "rules", "llm"; else ""

	ran skill.Result // if the call failed although something was done
}

// A Block is a picture or a document in a reply, or a link to a file.
type Block struct {
	Type string // media type, such as "image/png"
	Path string // absolute
	Data []byte // nil if the block is a link
}

// UndoID returns the ID of the change that the call made; "" if it made none, or
// none that is recorded. A program that fails may have changed something, too.
func (r Reply) UndoID() string {
	if c, ok := r.outcome().(interface{ UndoID() string }); ok {
		return c.UndoID()
	}
	return ""
}

// NotKept says why the change that the call made, or a part of it, cannot be undone
// although changes are recorded; "" if it can.
func (r Reply) NotKept() string {
	if c, ok := r.outcome().(interface{ CannotUndo() string }); ok {
		return c.CannotUndo()
	}
	return ""
}

func (r Reply) outcome() skill.Result {
	if r.Result == nil {
		return r.ran
	}
	return r.Result
}
