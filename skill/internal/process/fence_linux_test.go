package process

import (
	"os"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// A command cannot widen the fence of the next command by replacing paths with links.
func TestFenceStays(t *testing.T) {
	out := t.TempDir()
	if err := os.WriteFile(out+"/secret", []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	home := parent + "/ws"
	if err := os.MkdirAll(home+"/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("PATH", home+"/bin:"+os.Getenv("PATH"))
	x := fenced(t, home, home+"/bin")
	mustExec(t, x, sh("ln -s /etc/shadow .gitconfig; ln -s $1 go; mkdir .cache; ln -s $1 .cache/go-build; rmdir bin; ln -s $1 bin", out))
	for range 2 {
		got := mustExec(t, x, sh("cat .gitconfig; cat go/secret; cat bin/secret; echo x > .cache/go-build/new; echo x > bin/new"))
		denied := strings.Count(string(got.Stderr), "ermission denied")
		// of dash
		hidden := strings.Count(string(got.Stderr), "No such file") +
			strings.Count(string(got.Stderr), "Directory nonexistent")
		if denied+hidden != 5 || hidden > 0 && !got.Fence.Sockets || len(got.Stdout) > 0 {
			t.Errorf("%s%s", got.Stdout, got.Stderr)
		}
		x = fenced(t, home)
	}
	y := fenced(t, home)
	y.fenceRules() // before the directory is replaced
	if err := os.Rename(home, parent+"/moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, home); err != nil {
		t.Fatal(err)
	}
	f, _, err := y.fenceFor(0, y.tempDir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := y.Run(t.Context(), Command{Name: "cat"},
		Spec{Path: "/bin/cat", Args: []string{"cat", out + "/secret"}, Dir: "/", fence: f})
	if err != nil || !got.Failed() || len(got.Stdout) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A command may read the toolchains in PATH, but not the directories around them.
func TestFencePATH(t *testing.T) {
	top := t.TempDir()
	home, tool, dir := top+"/home", top+"/tool", top+"/project/ws"
	for _, d := range []string{home + "/bin", home + "/.local/bin", home + "/.pyenv/shims", tool + "/bin",
		tool + "/lib", dir, top + "/project/bin",
		home + "/venv/bin", home + "/venv/pyvenv.cfg", home + "/Dropbox/bin", home + "/Dropbox/lib",
		home + "/dots/bin", home + "/dots/.git", top + "/other/bin"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("GOPATH", "")
	t.Setenv("PATH", strings.Join([]string{home + "/bin", home + "/.local/bin", home + "/.pyenv/shims",
		home + "/venv/bin", home + "/Dropbox/bin", home + "/dots/bin", top + "/other/bin", tool + "/bin",
		top + "/project/bin", "/tmp/bin", "relative/bin", "/usr/bin", "/bin"}, ":"))
	x := fenced(t, dir)
	var got []string
	for _, path := range x.pathReads(home) {
		got = append(got, strings.Replace(path, top, "", 1))
	}
	want := "/home/bin /home/.local/bin /home/.pyenv/shims /home/venv/bin /home/venv /home/Dropbox/bin /home/dots/bin /other/bin /tool/bin /tool /project/bin /tmp/bin /usr/bin /bin"
	if got := strings.Join(got, " "); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	for path, denied := range map[string]bool{home: true, home + "/.local": true, tool + "/lib": false,
		top + "/project": true, home + "/.pyenv": false, home + "/Dropbox": true, home + "/dots": true,
		top + "/other": true, home + "/venv": false} {
		if err := os.WriteFile(path+"/private", []byte("private"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := mustExec(t, x, sh("ls $1; cat $1/private", path)); strings.Contains(string(got.Stdout), "private") == denied {
			t.Errorf("%s: %d, %s%s", path, got.ExitCode, got.Stdout, got.Stderr)
		}
	}
}

// A command makes no subvolume: in a folder outside that it may read, Landlock alone would not keep it from
// that. Without the filter, file systems that have none answer ENOTTY.
func TestSubvolumesAreDenied(t *testing.T) {
	needs.Program(t, "python3")
	x := fenced(t, t.TempDir())
	got := mustExec(t, x, Command{Name: "python3", Args: []string{"-c", `import errno, fcntl, os
for request in 0x50009401, 0x5000940e, 0x5000940f, 0x50009417, 0x50009418, 0x5000943f, 0x4010bc10, 0x4010bc11:
    try: fcntl.ioctl(os.open(".", 0), request, bytes(1000))
    except OSError as e: print(errno.errorcode[e.errno])`}})
	if want := strings.Repeat("EPERM\n", 8); string(got.Stdout) != want {
		t.Errorf("%s%s", got.Stdout, got.Stderr)
	}
}
