package main

import (
	"fmt"
	"time"

	"textskill/skill/agent"
	"textskill/skill/agent/trace"
	"textskill/skill/fleet"
)

// observer returns what sends the spans and the metrics of a worker to the collector that
// the variables name. end sends the rest.
func (c *cli) observer() (o fleet.Observer, end func(), err error) {
	m, err := trace.NewMetrics(c.getenv)
	if m == nil || err != nil {
		return o, func() {}, err
	}
	o.Run = func(r fleet.Run, cfg agent.Config) (func(agent.Event), func(error)) {
		m.Up("skill.fleet.slots.used", 1)
		if r.Lost > 0 {
			m.Add("skill.fleet.takeovers", 1)
		}
		hear, ended := c.traced(r, cfg)
		return hear, func(failed error) {
			m.Up("skill.fleet.slots.used", -1)
			ended(failed)
		}
	}
	o.Stored = func(took time.Duration) {
		m.Add("skill.fleet.steps", 1)
		m.Add("skill.fleet.commit.seconds", took.Seconds())
	}
	o.Listed = func(runs []fleet.Run) {
		status, waiting := map[string]int{}, map[string]int{}
		for _, r := range runs {
			status[string(r.Status)]++
			if r.Status == fleet.Waiting {
				waiting[r.Tenant]++
			}
		}
		m.Set("skill.fleet.runs", "status", status)
		m.Set("skill.fleet.waiting", "tenant", waiting)
	}
	return o, func() { c.unsent(m.Close()) }, nil
}

// traced reports a run as spans of the trace that its submitter has named.
func (c *cli) traced(r fleet.Run, cfg agent.Config) (hear func(agent.Event), end func(error)) {
	spans, err := trace.New(c.getenv, cfg)
	if spans == nil || err != nil {
		c.unsent(err)
		return func(agent.Event) {}, func(error) {}
	}
	spans.Continue(r.Trace)
	return spans.Event, func(failed error) { c.unsent(spans.Close(failed)) }
}

// unsent says why something was not sent.
func (c *cli) unsent(err error) {
	if err != nil {
		fmt.Fprintln(c.stderr, "skill-fleet:", err)
	}
}
