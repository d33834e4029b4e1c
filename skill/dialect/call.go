package dialect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"textskill/parser"
	"textskill/skill"
)

// A call is one call of a tool on its way through the row.
type call struct {
	dialect *Dialect
	tool    *Tool           // nil if the dialect has no tool of that name
	sent    string          // the name as the client wrote it
	values                  // the arguments
	raw     json.RawMessage // the arguments as they came

	ctx context.Context // of this call alone
	did skill.Result    // of the last operation, also if that failed
	x   *skill.Executor
	s   *skill.Session
}

// call begins a call of the tool of a name, if there is one.
func (d *Dialect) call(x *skill.Executor, s *skill.Session, name string) *call {
	return &call{dialect: d, tool: d.Lookup(name), sent: name, x: x, s: s}
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
	case in.tool.run == nil:
		return in.refuse(ctx, errors.New("the tool has no function; make it with dialect.Func, "+
			"and the dialect with dialect.New"))
	}
	in.raw = sent.Arguments
	var err error
	if in.values, err = d.arguments(in.tool, in.raw); err == nil && d.noSurrogates {
		err = refuseSurrogates(in.tool, sent.Arguments)
	}
	if err == nil && d.own {
		err = in.localNames()
	}
	if err != nil {
		return in.refuse(ctx, err)
	}
	return in.run(ctx)
}

// localNames replaces the paths among the arguments by those that they stand for.
func (in *call) localNames() (err error) {
	local := func(p Param, v any) any {
		name, isText := v.(string)
		if !isText || err != nil {
			return v
		}
		if name, err = skill.LocalName(name); err != nil {
			err = fmt.Errorf("%s %w", p.Name, err)
		}
		return name
	}
	for _, p := range in.tool.Params() {
		v, given := in.values[p.Name]
		if !given || !p.Path {
			continue
		}
		list, _ := v.([]any)
		for i := range list {
			list[i] = local(p, list[i])
		}
		in.values[p.Name] = local(p, v)
	}
	return err
}

// Report gives [skill.Config].Called a call that the dialect did not carry out: a refused call,
// or a call that another program has answered since began. err is nil if the call succeeded.
func (d *Dialect) Report(ctx context.Context, x *skill.Executor, s *skill.Session, sent parser.ToolCall,
	began time.Time, err error) {
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
	in.ctx, in.x = ctx, in.x.ByTool(in.dialect.Name, t.Name)
	return in.answer(t.run(in))
}

// answer makes a reply of what the function of a row returns.
func (in *call) answer(out any, err error) (r Reply) {
	if err != nil {
		r = in.fail(err)
		r.ran = in.did
		return r
	}
	switch out := out.(type) {
	case string:
		r.Body = out
	case Reply:
		r = out
	}
	r.Tool, r.Result = in.tool.Name, in.did
	return r
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
