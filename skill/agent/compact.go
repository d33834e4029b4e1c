package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"textskill/llmfallback/remote"
)

// A conversation is compacted before its model's window is full: at fullness of the
// window it is brought below roomy of it. Messages newer than recent of the window stay
// as they are. One result takes at most recent of it.
const (
	fullness = 0.8
	roomy    = 0.5
	recent   = 0.2
)

// bytesPerToken is below what models have, so that estimates are too high rather than too
// low. mediaTokens is what an image or file counts for.
const (
	bytesPerToken = 3
	mediaTokens   = 1500
)

const (
	summaryRequest = `This conversation is about to be shortened, because the model's window is nearly full. Write down what is needed to go on without it:
the task and its constraints, decisions and their reasons, what is done, what remains, the files that matter and what is known of them, and
attempts that failed. Write only that, as a text.`
	shortened   = "This conversation was shortened. What the user asked for:\n\n"
	whatWasDone = "\n\nWhat was done until here:\n\n"
	openTodos   = "\n\nOpen todos:\n"
)

// tokens estimates the tokens of messages.
func tokens(messages ...Message) (n int) {
	for _, m := range messages {
		n += 4 + tokensOf(m.Contents)
	}
	return n
}

func tokensOf(parts []Part) (n int) {
	for _, p := range parts {
		n += (len(p.Text) + len(p.ToolName) + len(p.Args) + len(p.Replay)) / bytesPerToken
		if p.EncodedData != "" {
			n += mediaTokens
		}
		n += tokensOf(p.Contents)
	}
	return n
}

// share returns a part of the window, in tokens.
func (a *asker) share(part float64) int { return int(part * float64(a.window)) }

// ask returns the model's next answer: a call of one of the tools or, if there are none, a
// text. The conversation is compacted before that if it nearly fills the window, and after
// that if the endpoint says that it does not fit.
func (t *task) ask(ctx context.Context, tools []Tool) (Answer, error) {
	for tries := 0; ; tries++ {
		if t.asker.window > 0 && t.size > t.asker.share(fullness) && t.compactible() {
			if err := t.compact(ctx); err != nil {
				return Answer{}, err
			}
		}
		answer, err := t.generate(ctx, t.request(tools), t.cfg.Heard)
		fault, _ := errors.AsType[*remote.Error](err)
		if fault == nil || !fault.TooLong || tries == 2 || !t.compactible() {
			return answer, err
		}
		t.asker.window = fault.Window
		if t.asker.window <= 0 || t.asker.window > t.size && t.size > 0 && tries > 0 {
			t.asker.window = t.size * 3 / 4
		}
		t.size = max(t.size, t.asker.window)
	}
}

// compactible reports whether the conversation has more than the query.
func (t *task) compactible() bool { return len(t.history) > 3 }

// compact shortens the conversation: old results first; then the model writes a
// summary of all that is old. The result is a checkpoint of its own, which ends the step
// before.
func (t *task) compact(ctx context.Context) error {
	from := t.recentFrom()
	before := t.step.Usage
	t.step.Usage = Usage{}
	history := t.withoutResults(t.history, from)
	if tokens(history...) > t.asker.share(roomy) {
		summary, err := t.summary(ctx, history)
		if err != nil {
			t.step.Usage = before.Add(t.step.Usage)
			return err
		}
		history = slices.Concat(history[:1],
			[]Message{newMessage(UserMessage, textPart(t.cfg.clean.Text(summary)))}, history[from:])
	}
	if tokens(history...) > t.asker.share(fullness) {
		history = t.withoutResults(history, len(history))
	}
	t.history = history
	t.size, t.sent = tokens(history...), len(history)
	t.step.InputMessages, t.step.NewMessages = nil, nil

	c := t.checkpoint(Proceeding)
	c.ID, c.StepNumber, c.Compacted = newID(), t.cp.StepNumber-1, true
	c.Messages = history[:len(history):len(history)]
	if err := t.recorder.store.checkpoint(ctx, c); err != nil {
		return err
	}
	t.last, t.cp.ParentID = c, c.ID
	shown := *c
	shown.Messages, shown.Session = []Message{}, nil
	used := t.step.Usage
	t.step.Usage = before
	step := Step{StepNumber: c.StepNumber, NewMessages: thin(history), Usage: used}
	return t.emit(ctx, Event{Type: CompactConversation, StepNumber: c.StepNumber, Checkpoint: &shown,
		Step: &step, Usage: &used})
}

