package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/fleet"
	"textskill/skill/fleet/jetstream"
	"textskill/testdata/needs"
)

// roleVariable makes the test binary a worker: its value is the JSON of a role.
const roleVariable = "SKILL_TEST_FLEET_WORKER"

func TestMain(m *testing.M) {
	skill.HelperMain()
	if text := os.Getenv(roleVariable); text != "" {
		var r role
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			panic(err)
		}
		go func() { // standard input ends with the test
			io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
		if err := r.play(); err != nil {
			fmt.Fprintln(os.Stderr, r.Name+":", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(needs.Run(m))
}

// A role is the part of a process: a worker, or a node of the cluster.
type role struct {
	Node jetstream.ServerOptions // Dir is set for a node

	Name, Root string
	Servers    []string
	Slots      int
	Patience   time.Duration
	Steps      int           // of each run
	Thinks     time.Duration // time of the model for a step
}

func (r role) play() error {
	if r.Node.Dir != "" {
		if _, err := jetstream.StartServer(r.Node); err != nil {
			return err
		}
		select {}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	p, err := jetstream.Connect(ctx,
		jetstream.Options{Servers: r.Servers, Name: r.Name, Patience: r.Patience})
	if err != nil {
		return err
	}
	defer p.Close()
	return fleet.Work(ctx, r.config(p, func(line string) { fmt.Fprintln(os.Stderr, r.Name+": "+line) }))
}

// config returns the configuration of a worker whose model appends the numbers of its
// steps to the file log.
func (r role) config(p fleet.Plane, say func(string)) fleet.WorkerConfig {
	return fleet.WorkerConfig{
		Plane: p, Worker: fleet.Worker{Name: r.Name, Slots: r.Slots}, Root: r.Root,
		Patience: r.Patience, Say: say,
		Executor: skill.Config{Unfenced: true},
		Model: func(cfg *agent.Config, _ agent.Project) error {
			cfg.Model = appending{r.Steps, r.Thinks}
			return nil
		},
	}
}

// appending is a model that appends the numbers from 0 to a file, one number in each step.
type appending struct {
	steps  int
	thinks time.Duration
}

func (m appending) Next(ctx context.Context, r agent.Request) (agent.Answer, error) {
	select {
	case <-time.After(m.thinks):
	case <-ctx.Done():
		return agent.Answer{}, ctx.Err()
	}
	if r.Tools == nil {
		return agent.Answer{Text: "all done"}, nil
	}
	n := 0
	for _, message := range r.Messages {
		for _, p := range message.Contents {
			if p.Type == agent.ToolResultPart && p.ToolName == "appendTextFile" {
				n++
			}
		}
	}
	if n == m.steps {
		return agent.Answer{Calls: []agent.Call{{ID: "end", Name: "attemptCompletion", Arguments: "{}"}}}, nil
	}
	args, err := json.Marshal(map[string]string{"path": "log", "text": fmt.Sprintf("%d\n", n)})
	return agent.Answer{Calls: []agent.Call{{ID: fmt.Sprintf("t%d", n), Name: "appendTextFile",
		Arguments: string(args)}}}, err
}

// numbers returns the content of log after the steps.
func numbers(steps int) string {
	var b strings.Builder
	for n := range steps {
		fmt.Fprintln(&b, n)
	}
	return b.String()
}

// newFolder returns a folder with a project that defines the expert e.
func newFolder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"perstack.toml": "[experts.e]\ninstruction = \"Count.\"\n",
		"log":           "",
		"sub/other":     "as it is\n",
	} {
		file := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(file), 0o777)
		if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// newServer starts a server until the end of the test, and returns its URL.
func newServer(t testing.TB) string {
	t.Helper()
	s, err := jetstream.StartServer(jetstream.ServerOptions{Dir: t.TempDir(), SyncLater: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s.URL()
}

// connect returns a plane that is closed at the end of the test.
func connect(t testing.TB, patience time.Duration, servers ...string) *jetstream.Plane {
	t.Helper()
	p, err := jetstream.Connect(t.Context(), jetstream.Options{Servers: servers, Patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// work runs a worker in this process until the end of the test.
func work(t testing.TB, cfg fleet.WorkerConfig) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- fleet.Work(ctx, cfg) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// submit submits a run of the expert e.
func submit(t testing.TB, p fleet.Plane, id, dir string) fleet.Run {
	t.Helper()
	r, err := fleet.Submit(t.Context(), p,
		fleet.Submission{Run: fleet.Run{ID: id, Tenant: "t", Expert: "e", Query: "go"}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// follow returns the stored events of a run up to its end.
func follow(t testing.TB, p fleet.Plane, id string) (events []fleet.Event) {
	t.Helper()
	for e, err := range fleet.Follow(t.Context(), p, id, nil) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// checkRun checks a run that has ended: its file has each number once, in order, and each step
// ended once.
func checkRun(t testing.TB, p fleet.Plane, id string, steps int) {
	t.Helper()
	ends := map[int]int{}
	for _, e := range follow(t, p, id) {
		if e.Kind != fleet.Agent {
			continue
		}
		a, err := fleet.AgentEvent(t.Context(), p, id, e)
		if err != nil {
			t.Fatal(err)
		}
		if a.Checkpoint != nil {
			ends[a.StepNumber]++
		}
	}
	for step := 1; step <= steps+1; step++ {
		if ends[step] != 1 {
			t.Errorf("run %s: step %d has %d ends in the events", id, step, ends[step])
		}
	}
	dir := filepath.Join(t.TempDir(), "fetched")
	r, err := fleet.Fetch(t.Context(), p, id, dir, fleet.Tenant{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != fleet.Completed {
		t.Errorf("run %s is %s: %s", id, r.Status, r.Reason)
	}
	for name, want := range map[string]string{"log": numbers(steps), "sub/other": "as it is\n"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != want {
			t.Errorf("run %s: %s holds %q, want %q (%v)", id, name, data, want, err)
		}
	}
}
