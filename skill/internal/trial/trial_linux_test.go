package trial

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"textskill/skill/internal/process"
	"textskill/testdata/needs"
)

// TestMain has the test binary be a shell in a trial.
func TestMain(m *testing.M) {
	process.HelperMain()
	if os.Args[0] == "sh" {
		syscall.Exec("/bin/sh", os.Args, os.Environ())
	}
	os.Exit(needs.Run(m))
}

// try runs a script in a trial of a folder. It skips the test where there can be none.
func try(t *testing.T, trials, folder, script string) *Trial {
	t.Helper()
	tr, err := New(trials, script)
	if err == nil {
		err = tr.Run("/proc/self/exe", folder, []string{"sh", "-c", script}, []*os.File{nil, nil, nil})
	}
	if err != nil && strings.Contains(err.Error(), "no view") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// tree describes all files of a folder.
func tree(t *testing.T, folder string) (text string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if path == folder {
			return err
		}
		if errors.Is(err, fs.ErrPermission) {
			text += strings.TrimPrefix(path, folder) + " cannot be read\n"
			return nil
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode().IsRegular():
			data, rerr := os.ReadFile(path)
			if content, err = string(data), rerr; errors.Is(err, fs.ErrPermission) {
				content, err = "cannot be read", nil
			}
		case info.Mode()&fs.ModeSymlink != 0:
			content, err = os.Readlink(path)
		}
		text += fmt.Sprintf("%s %v %q\n", strings.TrimPrefix(path, folder), info.Mode(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func shell(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir = dir
	cmd.Run() // parts of a script may fail
}

// randomScript returns commands that change a few names in all ways.
func randomScript(r *rand.Rand, steps int) string {
	name := func() string {
		parts := make([]string, 1+r.IntN(3))
		for i := range parts {
			parts[i] = string("abc"[r.IntN(3)])
		}
		return strings.Join(parts, "/")
	}
	kinds := []func() string{
		func() string { return "mkdir -p " + name() },
		func() string { return fmt.Sprintf("echo %d > %s", r.IntN(9), name()) },
		func() string { return fmt.Sprintf("echo %d >> %s", r.IntN(9), name()) },
		func() string { return "rm -rf " + name() },
		func() string { return "rm -f " + name() },
		func() string { return "rmdir " + name() },
		func() string { return "mv " + name() + " " + name() },
		func() string { return "mv -T " + name() + " " + name() },
		func() string { return "cp -a " + name() + " " + name() },
		func() string { return "ln -s " + name() + " " + name() },
		func() string {
			return fmt.Sprintf("chmod %o %s", []int{0o700, 0o755, 0o711, 0o744, 0o750, 0o500, 0o300, 0}[r.IntN(8)], name())
		},
		func() string { p := name(); return "rm -rf " + p + "; mkdir " + p + "; echo new > " + p + "/" + name() },
		func() string { return fmt.Sprintf("mkfifo p%d", r.IntN(3)) }, // a shell would wait at others
		func() string { return "touch " + name() },
	}
	lines := make([]string, steps)
	for i := range lines {
		lines[i] = kinds[r.IntN(len(kinds))]()
	}
	return strings.Join(lines, "\n") + "\ntrue"
}

// A trial that is kept leaves what the script leaves in a copy, and before that nothing is changed.
// $SKILL_TRIALS is the number of scripts.
func TestTrialEqualsRun(t *testing.T) {
	needs.Shell(t)
	count, err := strconv.Atoi(os.Getenv("SKILL_TRIALS"))
	if err != nil {
		count = 100
	}
	for seed := range count {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		folder, copied, trials := t.TempDir(), t.TempDir(), t.TempDir()
		t.Cleanup(func() { removeAll(folder); removeAll(copied) })
		first, script := randomScript(r, 12), randomScript(r, 1+r.IntN(12))
		shell(t, folder, first)
		shell(t, copied, first)
		before := tree(t, folder)
		if other := tree(t, copied); before != other {
			t.Fatalf("seed %d: the folders differ at first:\n%s\nand\n%s\nafter\n%s", seed, before, other, first)
		}
		tr := try(t, trials, folder, script)
		if got := tree(t, folder); got != before {
			t.Fatalf("seed %d: the trial changed the folder:\n%s\nwas:\n%s", seed, got, before)
		}
		shell(t, copied, script)
		if err := errors.Join(tr.Check(folder), tr.Make(folder)); err != nil {
			t.Fatalf("seed %d: %v\n%s\n-- script --\n%s", seed, err, before, script)
		}
		if got, want := tree(t, folder), tree(t, copied); got != want {
			t.Fatalf("seed %d: after\n%s\nthe trial gives\n%s\nand the script\n%s\non\n%s", seed, script, got, want, before)
		}
		tr.Drop()
	}
}

// A change of others after a trial began is a conflict, and a change beside it is not.
func TestConflicts(t *testing.T) {
	needs.Shell(t)
	const first = "mkdir d e; echo 1 > d/a; echo 1 > d/b; echo 1 > e/c; echo 1 > f"
	for _, tt := range []struct{ script, other, want string }{
		{"echo 2 > f", "echo 3 > e/c", ""},
		{"echo 2 > f", "echo 3 > f", "f"},
		{"echo 2 > f", "rm f", "f"},
		{"echo 2 > f", "touch f", "f"},
		{"rm -r d", "echo 3 > d/new", "d/new"},
		{"rm -r d; mkdir d; echo 2 > d/b", "echo 3 > d/new", "d/new"},
		{"echo 2 > new", "echo 3 > new", "new"},
		{"echo 2 > d/new", "echo 3 > d/other", ""},
		{"chmod 700 d", "chmod 711 d", "d"},
		{"mv d x", "echo 3 > d/a", "d/a"},
		{"rm f", "rm f", "f"},
	} {
		folder := t.TempDir()
		shell(t, folder, first)
		tr := try(t, t.TempDir(), folder, tt.script)
		shell(t, folder, tt.other)
		got := ""
		if err := tr.Check(folder); err != nil {
			conflict, ok := errors.AsType[*ConflictError](err)
			if !ok {
				t.Fatal(err)
			}
			got = strings.Join(conflict.Paths, " ")
		}
		if got != tt.want {
			t.Errorf("trial %q, others %q: conflicts in %q, want %q", tt.script, tt.other, got, tt.want)
		}
	}
}

// No ID comes twice, and trials that are old end.
func TestTrialsEnd(t *testing.T) {
	needs.Shell(t)
	trials, folder := t.TempDir(), t.TempDir()
	first := try(t, trials, folder, "echo 1 > a; exit 7")
	if first.ID != "t1" || first.Exit != 7 || len(first.Changes) != 1 {
		t.Errorf("%+v", first)
	}
	if err := first.Drop(); err != nil {
		t.Error(err)
	}
	second := try(t, trials, folder, "echo 1 > a; mkdir -m 500 b")
	second.Began = second.Began.Add(-maxAge)
	if err := second.save(); err != nil || second.ID != "t2" {
		t.Error(second.ID, err)
	}
	try(t, trials, folder, "echo 1 > a")
	list, err := List(trials)
	if err != nil || len(list) != 1 || list[0].ID != "t3" {
		t.Errorf("%d trials, %v", len(list), err)
	}
}
