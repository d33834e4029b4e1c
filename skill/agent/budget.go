package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"textskill/parser/rawjson"
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
	limit int // the last step that may be taken; 0 is no limit
	used  Usage
	last  string // the last call: name and arguments
	equal int    // how often it was made in a row
	round rounds
}

// rounds finds calls that are made in the same order again and again, with the same results.
type rounds struct {
	made   [][sha256.Size]byte // the last calls, with their results
	warned bool                // the model was told
	found  string              // what is made again although it was told; "" for nothing
}

const (
	maxRound  = 4 // calls
	maxRounds = 3
)

// answered notes a call with its result. It returns what the model is told, "" for nothing.
func (r *rounds) answered(c ToolCall, result []Part) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s", c.ToolName, c.Args)
	for _, p := range result {
		fmt.Fprintf(h, "\x00%s%s", p.Text, p.EncodedData)
	}
	r.made = append(r.made, [sha256.Size]byte(h.Sum(nil)))
	r.made = r.made[max(0, len(r.made)-maxRound*maxRounds):]
	for size := 2; size <= maxRound; size++ {
		if !r.goesRound(size) {
			continue
		}
		if r.warned {
			r.found = fmt.Sprintf("the same %d calls were made %d times round with the same results, the last one %s %s", size, maxRounds, c.ToolName, shorten(string(c.Args), 200))
			return ""
		}
		r.warned, r.made = true, nil
		return fmt.Sprintf("(You have made the same %d calls %d times round, with the same results. Making them again changes nothing: go another way, or call attemptCompletion and report what stands in the way.)", size, maxRounds)
	}
	return ""
}

// goesRound reports whether the last calls are so many, three times in the same order. One call
// again and again is counted elsewhere.
func (r *rounds) goesRound(size int) bool {
	n := len(r.made) - size*maxRounds
	if n < 0 {
		return false
	}
	last := r.made[n:]
	for i := size; i < len(last); i++ {
		if last[i] != last[i-size] {
			return false
		}
	}
	return slices.ContainsFunc(last, func(h [sha256.Size]byte) bool { return h != last[0] })
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
	case s.EqualCalls > 0 && s.round.found != "":
		return s.round.found
	case s.EqualCalls > 0 && s.equal >= s.EqualCalls:
		return fmt.Sprintf("the same call was made %d times in a row: %s", s.equal, shorten(s.last, 200))
	}
	return ""
}

// exceeded ends the run at the end of a step if a limit is reached.
func (t *task) exceeded(ctx context.Context) (bool, error) {
	e := Event{Type: StopRunByExceededMaxSteps}
	if what := t.asker.spent.exceeded(); what != "" {
		e.Reason = string(rawjson.Encode(reason{"Budget", t.cfg.clean.Text(what)}))
	} else if t.asker.spent.limit == 0 || t.cp.StepNumber < t.asker.spent.limit {
		return false, nil
	}
	return true, t.stop(ctx, e, StoppedByExceededMaxSteps)
}
