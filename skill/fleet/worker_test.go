package fleet_test

import (
	"testing"

	"textskill/skill/fleet"
)

// TestRun has one worker carry out one run.
func TestRun(t *testing.T) {
	p := connect(t, 0, newServer(t))
	work(t, role{Name: "w1", Root: t.TempDir(), Slots: 2, Steps: 5}.config(p, func(line string) { t.Log(line) }))
	r := submit(t, p, "one", newFolder(t))
	if again := submit(t, p, "one", newFolder(t)); again.Submitted != r.Submitted {
		t.Errorf("the ID was submitted twice: %+v", again)
	}
	checkRun(t, p, "one", 5)
	if r, err := p.Run(t.Context(), "one"); err != nil || r.Status != fleet.Completed || r.Step != 6 || r.Worker != "w1" {
		t.Errorf("%+v %v", r, err)
	}
}
