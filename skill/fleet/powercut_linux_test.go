package fleet_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"textskill/skill/fleet"
	"textskill/testdata/needs"
)

// TestPowerCut cuts the power of all servers and workers while they carry out runs. The servers
// restart with the contents of their disks. No accepted step is lost, and each run ends with the
// right bytes. SKILL_TEST_FLEET_CUTS is the number of cuts; the default is one cut, on ext4.
func TestPowerCut(t *testing.T) {
	const (
		runs, steps = 6, 12
		patience    = 10 * time.Second // a cluster elects a leader in less
		variable    = "SKILL_TEST_FLEET_CUTS"
	)
	if !needs.All() {
		t.Skip("it takes a minute: set SKILL_TEST_ALL")
	}
	needs.EachDisk(t, 3, variable, func(t *testing.T, cuts int, disks []*needs.Disk) {
		if os.Getenv(variable) == "" {
			cuts = 1
		}
		nodes, servers := newCluster(t, false, disks[0].Dir+"/nats", disks[1].Dir+"/nats",
			disks[2].Dir+"/nats")
		var workers []*process
		for i := range 3 {
			workers = append(workers, newProcess(t, role{
				Name: fmt.Sprintf("w%d", i), Root: t.TempDir(), Servers: servers, Slots: 4,
				Patience: patience, Steps: steps, Thinks: 100 * time.Millisecond,
			}))
		}
		t.Cleanup(func() {
			for _, p := range append(nodes, workers...) {
				if t.Failed() {
					t.Logf("%s%s:\n%s", p.role.Name, p.role.Node.Name, strings.Join(p.said(""), "\n"))
				}
			}
		})
		dir, accepted := newFolder(t), 0
		for cut := range cuts {
			seen := map[string]fleet.Run{}
			p := connectCluster(t, patience, servers)
			for i := range runs {
				r := submit(t, p, fmt.Sprintf("cut%d-%d", cut, i), dir)
				seen[r.ID] = r
			}
			for end := time.Now().Add(rand.N(4 * time.Second)); time.Now().Before(end); {
				for id := range seen {
					r, err := p.Run(t.Context(), id)
					if err != nil {
						t.Fatal(err)
					}
					seen[id] = r
				}
			}
			for _, d := range disks {
				d.Cut()
			}
			for _, lost := range append(nodes, workers...) {
				lost.kill()
			}
			for i, d := range disks {
				d.Remount()
				nodes[i].start()
			}
			p = connectCluster(t, patience, servers)
			for id, before := range seen {
				accepted += before.Step
				if r, err := p.Run(t.Context(), id); err != nil || r.Step < before.Step ||
					r.Epoch < before.Epoch {
					t.Errorf("run %s was at step %d of epoch %d, and is at %d of %d after the cut (%v)",
						id, before.Step, before.Epoch, r.Step, r.Epoch, err)
				}
			}
			if t.Failed() {
				t.FailNow()
			}
			for _, w := range workers {
				w.start()
			}
			await(t, p, runs*(cut+1))
			for id := range seen {
				checkRun(t, p, id, steps)
			}
			p.Close()
		}
		t.Logf("%d cuts, %d steps accepted before them", cuts, accepted)
	})
}
