package dialect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"textskill/parser"
	"textskill/parser/wire"
	"textskill/skill"
)

// Stack has the tools of Stack 2.9, called like read(path: 'a.txt', limit: 100). Each call
// is answered by a JSON object whose first key is success.
var Stack = &Dialect{
	Name:         "stack",
	Doc:          "Stack 2.9 calls: read(path: 'a.txt', limit: 100)",
	noSurrogates: true,
	decode:       stackArguments,
	fail:         stackFail,
	Prompt:       &Prompt{own: wire.Hermes, answer: answerStack},
	Tools:        slices.Concat(stackFiles, stackGit, stackRun, stackWeb, stackMemory, stackTasks),
}

// stackArguments reads arguments, which may be missing but not null.
func stackArguments(t *Tool, raw json.RawMessage) (values, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	given, err := members(raw, true, false)
	if err == nil {
		err = t.named(given, (*Param).coerced)
	}
	if err != nil {
		return nil, err
	}
	return t.check(given)
}

// answerStack carries out the calls of a text, one after the other. A call of an unknown
// tool is answered in its place, and what else looks like a call is named in the first
// reply.
func answerStack(ctx context.Context, d *Dialect, x *skill.Executor, s *skill.Session, in Input,
	yield func(Reply) bool) {
	calls, mentions, err := parser.Calls(in.Text, func(name string) bool { return d.Lookup(name) != nil })
	if err != nil {
		r := failureReply(&Failure{Message: err.Error(), Cause: err})
		none, ok := errors.AsType[*parser.SyntaxError](err)
		if ok && none.Name != "" {
			r = failureReply(&Failure{Message: d.Do(ctx, x, s, parser.ToolCall{Name: none.Name}).Err.Error()})
		}
		mentions = slices.DeleteFunc(mentions, func(m parser.Mention) bool { // the error names it
			return ok && none.Name == m.Name || strings.HasPrefix(err.Error(), m.String())
		})
		r.Notes = each(mentions, parser.Mention.String)
		if in.UndoKeys {
			r.JSON, r.Body = true, keys{"success", false, "error", r.Err.Error()}.String()
		}
		yield(r)
		return
	}
	wrong := func(m parser.Mention) bool { // a call of an unknown tool, not code that stands in the text
		return m.Reason == "" && (m.Keyed || d.Lookup(strings.ToLower(m.Name)) != nil)
	}
	for _, m := range slices.Backward(mentions) {
		if wrong(m) {
			calls = slices.Insert(calls, m.Before, parser.ToolCall{Name: m.Name})
		}
	}
	mentions = slices.DeleteFunc(mentions, wrong)
	for i, sent := range calls {
		r := d.Do(ctx, x, s, sent)
		r.JSON = true
		if i == 0 {
			r.Notes = each(mentions, parser.Mention.String)
		}
		if in.UndoKeys {
			r.Body = withUndoKeys(r)
		}
		if !yield(r) {
			return
		}
	}
}

// withUndoKeys returns the object that answers a call, with the ID of its change, or
// why the change cannot be undone. The object may say either by itself.
func withUndoKeys(r Reply) string {
	var has map[string]json.RawMessage
	if r.UndoID() == "" && r.NotKept() == "" || json.Unmarshal([]byte(r.Body), &has) != nil {
		return r.Body
	}
	var more keys
	if has["undo"] == nil {
		more = append(more, "undo?", r.UndoID())
	}
	if has["not_kept"] == nil && has["not_undoable"] == nil {
		more = append(more, "not_kept?", r.NotKept())
	}
	if added := more.String(); added != "{}" {
		return strings.TrimSuffix(r.Body, "}") + "," + added[1:]
	}
	return r.Body
}

// stackFail formats an error as an object: success, error, and the keys of a
// [Failure]. A message of the manual is used alone; others begin with the tool's name.
func stackFail(in *call, err error) Reply {
	f := &Failure{Cause: err, Code: codeOf(err), Message: plainMessage(err)}
	own, worded := errors.AsType[*Failure](err)
	switch {
	case in.tool == nil && errors.Is(err, errUnknown):
		f.Message = in.unknown()
	case worded && own.Message != "":
		f.Message = own.Message
	case in.sent != "":
		f.Message = in.sent + ": " + f.Message
	}
	body := keys{"success", false, "error", f.Message}
	if worded {
		body = append(body, own.keys...)
	}
	return Reply{Body: body.String(), Err: f}
}
