package process

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
)

// A command that misses what the fence took gets a line that names the thing, and what gives it, whether its
// output is captured or goes to a pipe or a file of a person. Other commands get none.
func TestHints(t *testing.T) {
	home, beside := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	for name, value := range map[string]string{"STRIPE_SECRET_KEY": "sk_live_aaaabbbbccccdddd", "DISPLAY": ":77", "WAYLAND_DISPLAY": "wayland-7",
		"SSH_AUTH_SOCK": "/run/none"} {
		t.Setenv(name, value)
	}
	x, _ := viewedRunner(t, Config{})
	ws := x.ws.Dir()
	for _, dir := range []string{home + "/.subx", home + "/.ssh", beside + "/.git", ws + "/.git/objects", ws + "/.git/refs"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{home + "/.npmrc", home + "/.hgrc", beside + "/f", home + "/a b", ws + "/.git/HEAD", ws + "/.git/config"} {
		if err := os.WriteFile(file, []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	socket, err := net.Listen("unix", beside+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	number := port.Addr().(*net.TCPAddr).Port
	for _, tt := range []struct{ script, want string }{
		{"cat ~/.npmrc", "the sandbox hides ~/.npmrc: --fence-read ~/.npmrc shows it"},
		{"test -f ~/.npmrc", "the sandbox hides ~/.npmrc: --fence-read ~/.npmrc shows it"},
		{"cat ~/.npmrc; true", "the sandbox hides ~/.npmrc: --fence-read ~/.npmrc shows it"},
		{"cat " + beside + "/f", "the sandbox hides " + beside + "/f: --fence-read " + beside + "/f shows it"},
		{"echo Error: ENOENT, open \\'" + beside + "/f\\' >&2; exit 1", "the sandbox hides " + beside + "/f: --fence-read " + beside + "/f shows it"},
		{"touch " + beside + "/new", "commands do not write " + beside + "/new: --fence-write " + beside + " lets them"},
		{"touch ~/new", "commands do not write your home folder: HOME=$TMPDIR gives them one of their own"},
		{"touch ~/.subx/new", "commands do not write ~/.subx/new: --fence-write ~/.subx lets them"},
		{"echo cannot connect to unix://" + beside + "/s >&2; exit 1", "commands connect to no socket such as " + beside + "/s: --fence-read " + beside + "/s lets them"},
		{"echo Error: STRIPE_SECRET_KEY is not set >&2; exit 1", "the command did not get STRIPE_SECRET_KEY, which may be credentials: --pass-env STRIPE_SECRET_KEY gives one"},
		{"echo 401 Unauthorized >&2; exit 1", "the command did not get STRIPE_SECRET_KEY, which may be credentials: --pass-env STRIPE_SECRET_KEY gives one"},
		{"echo xterm: cannot open display >&2; exit 1", "the command did not get the variable DISPLAY: --pass-env DISPLAY gives it\n" +
			"the command did not get the variable WAYLAND_DISPLAY: --pass-env WAYLAND_DISPLAY gives it"},
		{"echo 'git@x: Permission denied (publickey).' >&2; exit 128", "the command did not get the variable SSH_AUTH_SOCK: --pass-env SSH_AUTH_SOCK gives it"},
		{"echo error: gpg failed to sign the data >&2; exit 128", "the sandbox has no keys for signing: git -c commit.gpgsign=false commits without a signature, and --fence off with it"},
		{fmt.Sprintf("echo 'connect ECONNREFUSED 127.0.0.1:%d' >&2; exit 1", number), fmt.Sprintf("the localhost of commands is their own: --allow-local %d opens port %[1]d of this machine", number)},
		{"hg() { :; }; hg commit", "hg did not find ~/.hgrc, which the sandbox hides: --fence-read ~/.hgrc shows it"},
		{"npm() { false; }; npm whoami", "npm did not find ~/.npmrc, which the sandbox hides: --fence-read ~/.npmrc shows it"},
		{"echo x >> .git/config", guardNote},
		{"echo error: could not lock config file ~/.gitconfig: Read-only file system >&2; exit 1",
			"commands do not write your home folder: HOME=$TMPDIR gives them one of their own"},
		{"echo error: no wayland compositor >&2; exit 1", "the command did not get the variable WAYLAND_DISPLAY: --pass-env WAYLAND_DISPLAY gives it"},
		{"npm() { :; }; npm run build", ""},
		{"false", ""}, {"cat nope", ""}, {"ls /nonexistent/x", ""}, {"cat /usr/nope", ""}, {"echo $DISPLAY", ""},
		{"echo ~/.npmrc", ""}, {"echo 'connect ECONNREFUSED 127.0.0.1:1' >&2; exit 1", ""}, {"echo " + beside + "/f", ""},
		{": write /bin/sh; exit 1", ""}, {"echo /dev/pts/ptmx and /dev/ptmx; exit 1", ""},
		{"echo PATH is wrong >&2; exit 1", ""}, {"ls /tmp/x /dev/shm/x; cat /etc/passwd/x", ""},
		{"mkdir -p a; echo cannot open a/../../../f >&2; exit 1", ""},
	} {
		want := slices.DeleteFunc(strings.Split(tt.want, "\n"), func(s string) bool { return s == "" })
		got := mustExec(t, x, sh(tt.script))
		if !slices.Equal(got.Hints, want) {
			t.Errorf("%s: %q, want %q\n%s%s", tt.script, got.Hints, want, got.Stdout, got.Stderr)
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		attached := sh(tt.script)
		attached.Streams = []*os.File{nil, w, w}
		if attached.Streams[0], err = os.Open(os.DevNull); err != nil {
			t.Fatal(err)
		}
		again := mustExec(t, x, attached)
		attached.Streams[0].Close()
		w.Close()
		text, err := io.ReadAll(r)
		r.Close()
		if !slices.Equal(again.Hints, want) || err != nil || len(text) != len(got.Stdout)+len(got.Stderr) {
			t.Errorf("%s, to a pipe: %q, want %q\n%s, %v", tt.script, again.Hints, want, text, err)
		}
	}
	many := mustExec(t, x, sh("cat ~/.npmrc ~/.hgrc "+beside+"/f "+beside+"/s ~/.ssh; false"))
	if len(many.Hints) != maxHints {
		t.Errorf("%q", many.Hints)
	}
}

// The errors of a command reach their file in the order in which it wrote them, and are heard there, too. A
// command whose reader is gone meets that.
func TestOverheard(t *testing.T) {
	x, _ := viewedRunner(t, Config{})
	file, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	file.WriteString("before\n")
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	c := sh("echo out; echo err >&2; exit 3")
	c.Streams = []*os.File{null, file, file}
	done := mustExec(t, x, c)
	text, err := os.ReadFile(file.Name())
	if string(text) != "before\nout\nerr\n" || err != nil || string(done.Stderr) != "out\nerr\n" || done.ExitCode != 3 {
		t.Errorf("%q, %q, %v", text, done.Stderr, err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c = sh("head -c 1000000 /dev/zero >&2 || exit 5; while echo x; do :; done")
	c.Streams = []*os.File{null, w, w}
	go func() {
		r.Read(make([]byte, 10))
		r.Close()
	}()
	if done = mustExec(t, x, c); !done.Failed() || bytes.Contains(done.Stderr, []byte(strings.Repeat("\x00", 900000))) {
		t.Errorf("%s, %d bytes", done.Message(), len(done.Stderr))
	}
	w.Close()
}