// recentFrom returns the index of the first message that stays as it is. A call and its
// results are not parted.
func (t *task) recentFrom() int {
	from, size := len(t.history), 0
	for i, m := range slices.Backward(t.history[1:]) {
		if size += tokens(m); size > t.asker.share(recent) {
			break
		}
		if m.Type != ToolMessage {
			from = i + 1
		}
	}
	return from
}

// withoutResults returns the messages with references in the place of long results: of all
// before an index, and of those after it that are too long for the window.
func (t *task) withoutResults(messages []Message, before int) []Message {
	messages = slices.Clone(messages)
	for i, m := range messages {
		if m.Type != ToolMessage {
			continue
		}
		contents := slices.Clone(m.Contents)
		changed := false
		for j, r := range contents {
			n := tokensOf(r.Contents)
			if i < before && n > 100 || n > t.asker.share(recent) {
				contents[j].Contents = []Part{textPart(fmt.Sprintf("(This result of %s, about %d tokens, was taken out to make room. Call the tool again if it is needed, for less at once.)", r.ToolName, n))}
				changed = true
			}
		}
		if changed {
			messages[i] = newMessage(ToolMessage, contents...)
		}
	}
	return messages
}

// summary returns the message that takes the place of all that is old: what the user
// asked for, what the model writes, and the open todos.
func (t *task) summary(ctx context.Context, history []Message) (string, error) {
	text := ""
	if tokens(history...) < t.asker.share(0.9) {
		answer, err := t.generate(ctx,
			Request{Messages: slices.Concat(history,
				[]Message{newMessage(UserMessage, textPart(summaryRequest))}), Withheld: t.box.tools()}, nil)
		if fault, ok := errors.AsType[*remote.Error](err); err != nil &&
			(!ok || !fault.TooLong && fault.Status != 400) {
			return "", err
		}
		text = strings.TrimSpace(answer.Text)
	}
	if text == "" {
		text = t.callList(history)
	}
	asked := limitText(t.queries(history), t.asker.share(recent/2)*bytesPerToken)
	text = shortened + asked + whatWasDone + limitText(text, t.asker.share(recent)*bytesPerToken)
	open := ""
	for _, todo := range t.box.session.Snapshot().Todos {
		if !todo.Completed {
			open += fmt.Sprintf("- %s (id %d)\n", todo.Title, todo.ID)
		}
	}
	if open != "" {
		text += openTodos + open
	}
	return text, nil
}

// queries returns what the user asked for, also before an earlier compaction.
func (t *task) queries(history []Message) string {
	var list []string
	for _, m := range history {
		if m.Type != UserMessage || len(m.Contents) == 0 ||
			strings.HasPrefix(m.Contents[0].Text, `{"error":`) {
			continue
		}
		text, _, _ := strings.Cut(m.Contents[0].Text, whatWasDone)
		list = append(list, strings.TrimPrefix(text, shortened))
	}
	return strings.Join(list, "\n\n")
}

// callList lists the calls that were made, for a conversation that the model cannot
// summarize. The last ones stay.
func (t *task) callList(history []Message) string {
	var list []string
	for _, m := range history {
		for _, p := range m.Contents {
			if p.Type == ToolCallPart {
				list = append(list, "- "+p.ToolName+" "+shorten(string(p.Args), 200))
			}
		}
	}
	return "Calls, the latest last:\n" + strings.Join(list[max(0, len(list)-50):], "\n")
}
