//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"textskill/testdata/needs"
)

// TestNoPermission meets files that the user may not read or change. Root may
// everything, so that root's test runs the program as nobody.
func TestNoPermission(t *testing.T) {
	dir := publicDir(t)
	program := publicCopy(t, "skill")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	must(os.WriteFile(in("secret"), []byte("s"), 0o600))
	must(os.WriteFile(in("locked"), []byte("l"), 0o444))
	must(os.Mkdir(in("closed"), 0o700))
	must(os.WriteFile(in("closed/file"), nil, 0o644))
	must(os.Mkdir(in("sealed"), 0o755))
	must(os.WriteFile(in("sealed/file"), []byte("f"), 0o644))
	if os.Getuid() != 0 {
		for name, mode := range map[string]os.FileMode{"secret": 0, "closed": 0, "sealed": 0o555} {
			must(os.Chmod(in(name), mode))
		}
		t.Cleanup(func() { os.Chmod(in("closed"), 0o700); os.Chmod(in("sealed"), 0o700) })
	}
	must(os.Chmod(dir, 0o777))
	ownState(t)
	for _, tt := range []struct{ prompt, want string }{
		{"readFile secret", "skill: EACCES: permission denied, open 'secret'"},
		{"copyFile secret destination: b", "skill: EACCES: permission denied, copyfile 'secret' -> 'b'"},
		{"writeFile locked x", "skill: EACCES: permission denied, open 'locked'"},
		{"appendFile locked x", "skill: EACCES: permission denied, open 'locked'"},
		{"copyFile sealed/file destination: locked",
			"skill: EACCES: permission denied, copyfile 'sealed/file' -> 'locked'"},
		{"listDirectory closed", "skill: EACCES: permission denied, scandir 'closed'"},
		{"readFile closed/file", "skill: EACCES: permission denied, open 'closed/file'"},
		{"writeFile sealed/new x", "skill: EACCES: permission denied, open 'sealed/new'"},
		{"writeFile sealed/new/deep x", "skill: EACCES: permission denied, mkdir 'sealed/new'"},
		{"createDirectory sealed/new", "skill: EACCES: permission denied, mkdir 'sealed/new'"},
		{"deleteFile sealed/file", "skill: EACCES: permission denied, unlink 'sealed/file'"},
		{"moveFile sealed/file destination: b",
			"skill: EACCES: permission denied, rename 'sealed/file' -> 'b'"},
		{"fileExists closed/file", "Checked file existence at closed/file: false."},
	} {
		got, code := asNobody(t, program, dir, tt.prompt)
		got = strings.ReplaceAll(strings.TrimSuffix(got, "\n"), dir+"/", "")
		wantCode := exitFailed
		if !strings.HasPrefix(tt.want, "skill: ") {
			wantCode = exitOK
		}
		if got != tt.want || code != wantCode {
			t.Errorf("%s\n got %s, exit code %d\nwant %s", tt.prompt, got, code, tt.want)
		}
	}
	names, err := filepath.Glob(in("[^.]*"))
	must(err)
	if len(names) != 4 {
		t.Errorf("the folder holds %q", names)
	}
}

// asNobody runs the program as nobody if the test is run by root.
func asNobody(t *testing.T, program, dir string, args ...string) (output string, code int) {
	t.Helper()
	cmd := exec.Command(program, append([]string{"-C", dir}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), noSleep)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ee, ok := errors.AsType[*exec.ExitError](err); ok {
		return out.String(), ee.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), 0
}

// publicDir makes a folder that other users may enter.
func publicDir(t *testing.T) string {
	t.Helper()
	if os.Getuid() == 0 {
		needs.Users(t)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// publicLinks returns a folder that other users may enter, with links to the folders of the
// named programs that PATH has.
func publicLinks(t *testing.T, names ...string) string {
	t.Helper()
	dir := publicDir(t)
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// publicCopy copies a program of PATH to where other users may run it.
func publicCopy(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(publicDir(t), name), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return to.Name()
}

// ownState lets the histories be kept in a folder of the user that asNobody has.
func ownState(t *testing.T) {
	t.Helper()
	state, err := os.MkdirTemp("", "skill-state")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	if os.Getuid() == 0 {
		if err := os.Chown(state, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_STATE_HOME", state)
}
