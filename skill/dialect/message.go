package dialect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"textskill/parser"
	"textskill/parser/wire"
	"textskill/skill"
)

// message carries out the calls of a message in their order, and answers them in the
// wire of the message.
func (d *Dialect) message(ctx context.Context, x *skill.Executor, s *skill.Session, w *wire.Wire,
	in Input) Reply {
	e, err := w.Read(in.Text, d.schema)
	switch {
	case err != nil:
		return failureReply(&Failure{Message: err.Error(), Hint: hintOf(err), Cause: err})
	case e.HasFinal && in.Named && d.holdsCalls(e.Final):
		return failureReply(&Failure{Message: "the message has no calls, but its text holds some, which were not run",
			Hint: "give the text alone, without the message around it"})
	}
	var notes []string
	if e.Repairs != nil {
		notes = []string{"repaired: " + strings.Join(e.Repairs, ", ")}
	}
	switch {
	case in.Strict && notes != nil:
		return failureReply(refused(notes))
	case e.HasFinal:
		return Reply{Tool: "final", Body: e.Final, Repairs: e.Repairs, Notes: notes}
	}
	r := Reply{JSON: !w.IsText(), Message: true, Calls: make([]Reply, len(e.Calls)), Repairs: e.Repairs,
		Notes: notes}
	answers := make([]wire.Answer, len(e.Calls))
	s, wrong := workingDir(x, s, e.WorkingDir)
	d = d.speaking(w)
	for i, sent := range e.Calls {
		c := &r.Calls[i]
		if errors.Is(sent.Err, parser.ErrNoArguments) && !d.strict {
			sent.Arguments, sent.Err = json.RawMessage("{}"), nil
		}
		if wrong != nil {
			*c = d.fail(&call{dialect: d, sent: sent.Name}, wrong)
		} else {
			*c = d.Do(ctx, x, s, sent)
		}
		answers[i] = wire.Answer{Call: sent}
		if answers[i].Media, err = media(ctx, x, *c); err != nil {
			*c = d.fail(d.call(x, s, sent.Name), err)
		}
		answers[i].Text, answers[i].Failed = wellFormed(c.Body), c.Err != nil
		if sent.Kind != "" && c.Err == nil {
			answers[i].Object = c.Structured
		}
		if in.UndoKeys {
			answers[i].Undo, answers[i].NotKept = c.UndoID(), c.NotKept()
		}
		r.Err = cmp.Or(r.Err, c.Err)
	}
	r.Body = w.Answer(answers, more(in, w, r, answers))
	return r
}

// speaking returns the dialect for calls in messages of a wire.
func (d *Dialect) speaking(w *wire.Wire) *Dialect {
	spoken := *d
	spoken.speaks = w
	return &spoken
}

// holdsCalls reports whether a model's text is read for calls if it is given alone.
func (d *Dialect) holdsCalls(text string) bool {
	if w, _ := wire.OfText(text); w != nil {
		return true
	}
	if w := wire.Of(text); w != nil {
		e, _ := w.Read(text, d.schema)
		return len(e.Calls) > 0
	}
	calls, _, _ := parser.Calls(text, func(name string) bool { return d.Lookup(name) != nil })
	return len(calls) > 0 && d.Prompt != nil && d.Prompt.own != nil
}

// more returns what an answer for --json holds besides: repairs, and how to undo the
// changes where the answers themselves have no place for it.
func more(in Input, w *wire.Wire, r Reply, answers []wire.Answer) map[string]any {
	more := map[string]any{}
	if !in.UndoKeys {
		return more
	}
	if r.Repairs != nil {
		more["repaired"], more["notes"] = r.Repairs, r.Notes
	}
	var changes []map[string]any
	for i, a := range answers {
		if a.Undo != "" || a.NotKept != "" {
			changes = append(changes, map[string]any{"call": i + 1, "undo": a.Undo, "not_kept": a.NotKept})
		}
	}
	if changes != nil && w != wire.OpenAI {
		more["changes"] = changes
	}
	return more
}

// media returns the pictures and PDFs that a reply shows.
func media(ctx context.Context, x *skill.Executor, r Reply) (list []wire.Media, err error) {
	for _, b := range r.Blocks {
		if b.Data != nil && (slices.Contains(image.types, b.Type) || slices.Contains(pdf.types, b.Type)) {
			list = append(list, wire.Media{Type: b.Type, Name: filepath.Base(b.Path), Data: b.Data})
		}
	}
	m, ok := r.Result.(skill.MediaFound)
	if !ok || r.Err != nil {
		return list, nil
	}
	read, err := x.Execute(ctx, &skill.Session{}, skill.ReadFile{Path: m.Path, MaxBytes: m.Size})
	if err != nil {
		return nil, err
	}
	return append(list, wire.Media{Type: m.Type, Name: filepath.Base(m.Path),
		Data: read.(skill.FileRead).Content}), nil
}

// schema returns the schema of a tool's arguments, nil if there is no such tool.
func (d *Dialect) schema(name string) json.RawMessage {
	if t := d.Lookup(name); t != nil {
		return t.Schema()
	}
	return nil
}

// Definitions returns the tool definitions as JSON, in the form of a request on the wire w,
// for which [wire.Wire.Defines] must be true.
func (d *Dialect) Definitions(w *wire.Wire) json.RawMessage {
	if d.definitions != nil {
		if own := d.definitions(d, w); own != nil {
			return own
		}
	}
	return w.Definitions(each(d.Tools,
		func(t Tool) wire.Tool { return wire.Tool{Name: t.Name, Doc: t.Doc, Schema: t.Schema()} }))
}

// workingDir returns a session in a folder, which is relative to the workspace; s if
// none is named.
func workingDir(x *skill.Executor, s *skill.Session, dir string) (*skill.Session, error) {
	if dir == "" {
		return s, nil
	}
	dir, err := pyPath(dir)
	if err != nil {
		return nil, err
	}
	return x.Enter(&skill.Session{}, dir)
}
