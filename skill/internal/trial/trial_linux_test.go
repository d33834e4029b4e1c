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
	if os.Args[0] == "keep" {
		keepAndDie(os.Args[1:])
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

// treeOf describes all files of a folder.
func treeOf(t *testing.T, folder string) (text string) {
	t.Helper()
	first := map[uint64]string{}
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
		if st := info.Sys().(*syscall.Stat_t); info.Mode().IsRegular() && st.Nlink > 1 {
			if first[st.Ino] == "" {
				first[st.Ino] = strings.TrimPrefix(path, folder)
			}
			content += " is a name of " + first[st.Ino]
		}
		text += fmt.Sprintf("%s %v %q\n", strings.TrimPrefix(path, folder), info.Mode(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// keepAndDie keeps a trial, and ends at once at one of its steps.
func keepAndDie(args []string) {
	left, _ := strconv.Atoi(args[3])
	tr, err := Open(args[0], args[1])
	if err == nil {
		tr.crash = func() {
			if left--; left == 0 {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
		err = errors.Join(tr.Check(args[2], false), tr.Make(args[2]), tr.Drop())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// keepKilled keeps a trial in a process that is killed at a step. It reports whether it was.
func keepKilled(t *testing.T, tr *Trial, folder string, step int) bool {
	t.Helper()
	out, err := (&exec.Cmd{Path: "/proc/self/exe",
		Args: []string{"keep", filepath.Dir(tr.dir), tr.ID, folder, strconv.Itoa(step)}}).CombinedOutput()
	died, ok := errors.AsType[*exec.ExitError](err)
	if err != nil && (!ok || died.ExitCode() != -1) {
		t.Fatalf("keep, killed at step %d: %v %s\nof\n%s\nhere\n%s", step, err, out, tr.Command, treeOf(t, folder))
	}
	return err != nil
}

func shell(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir = dir
	cmd.Run() // parts of a script may fail
}

// randomScript returns commands that change a few names in all ways. Only with links it makes hard links.
func randomScript(r *rand.Rand, steps int, links bool) string {
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
		func() string { // a copy of a folder into itself depends on the order of its names
			return fmt.Sprintf("T=$(mktemp -d); cp -a %s $T/x && cp -a $T/x %s; rm -rf $T", name(), name())
		},
		func() string { return "ln -s " + name() + " " + name() },
		func() string {
			return fmt.Sprintf("chmod %o %s", []int{0o700, 0o755, 0o711, 0o744, 0o750, 0o500, 0o300, 0}[r.IntN(8)], name())
		},
		func() string { p := name(); return "rm -rf " + p + "; mkdir " + p + "; echo new > " + p + "/" + name() },
		func() string { return fmt.Sprintf("mkfifo p%d", r.IntN(3)) }, // a shell would wait at others
		func() string { return "touch " + name() },
	}
	if links {
		kinds = append(kinds, func() string { return "ln " + name() + " " + name() },
			func() string { return "ln -f " + name() + " " + name() })
	}
	lines := make([]string, steps)
	for i := range lines {
		lines[i] = kinds[r.IntN(len(kinds))]()
	}
	return strings.Join(lines, "\n") + "\ntrue"
}

// A trial that is kept leaves what the script leaves in a copy, and before that nothing is changed. Processes that
// keep it are killed at any step, until one is not.
func TestTrialEqualsRun(t *testing.T) {
	needs.Shell(t)
	kills := 0
	for seed := range 1000 / needs.Step(10) {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		folder, copied, trials := t.TempDir(), t.TempDir(), t.TempDir()
		t.Cleanup(func() { removeAll(folder); removeAll(copied) })
		first, script := randomScript(r, 12, false), randomScript(r, 1+r.IntN(12), true)
		shell(t, folder, first)
		shell(t, copied, first)
		before := treeOf(t, folder)
		if other := treeOf(t, copied); before != other {
			t.Fatalf("seed %d: the folders differ at first:\n%s\nand\n%s\nafter\n%s", seed, before, other, first)
		}
		tr := try(t, trials, folder, script)
		if got := treeOf(t, folder); got != before {
			t.Fatalf("seed %d: the trial changed the folder:\n%s\nwas:\n%s", seed, got, before)
		}
		shell(t, copied, script)
		for keepKilled(t, tr, folder, 1+r.IntN(2*len(tr.Changes)+3)) {
			kills++
			if _, err := Open(trials, tr.ID); err != nil { // it was killed as it dropped the trial
				break
			}
		}
		if got, want := treeOf(t, folder), treeOf(t, copied); got != want {
			t.Fatalf("seed %d: after\n%s\nthe trial gives\n%s\nand the script\n%s\non\n%s", seed, script, got, want, before)
		}
		if _, err := New(trials, ""); err != nil {
			t.Error(err)
		}
		if _, left := os.Lstat(tr.dir); left == nil {
			t.Fatalf("seed %d: %s is left", seed, tr.dir)
		}
	}
	t.Logf("%d scripts, %d kills", 1000/needs.Step(10), kills)
}

// A change of others after a trial began is a conflict, and a change beside it is not.
func TestConflicts(t *testing.T) {
	needs.Shell(t)
	const first = "mkdir d e; echo 1 > d/a; echo 1 > d/b; echo 1 > e/c; echo 1 > f; seq 9 > lines; ln -s d link; ln -s loop loop"
	for _, tt := range []struct{ script, other, want string }{
		{"echo 2 > f", "echo 3 > e/c", ""},
		{"echo 2 > f", "echo 3 > f", "f"},
		{"echo 2 > f", "rm f", "f"},
		{"echo 2 > f", "touch f", ""}, // the same text
		{"rm f", "touch f", "f"},
		{"sed -i s/2/two/ lines", "sed -i s/8/eight/ lines", ""},
		{"sed -i s/2/two/ lines", "sed -i s/2/second/ lines", "lines"},
		{"sed -i s/2/two/ lines; chmod 700 lines", "sed -i s/8/eight/ lines", ""},
		{"sed -i s/2/two/ lines", "chmod 700 lines", "lines"},
		{"printf 'a\\0b' > f", "echo 3 > f", "f"},
		{"rm -r d", "echo 3 > d/new", "d/new"},
		{"rm -r d; mkdir d; echo 2 > d/b", "echo 3 > d/new", "d/new"},
		{"echo 2 > new", "echo 3 > new", "new"},
		{"echo 2 > d/new", "echo 3 > d/other", ""},
		{"chmod 700 d", "chmod 711 d", "d"},
		{"echo 2 > d/new", "chmod 711 d", ""},
		{"touch f", "echo 3 > f", ""},
		{"rm link; mkdir link; echo 2 > link/a", "echo 3 > d/a", ""},
		{"rm loop; mkdir loop; echo 2 > loop/a", "rm d/a", ""},
		{"mv d x", "echo 3 > d/a", "d/a"},
		{"rm f", "rm f", "f"},
	} {
		folder := t.TempDir()
		shell(t, folder, first)
		tr := try(t, t.TempDir(), folder, tt.script)
		shell(t, folder, tt.other)
		got := ""
		if err := tr.Check(folder, false); err != nil {
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

// Nothing is made through a link that stands in place of a folder of the trial, also with force: not inside, and
// not outside. The next trial puts a folder of its own in place of a link.
func TestNothingIsKeptThroughALink(t *testing.T) {
	needs.Shell(t)
	for _, script := range []string{"echo 2 > d/f", "echo 2 > d/new", "mkfifo d/p", "mkdir d/e", "ln -s x d/l", "rm d/f",
		"chmod 600 d/f", "rm -r d; mkdir d; echo 3 > d/g", "mkdir -p d/e/g; echo 4 > d/e/g/f", "mv d/f f"} {
		for _, to := range []string{"../out", "other"} {
			base := t.TempDir()
			folder := base + "/ws"
			shell(t, base, "mkdir -p ws/d ws/other out; echo 1 > ws/d/f; echo 1 > ws/other/f; echo 1 > out/f")
			tr := try(t, t.TempDir(), folder, script)
			shell(t, folder, "mv d d0; ln -s "+to+" d")
			var conflict *ConflictError
			if err := tr.Check(folder, true); !errors.As(err, &conflict) || conflict.Link != "d" {
				t.Errorf("%s: %v", script, err)
			}
			if err := tr.Make(folder); to == "../out" && err == nil { // a link that comes after the check
				t.Errorf("%s was made", script)
			}
			if after := treeOf(t, base+"/out"); after != "/f -rw-r--r-- \"1\\n\"\n" {
				t.Errorf("%s: outside is %s", script, after)
			}
		}
	}
	folder := t.TempDir()
	shell(t, folder, "mkdir other; ln -s other d")
	tr := try(t, t.TempDir(), folder, "rm d; mkdir d; echo 1 > d/f")
	if err := errors.Join(tr.Check(folder, false), tr.Make(folder)); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(folder + "/d/f"); string(text) != "1\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// A text that others changed meanwhile is merged. In a conflict nothing is made, and with force only the lines
// in conflict are replaced.
func TestMerge(t *testing.T) {
	needs.Shell(t)
	for _, tt := range []struct {
		other, want string
		force       bool
	}{
		{"sed -i s/8/eight/ f", "1\ntwo\n3\n4\n5\n6\n7\neight\n9\n", false},
		{"sed -i 's/8/eight/; s/2/second/' f", "1\ntwo\n3\n4\n5\n6\n7\neight\n9\n", true},
		{"rm f", "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n", true},
	} {
		folder := t.TempDir()
		shell(t, folder, "seq 9 > f; seq 3 > long; chmod 600 f")
		tr := try(t, t.TempDir(), folder, "sed -i s/2/two/ f; chmod 755 f")
		shell(t, folder, tt.other)
		if err := errors.Join(tr.Check(folder, tt.force), tr.Make(folder)); err != nil {
			t.Fatal(tt.other, err)
		}
		got, err := os.ReadFile(filepath.Join(folder, "f"))
		info, serr := os.Stat(filepath.Join(folder, "f"))
		if err != nil || serr != nil || string(got) != tt.want || info.Mode() != 0o755 {
			t.Errorf("others %q: %q, mode %v, %v, want %q", tt.other, got, info.Mode(), err, tt.want)
		}
		if left, err := filepath.Glob(filepath.Join(folder, ".skill*")); len(left) > 0 {
			t.Error("left:", left, err)
		}
	}
}

// The trial of a killed process ends when the next begins, and one that runs does not.
func TestKilledTrialEnds(t *testing.T) {
	needs.Shell(t)
	trials, folder := t.TempDir(), t.TempDir()
	runs, err := New(trials, "true")
	if err != nil {
		t.Fatal(err)
	}
	killed, err := New(trials, "true")
	if err != nil {
		t.Fatal(err)
	}
	shell(t, killed.dir, "mkdir -p upper/d/e; chmod 0 upper/d/e upper/d; mkdir ../t99x")
	killed.lock.Close() // as the system does at its end
	kept := try(t, trials, folder, "echo 1 > a")
	for dir, want := range map[string]bool{
		runs.dir: true, killed.dir: false, kept.dir: true, filepath.Join(trials, "t99x"): true,
	} {
		if _, err := os.Lstat(dir); (err == nil) != want {
			t.Errorf("%s: %v, want it to be there: %v", dir, err, want)
		}
	}
	try(t, trials, folder, "echo 1 > a")
	if list, err := List(trials); err != nil || len(list) != 2 {
		t.Errorf("%d trials, %v", len(list), err)
	}
}

// Where the file system of the trials holds no upper layer, another folder does, which ends with the trial.
func TestLayersElsewhere(t *testing.T) {
	needs.Shell(t)
	mounted, folder := t.TempDir(), t.TempDir()
	at := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", t.TempDir(), t.TempDir(), t.TempDir())
	needs.Mount(t, "none", mounted, "overlay", 0, at)
	tr := try(t, mounted, folder, "echo 1 > a")
	if tr.Layers == tr.dir {
		t.Fatal("an overlay holds the upper layer of another")
	}
	again, err := Open(mounted, tr.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(again.Check(folder, false), again.Make(folder), again.Drop()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(folder, "a"))
	if _, left := os.Lstat(tr.Layers); string(got) != "1\n" || !os.IsNotExist(left) {
		t.Errorf("%q, %v; %s: %v", got, err, tr.Layers, left)
	}
}

// A name that is not UTF-8 and a file that the program shut are kept, also if the first process that reads them
// is killed.
func TestShutFiles(t *testing.T) {
	needs.Shell(t)
	trials, folder := t.TempDir(), t.TempDir()
	t.Cleanup(func() { removeAll(folder) })
	shell(t, folder, "mkdir -m 500 d; seq 3 > e")
	tr := try(t, trials, folder, "chmod 700 d; printf x > d/caf\xe9; mkdir d/new; echo y > d/new/y; chmod 0 d/new/y d/new; chmod 500 d; chmod 0 e")
	again, err := Open(trials, tr.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(again.Check(folder, false), again.Make(folder)); err != nil {
		t.Fatal(err)
	}
	shell(t, folder, "chmod 700 d/new; cat d/new/y > y; chmod 0 d/new")
	modes := map[string]fs.FileMode{"d": fs.ModeDir | 0o500, "e": 0, "d/caf\xe9": 0o644, "d/new": fs.ModeDir}
	for name, want := range modes {
		if info, err := os.Lstat(filepath.Join(folder, name)); err != nil || info.Mode() != want {
			t.Errorf("%q: %v, %v, want mode %v", name, info, err, want)
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
