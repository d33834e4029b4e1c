package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLease has a run that is continued while its owner works.
func TestLease(t *testing.T) {
	l := newLab(t, calls("todo"))
	l.cfg.MaxSteps = 1
	l.ran("go")
	second := func() error {
		cfg := l.cfg
		cfg.Continue, cfg.RunID, cfg.Model = "run", "", &script{answers: []any{calls("todo")}}
		for _, err := range Run(t.Context(), cfg, "") {
			if err != nil {
				return err
			}
		}
		return nil
	}
	var refused error
	records, owned := Records{Executor: l.cfg.Executor}, false
	l.answers = append(l.answers, func(context.Context) (Answer, error) {
		refused, owned = second(), records.Owned("run")
		return calls("todo"), nil
	})
	l.cfg.Continue = "run"
	l.ran("")
	if refused == nil || !strings.Contains(refused.Error(), "the run run is in use by process ") {
		t.Errorf("the second owner: %v", refused)
	}
	if !owned || records.Owned("run") || records.Owned("another") || records.Owned("../run") {
		t.Errorf("while somebody works on the run: %t; after that: %t", owned, records.Owned("run"))
	}
	if err := second(); err != nil {
		t.Errorf("after the first has ended: %v", err)
	}
	if c := l.from(); c.StepNumber != 3 {
		t.Errorf("the run is at step %d", c.StepNumber)
	}
}

// TestLeaseIsARegularFile has another file in the place of the lease.
func TestLeaseIsARegularFile(t *testing.T) {
	l := newLab(t, calls("todo"))
	l.cfg.MaxSteps = 1
	l.ran("go")
	file := filepath.Join(l.dir, runsDir, "run", leaseFile)
	os.WriteFile(filepath.Join(l.dir, "mine"), []byte("mine"), 0o666)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../../mine", file); err != nil {
		t.Fatal(err)
	}
	l.cfg.Continue = "run"
	if _, err := l.run(""); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("error %v", err)
	}
	if got := l.file("mine"); got != "mine" {
		t.Errorf("the file is %q", got)
	}
}
