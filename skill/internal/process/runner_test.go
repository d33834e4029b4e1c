package process

import (
	"fmt"
	"os"
	"testing"

	"textskill/skill/internal/workspace"
	"textskill/testdata/needs"
)

func TestMain(m *testing.M) {
	HelperMain()
	if role := os.Getenv("FENCE_PROBE"); role != "" {
		os.Exit(probeMain(role))
	}
	os.Exit(needs.Run(m))
}

// self returns the path of the test binary, which is its own helper.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// newRunner returns a Runner for the workspace dir.
func newRunner(t testing.TB, dir string, cfg Config) *Runner {
	t.Helper()
	x, err := runnerOn(dir, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.ws.Close() })
	t.Cleanup(x.Close)
	return x
}

func runnerOn(dir string, cfg Config) (*Runner, error) {
	ws, err := workspace.Open(workspace.Options{Dir: dir, Allow: cfg.Allow})
	if err != nil {
		return nil, err
	}
	return New(cfg, ws)
}

// fenced returns a Runner whose commands run inside a complete fence.
func fenced(t testing.TB, dir string, allow ...string) *Runner {
	t.Helper()
	x := newRunner(t, dir, Config{Helper: self(t), Allow: allow})
	held := x.Fence()
	needs.That(t, held.ABI >= abiSignals, fmt.Sprintf("Landlock ABI %d (here the fence is %s)", abiSignals,
		held), "use a later Linux")
	return x
}

func mustExec(t testing.TB, x *Runner, c Command) Executed {
	t.Helper()
	needs.Shell(t)
	done, err := x.Exec(t.Context(), "", c)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// need needs programs where x runs commands.
func need(t testing.TB, x *Runner, names ...string) {
	t.Helper()
	needs.Shell(t)
	needs.ProgramIn(t, func(name string, args ...string) string {
		done, err := x.Exec(t.Context(), "", Command{Name: name, Args: args})
		if err != nil || done.Failed() {
			return ""
		}
		return string(done.Stdout)
	}, names...)
}

func sh(script string, args ...string) Command {
	return Command{Name: "sh", Args: append([]string{"-c", script, "sh"}, args...)}
}
