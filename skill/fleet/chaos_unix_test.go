//go:build unix

package fleet_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"textskill/skill/fleet"
	"textskill/skill/fleet/jetstream"
	"textskill/testdata/needs"
)

// A process plays a role in a test.
type process struct {
	t    testing.TB
	role role
	cmd  *exec.Cmd
	in   io.Closer // closing it ends the process

	mu    sync.Mutex
	lines []string // printed since the first start
}

// newProcess starts a process until the end of the test.
func newProcess(t testing.TB, r role) *process {
	t.Helper()
	p := &process{t: t, role: r}
	p.start()
	t.Cleanup(p.kill)
	return p
}

func (p *process) start() {
	p.t.Helper()
	data, err := json.Marshal(p.role)
	if err != nil {
		p.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	p.cmd = exec.Command(self)
	p.cmd.Env = append(os.Environ(), roleVariable+"="+string(data))
	out, err := p.cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, lines.Text())
			p.mu.Unlock()
		}
	}()
}

// said returns the printed lines that contain a text.
func (p *process) said(text string) (found []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
	p.in.Close()
}

func (p *process) signal(s syscall.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Error(err)
	}
}

// newCluster starts three nodes in dirs, or in temporary folders. With later, they acknowledge
// data before it is on the disk. It returns the nodes and the URLs for clients.
func newCluster(t testing.TB, later bool, dirs ...string) (nodes []*process, servers []string) {
	t.Helper()
	const n = 3
	ports := needs.Ports(t, 2*n)
	var routes []string
	for _, port := range ports[n:] {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", port))
	}
	for i := range n {
		servers = append(servers, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
	}
	for i := range n {
		if len(dirs) == i {
			dirs = append(dirs, t.TempDir())
		}
		nodes = append(nodes, newProcess(t, role{Node: jetstream.ServerOptions{
			Dir: dirs[i], Name: fmt.Sprintf("n%d", i), Port: ports[i], Cluster: ports[n+i], Routes: routes,
			SyncLater: later,
		}}))
	}
	return nodes, servers
}

// connectCluster retries until a starting cluster accepts the connection.
func connectCluster(t testing.TB, patience time.Duration, servers []string) *jetstream.Plane {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		p, err := jetstream.Connect(t.Context(),
			jetstream.Options{Servers: servers, Patience: patience, Waiting: 1000})
		if err == nil {
			t.Cleanup(p.Close)
			return p
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// long reports whether the long versions of tests run.
func long() bool { return os.Getenv("SKILL_TEST_LONG") != "" }

// TestMachinesLost kills and stops workers and nodes while they carry out runs. Each run ends
// with the right bytes, and its events have one end of each step. No living worker loses a run.
func TestMachinesLost(t *testing.T) {
	kills, runs, steps := 10, 12, 12
	switch {
	case long():
		kills, runs = 200, 200
	case !needs.All():
		t.Skip("it takes a minute: set SKILL_TEST_ALL")
	}
	const patience = 10 * time.Second // a cluster elects a leader in less
	nodes, servers := newCluster(t, true)
	p := connectCluster(t, patience, servers)
	var workers []*process
	for i := range 4 {
		workers = append(workers, newProcess(t, role{
			Name: fmt.Sprintf("w%d", i), Root: t.TempDir(), Servers: servers, Slots: 8, Patience: patience,
			Steps: steps, Thinks: 300 * time.Millisecond,
		}))
	}
	t.Cleanup(func() {
		for _, w := range workers {
			if t.Failed() {
				t.Logf("%s:\n%s", w.role.Name, strings.Join(w.said(""), "\n"))
			}
		}
	})
	stopped := workers[3] // is stopped for longer than the patience, never killed
	dir := newFolder(t)
	for i := range runs {
		submit(t, p, fmt.Sprintf("run%d", i), dir)
	}
	stop := func() {
		stopped.signal(syscall.SIGSTOP)
		time.AfterFunc(patience+3*time.Second, func() { stopped.signal(syscall.SIGCONT) })
	}
	time.Sleep(time.Second)
	stop()
	for k := range kills {
		w := workers[rand.N(3)]
		time.Sleep(rand.N(time.Second))
		w.kill()
		w.start()
		if k%30 == 29 {
			stop()
		}
	}
	await(t, p, runs)
	for i := range runs {
		submit(t, p, fmt.Sprintf("again%d", i), dir)
	}
	for _, n := range nodes { // each in turn
		n.kill()
		time.Sleep(2 * time.Second)
		n.start()
		time.Sleep(2 * time.Second)
	}
	for _, lost := range [][]*process{nodes[:2], nodes} { // two of three, then all
		for _, n := range lost {
			n.kill()
		}
		time.Sleep(2 * time.Second)
		for _, n := range lost {
			n.start()
		}
		time.Sleep(2 * time.Second)
	}
	await(t, p, 2*runs)
	lost := 0
	all, err := p.Runs(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		checkRun(t, p, r.ID, steps)
		lost += r.Epoch - 1
	}
	for _, w := range workers[:3] {
		for _, line := range w.said("another worker has taken") {
			t.Errorf("%s lost a run although it lived: %s", w.role.Name, line)
		}
	}
	t.Logf("%d kills of workers, %d takeovers", kills, lost)
}

// await waits until n runs are over.
func await(t *testing.T, p fleet.Plane, n int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Minute); ; time.Sleep(500 * time.Millisecond) {
		runs, err := p.Runs(t.Context(), "")
		over := slices.DeleteFunc(slices.Clone(runs), func(r fleet.Run) bool { return !r.Status.Over() })
		if len(over) >= n {
			return
		}
		if time.Now().Before(deadline) {
			continue
		}
		for _, r := range runs {
			if !r.Status.Over() {
				queued, err := p.Queued(t.Context(), r)
				t.Errorf("not over: %+v, queued %v %v", r, queued[r.ID], err)
			}
		}
		t.Fatalf("%d of %d runs are over (%v)", len(over), n, err)
	}
}
