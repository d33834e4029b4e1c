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

// All lists the dialects, in the order in which they may claim a text. A text that
// none claims is for the first.
var All = []*Dialect{Achilles, Filesystem, Perstack, Stack, Workspace, Native, Undo}

// Names returns the names of all dialects, in the order of [All].
func Names() []string { return each(All, func(d *Dialect) string { return d.Name }) }

// Named returns the dialect of a name, nil for none.
func Named(name string) *Dialect {
	for _, d := range All {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// Of returns the dialect of a text, by its shape: a text command, an envelope of
// tool_calls, or anything else, which is for the fallback of text commands.
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
	own    *wire.Wire                         // whose calls the dialect's own grammar reads, when its name is not given; may be nil
	answer func(ctx context.Context, d *Dialect, x *skill.Executor, s *skill.Session, in Input, yield func(Reply) bool)
}

// An Input is a text for a dialect to answer.
type Input struct {
	Text     string
	Wire     *wire.Wire // of the text; nil if its shape decides
	Named    bool       // the dialect was named, not found by the shape of the text
	Fallback Fallback   // asked what the text means if no grammar says it; may be nil
	Strict   bool       // words left over behind a text command are an error
	UndoKeys bool       // add to JSON how a change is undone ("undo"), or why it cannot be ("not_kept"), and how the text was repaired ("repaired")
}

// Answer carries out what a text asks for, one call after the other as the replies
// are taken. A dialect without a Prompt answers a text that has no wire with a failure; see
// [Dialect.Wire].
func (d *Dialect) Answer(ctx context.Context, x *skill.Executor, s *skill.Session, in Input) iter.Seq[Reply] {
	return func(yield func(Reply) bool) {
		switch w := d.Wire(in); {
		case w != nil:
			yield(d.message(ctx, x, s, w, in))
		case d.Prompt == nil:
			yield(failureReply(&Failure{Message: "the tools of " + d.Name + " are called by messages with tool calls; the text is none"}))
		default:
			d.Prompt.answer(ctx, d, x, s, in, yield)
		}
	}
}

// Wire returns the wire that a text is read and answered in: the one that is named, or
// the one whose shape the text has; nil if the dialect's own grammar reads the text. Only
// where the dialect was named is a text read for the calls that a model writes, and only
// if nothing before them is a call of that grammar, which may hold them.
func (d *Dialect) Wire(in Input) *wire.Wire {
	if in.Wire != nil {
		return in.Wire.For(in.Text)
	}
	if w := wire.Of(in.Text); w != nil || !in.Named || d.Prompt != nil && d.Prompt.claims != nil && d.Prompt.claims(d, in.Text) {
		return w
	}
	w, at := wire.OfText(in.Text)
	if w == nil || d.Prompt != nil && w == d.Prompt.own {
		return nil
	}
	before, _, _ := parser.Calls(in.Text[:at], func(name string) bool { return d.Lookup(name) != nil })
	if slices.ContainsFunc(before, func(c parser.ToolCall) bool { return c.Name != "" }) { // a cut reasoning block has none
		return nil
	}
	return w
}

// An Extraction is a text command as a fallback understood it.
type Extraction struct {
	Operation, Path, Content, Destination string
	Lines                                 bool   // the content is whole lines
	Via                                   string // "rules" or "llm"
}

// Fallback is asked for the command that a prompt means when its operation is not
// known or its path is missing. operation is the prompt's first word. An error is
// the answer; [ErrSilent] leaves it to the dialect to say what is wrong.
type Fallback func(ctx context.Context, prompt, operation string) (Extraction, error)

// ErrSilent is the error of a fallback that has nothing to say.
var ErrSilent = errors.New("the fallback is silent")
