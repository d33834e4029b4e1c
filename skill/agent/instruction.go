package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// loopRules is the part of the instruction that is the same for all experts.
const loopRules = `You work in a loop: you call tools, you are given their results, and you decide again, until the task is done.
- Every answer calls at least one tool. Several calls may stand in one answer; they are carried out in their order.
- A call that fails is answered with what was wrong. Read it and go another way; the same call again fails again.
- Plan what takes several steps with the todo tool, and mark what is done.
- When nothing remains, call attemptCompletion. You are then asked for the final report, which is the result of the run.`

// maxGuide is how much of the instructions of the workspace a model is given, in bytes.
const maxGuide = 32 << 10

// instruction returns the system message: the rules of the loop, the time and directory,
// the expert's own instruction, that of the workspace, the rules of its skills, and its delegates.
func (t *task) instruction() string {
	rules := loopRules
	if t.cfg.clean.replace != nil {
		rules += "\n" + redactedNote
	}
	sections := []string{
		rules,
		fmt.Sprintf("It is %s. The working directory, which file tools do not leave, is %s.",
			time.Now().UTC().Format("2006-01-02 15:04 MST"), t.cfg.Executor.Dir()),
		strings.TrimSpace(t.box.expert.Instruction),
	}
	if t.cfg.Guide != "" {
		sections = append(sections, "The workspace's AGENTS.md says:\n"+limitText(t.cfg.Guide, maxGuide))
	}
	for _, s := range t.box.skills {
		if s.rule != "" {
			sections = append(sections, fmt.Sprintf("%q skill rules:\n%s", s.name, strings.TrimSpace(s.rule)))
		}
	}
	for _, key := range t.box.expert.Delegates {
		if d := t.cfg.Experts[key]; d.Description != "" {
			sections = append(sections, fmt.Sprintf("About %q:\n%s", key, strings.TrimSpace(d.Description)))
		}
	}
	if t.schema != nil {
		sections = append(sections,
			"The final report is JSON, and nothing else, that fits this JSON Schema:\n"+string(t.cfg.Schema))
	}
	sections = slices.DeleteFunc(sections, func(s string) bool { return s == "" })
	return strings.Join(sections, "\n\n---\n\n")
}
