package dialect

import (
	"context"
	"errors"
	"iter"
	"slices"

	"textskill/parser"
	"textskill/parser/wire"
	"textskill/skill"
)

// All lists the dialects. The first one that recognizes a text gets it; if no dialect
// does, the first of the list gets it.
var All = []*Dialect{Achilles, Filesystem, Perstack, Stack, Workspace, Native, Undo}

// Names returns the names of all dialects, in the order of [All].
func Names() []string { return each(All, func(d *Dialect) string { return d.Name }) }

// Named returns the dialect with a name, or nil.
func Named(name string) *Dialect {
	for _, d := range All {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// Of returns the dialect of a text, by its shape: [Achilles] for a text command,
// [Filesystem] for a message with tool calls. For other texts it returns [Achilles], whose
// fallback reads plain words.
func Of(text string) *Dialect {
	for _, d := range All {
		if d.Prompt != nil && d.Prompt.claims != nil && d.Prompt.claims(d, text) {
			return d
		}
	}
	return All[0]
}

// A Prompt says how a dialect recognizes a text and answers it.
type Prompt struct {
	claims func(d *Dialect, text string) bool // by its shape; nil if the dialect of such a text must be named
	// whose calls the dialect's own grammar reads, when its name is not given; may be nil
	own    *wire.Wire
	answer func(ctx context.Context, d *Dialect, x *skill.Executor, s *skill.Session, in Input,
		yield func(Reply) bool)
}

// An Input is a text for a dialect to answer.
type Input struct {
	Text     string
	Wire     *wire.Wire // of the text; nil if its shape decides
	Named    bool       // the caller named the dialect; else the shape of the text decided
	Fallback Fallback   // reads the text if no grammar can; may be nil
	Strict   bool       // extra words after a text command are an error
	// add to JSON the ID that undoes a change ("undo"), or why it cannot be undone ("not_kept"),
	// and repairs ("repaired")
	UndoKeys bool
}

// Answer carries out the calls of a text, each when its reply is read from the iterator. A
// dialect without a Prompt returns a failure for a text without a wire; see [Dialect.Wire].
func (d *Dialect) Answer(ctx context.Context, x *skill.Executor, s *skill.Session, in Input) iter.Seq[Reply] {
	return func(yield func(Reply) bool) {
		switch w := d.Wire(in); {
		case w != nil:
			yield(d.message(ctx, x, s, w, in))
		case d.Prompt == nil:
			yield(failureReply(&Failure{Message: "the tools of " + d.Name +
				" are called by messages with tool calls; the text is none"}))
		default:
			d.Prompt.answer(ctx, d, x, s, in, yield)
		}
	}
}

// Wire returns the wire in which to read and answer a text: in.Wire, or the wire that the
// shape of the text has. It returns nil if the dialect's own grammar reads the text. Wire
// looks for the text formats of models only if in.Named is set, and only if no call of the
// own grammar comes before them.
func (d *Dialect) Wire(in Input) *wire.Wire {
	if in.Wire != nil {
		return in.Wire.For(in.Text)
	}
	if w := wire.Of(in.Text); w != nil || !in.Named ||
		d.Prompt != nil && d.Prompt.claims != nil &&
			d.Prompt.claims(d, in.Text) {
		return w
	}
	w, text := wire.OfText(in.Text)
	if w == nil || d.Prompt != nil && w == d.Prompt.own {
		return nil
	}
	before, _, _ := parser.Calls(text, func(name string) bool { return d.Lookup(name) != nil })
	// a cut reasoning block has none
	if slices.ContainsFunc(before, func(c parser.ToolCall) bool { return c.Name != "" }) {
		return nil
	}
	return w
}

// An Extraction is the text command that a fallback read in plain words.
type Extraction struct {
	Operation, Path, Content, Destination string
	Lines                                 bool   // the content is whole lines
	Via                                   string // "rules" or "llm"
}

// A Fallback returns the command that a prompt means, if its operation is unknown or its
// path is missing. operation is the prompt's first word. The dialect answers with the
// error of the fallback; for [ErrSilent] it answers with its own.
type Fallback func(ctx context.Context, prompt, operation string) (Extraction, error)

// ErrSilent is the error of a fallback that has nothing to say.
var ErrSilent = errors.New("the fallback is silent")
