package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"textskill/parser/rawjson"
)

// maxReports is how often a model is asked for the final report.
const maxReports = 3

const (
	misfitting   = "The final report does not fit the schema"
	noReport     = "No final report"
	reportAdvice = "The work is done; no tool can be called any more. Answer with the final report alone: a text, whole, without tool calls."
)

// complete asks the model for the run's result and ends the run. It asks again, without
// tools, for a report that cannot be used. After that the run ends with the text that there
// is, unless the report must fit a schema.
func (t *task) complete(ctx context.Context) (done bool, err error) {
	var best Answer
	thoughts := ""
	for tries := 1; ; tries++ {
		answer, err := t.ask(ctx, nil)
		if err != nil {
			return true, t.fail(ctx, err)
		}
		if err := t.onlyThinks(answer); err != nil {
			return true, t.fail(ctx, err)
		}
		what, why := t.unusableReport(&answer)
		if what == "" {
			return true, t.report(ctx, answer)
		}
		if thought := answer.Thinking.Text; what == noReport && strings.TrimSpace(answer.Text) == "" {
			thoughts = cmp.Or(thought, thoughts) // some endpoints take a report for a thought
		}
		if len(answer.Text) > len(best.Text) {
			best = answer
		}
		if tries == maxReports {
			if strings.TrimSpace(best.Text) == "" {
				best.Text = thoughts
			}
			return true, t.settleFor(ctx, best, what, why)
		}
		if err := t.again(ctx, answer, what, why); err != nil {
			return true, err
		}
	}
}

// unusableReport says what is wrong with a report, "" for nothing. It leaves in the answer
// what of it is a report.
func (t *task) unusableReport(answer *Answer) (what, why string) {
	cut := answer.Cut
	t.box.read(answer)
	called := len(answer.Calls) > 0
	answer.Calls = nil
	switch {
	case strings.TrimSpace(answer.Text) == "", called:
		return noReport, reportAdvice
	case cut:
		return noReport, reportAdvice + " The last one was too long and was cut off: write a shorter one."
	}
	text, err := t.fitting(answer.Text)
	if err != nil {
		return misfitting, err.Error()
	}
	answer.Text = text
	return "", ""
}

// settleFor ends the run without a usable report: with the longest text of those that were
// given in place of it, or the last text of the model, or none.
func (t *task) settleFor(ctx context.Context, best Answer, what, why string) error {
	if what == misfitting {
		return t.fail(ctx, fmt.Errorf("%s: %s", strings.ToLower(what[:1])+what[1:], why))
	}
	for i := len(t.history) - 1; i >= 0 && strings.TrimSpace(best.Text) == ""; i-- {
		if m := &t.history[i]; m.Type == ExpertMessage {
			best.Text = m.Text()
		}
	}
	best.Usage = Usage{} // the retries have counted it
	t.cfg.Warn("the model gave no usable final report when it was asked three times; the run ends with the text that there is")
	return t.report(ctx, best)
}

// isReportRetry reports whether a retry asked for the final report again.
func isReportRetry(e Event) bool {
	var r reason
	return json.Unmarshal([]byte(e.Reason), &r) == nil &&
		(r.Message == reportAdvice || strings.HasPrefix(r.Message, reportAdvice+" "))
}

// report ends the run with a text.
func (t *task) report(ctx context.Context, a Answer) error {
	text := t.cfg.clean.Text(a.Text)
	t.addMessage(t.expertMessage(nil, a))
	return t.stop(ctx, Event{Type: CompleteRun, Text: &text, Usage: &a.Usage}, Completed)
}

// fitting returns the report in a text: with a schema, the JSON in it, which must fit.
func (t *task) fitting(text string) (string, error) {
	if t.schema == nil {
		return text, nil
	}
	if from, to, ok := rawjson.Fenced(strings.TrimSpace(text)); ok {
		text = strings.TrimSpace(text)[from:to]
	}
	value, _, err := rawjson.Decode(text)
	if err != nil {
		return "", err
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return "", err
	}
	return string(value), t.schema.Validate(v)
}
