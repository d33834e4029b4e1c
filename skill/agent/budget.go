package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	rawjson "textskill/parser/json"
)

// A Budget limits one Run, all its experts together. A limit that is reached ends the
// run at the end of the step, as MaxSteps does, so that it can be continued. In each field
// 0 is no limit.
type Budget struct {
	Tokens     int           // of all requests and answers
	Cost       float64       // in US dollars; needs a Price
	Price      *Price        // of the model
	Time       time.Duration // a request or a tool that is under way then is stopped
	EqualCalls int           // how often one tool is called with the same arguments in a row
}

// errTime is the cause of a context that is done because the time is over.
var errTime = errors.New("the time of the run is over")

// spending is what a run has used of its budget.
type spending struct {
	Budget
	start time.Time
	used  Usage
	last  string // the last call: name and arguments
	equal int    // how often it was made in a row
}

// within returns a context that is done when the time is over. The caller cancels it.
func (s *spending) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.Time == 0 {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, s.start.Add(s.Time), errTime)
}

// called counts a call.
func (s *spending) called(c ToolCall) {
	call := c.ToolName + " " + string(c.Args)
	if call != s.last {
		s.last, s.equal = call, 0
	}
	s.equal++
}

// exceeded says which limit is reached, "" for none.
func (s *spending) exceeded() string {
	spent := 0.0
	if s.Price != nil {
		spent = s.Price.Cost(s.used)
	}
	switch {
	case s.Tokens > 0 && s.used.TotalTokens >= s.Tokens:
		return fmt.Sprintf("%d tokens are used, of %d", s.used.TotalTokens, s.Tokens)
	case s.Cost > 0 && spent >= s.Cost:
		return fmt.Sprintf("$%.4f is spent, of $%.4f", spent, s.Cost)
	case s.Time > 0 && time.Since(s.start) >= s.Time:
		return fmt.Sprintf("the time of %s is over", s.Time)
	case s.EqualCalls > 0 && s.equal >= s.EqualCalls:
		return fmt.Sprintf("the same call was made %d times in a row: %s", s.equal, shorten(s.last, 200))
	}
	return ""
}

// exceeded ends the run at the end of a step if a limit is reached.
func (t *task) exceeded(ctx context.Context) (bool, error) {
	e := Event{Type: StopRunByExceededMaxSteps}
	if what := t.spent.exceeded(); what != "" {
		e.Reason = string(rawjson.Encode(reason{"Budget", t.clean.Text(what)}))
	} else if t.limit == 0 || t.cp.StepNumber < t.limit {
		return false, nil
	}
	return true, t.stop(ctx, e, StoppedByExceededMaxSteps)
}
