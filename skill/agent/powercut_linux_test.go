package agent

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"textskill/skill"
	"textskill/testdata/needs"
)

// TestPowerCutInRun cuts the power between any two writes of a run, or during a flush, and
// continues it. Calls that were reported or recorded as finished are there, and no call is made twice.
// SKILL_TEST_CUTS says how often.
func TestPowerCutInRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	needs.EachDisk(t, 1, "SKILL_TEST_CUTS", func(t *testing.T, cuts int, disks []*needs.Disk) {
		c := &cutLab{T: t, disk: disks[0]}
		for range cuts {
			c.clear()
			point := 1 + rand.IntN(75) // of about 80
			if c.runUntil(point); t.Failed() {
				t.Fatalf("the power was cut at point %d", point)
			}
		}
	})
}

// A cutLab is a workspace on a disk of its own.
type cutLab struct {
	*testing.T
	disk *needs.Disk
	dir  string

	off    atomic.Bool // what is reported then comes too late
	warned []string
}

// clear makes the workspace what the run begins with.
func (c *cutLab) clear() {
	c.dir, c.warned = filepath.Join(c.disk.Dir, "ws"), nil
	left, _ := filepath.Glob(filepath.Join(c.disk.Dir, ".skill*"))
	for _, old := range append(left, c.dir) {
		if err := os.RemoveAll(old); err != nil {
			c.Fatal(err)
		}
	}
	err := os.Mkdir(c.dir, 0o777)
	if err == nil {
		err = os.WriteFile(filepath.Join(c.dir, "f"), nil, 0o666)
	}
	if err != nil {
		c.Fatal(err)
	}
	c.disk.Flush()
}

// runUntil runs, cuts the power at a point, and continues.
func (c *cutLab) runUntil(point int) {
	cut := make(chan bool, 1)
	events, err := c.run(func(at moment) {
		if point--; point != 0 {
			return
		}
		after := time.Duration(0)
		if at == beforeFlush {
			after = rand.N(4 * time.Millisecond)
		}
		time.AfterFunc(after, func() {
			c.off.Store(true)
			c.disk.Cut()
			cut <- true
		})
		if at == beforeChange {
			cut <- <-cut
		}
	})
	if point > 0 {
		c.Fatalf("the run ends, %v, %d points before that", err, point)
	}
	<-cut
	c.disk.Remount()
	c.off.Store(false)
	c.check(events, "reported")
	c.check(c.recorded(), "recorded")
	for range 3 {
		if _, err = c.run(func(moment) {}); err == nil {
			break
		}
	}
	data, _ := os.ReadFile(filepath.Join(c.dir, "f"))
	got := strings.ReplaceAll(string(data), "\x00", "") // zeros are what was being appended
	switch {
	case err != nil && got == "" && strings.Contains(err.Error(), runsDir):
		// nothing was done, and the record is named
	case err != nil && !strings.Contains(err.Error(), "the run is completed"):
		c.Error(err)
	case got != "1\n2\n3\n4\n":
		c.Errorf("the file holds %q; warnings: %q", data, c.warned)
	}
}

// run begins or continues the run. It returns what was reported.
func (c *cutLab) run(point func(moment)) (events []Event, err error) {
	x, err := skill.New(skill.Config{Dir: c.dir, Unfenced: true})
	if err != nil {
		c.Fatal(err)
	}
	defer x.Close()
	cfg, query := Config{
		Executor: x, Model: &ledger{T: c.T, file: filepath.Join(c.dir, "f")}, Expert: "e",
		Experts: map[string]Expert{"e": {Version: "1.0.0", Instruction: "Do it."}}, RunID: "run",
		point: point, Warn: func(what string) { c.warned = append(c.warned, what) },
	}, "go"
	if _, err := os.Stat(filepath.Join(c.dir, runsDir, "run", settingFile)); err == nil {
		cfg.Continue, query = "run", ""
	}
	for e, err := range Run(c.Context(), cfg, query) {
		if err != nil {
			return events, err
		}
		if !c.off.Load() {
			events = append(events, e)
		}
	}
	return events, nil
}

// recorded returns the events on the disk that are as they were written.
func (c *cutLab) recorded() (events []Event) {
	x, err := skill.New(skill.Config{Dir: c.dir})
	if err != nil {
		c.Fatal(err)
	}
	defer x.Close()
	r, _, err := (Records{Executor: x}).Confirmed("run")
	if err != nil {
		c.Fatal(err)
	}
	files, _ := r.Files(c.Context(), "run")
	for _, n := range files {
		if e, err := r.Event(c.Context(), "run", n); n.Kind == "event" && err == nil {
			events = append(events, e)
		}
	}
	return events
}

// check looks for what calls with a result have appended.
func (c *cutLab) check(events []Event, how string) {
	c.Helper()
	data, _ := os.ReadFile(filepath.Join(c.dir, "f"))
	added := map[string]string{}
	for _, e := range events {
		if e.Type == CallTool && e.ToolCall.ToolName == "appendTextFile" {
			var in struct{ Text string }
			json.Unmarshal(e.ToolCall.Args, &in)
			added[e.ToolCall.ID] = in.Text
		}
		if e.ToolResult != nil && !strings.Contains(string(data), added[e.ToolResult.ID]) {
			c.Errorf("%q was %s as appended; the file holds %q", added[e.ToolResult.ID], how, data)
		}
	}
}
