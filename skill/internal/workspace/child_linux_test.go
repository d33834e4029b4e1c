package workspace

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// children are the functions that this test binary can run as a child process.
var children = map[string]func(t testing.TB, args []string){
	"foreign": func(t testing.TB, args []string) {
		w, err := Open(Options{Dir: args[0], Portable: args[1] == "true"})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		c, err := w.EditFile(bg, filepath.Join(args[0], "f"), WriteOptions{}, swap("old", "old+"))
		must(t, c, err)
	},
	"count":   countChild,
	"dying":   dying,
	"stream":  stream,
	"mixed":   mixed,
	"sharing": sharing,
	"limited": func(t testing.TB, args []string) {
		signal.Ignore(syscall.SIGXFSZ)
		s := &site{t: t, base: args[0], dir: filepath.Join(args[0], "ws"), portable: args[1] == "true"}
		limit := unix.Rlimit{Cur: 300 << 10, Max: 300 << 10}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
		fullDisk(t, s, syscall.EFBIG)
	},
}

// TestChild is the test that a child process runs.
func TestChild(t *testing.T) {
	name, args, ok := strings.Cut(os.Getenv("WORKSPACE_TEST_CHILD"), "\n")
	if !ok {
		return
	}
	children[name](t, strings.Split(args, "\n"))
}

// A child is a process of this test binary.
type child struct {
	cmd *exec.Cmd
	out bytes.Buffer
}

// startChild starts one of the children as a user.
func startChild(t testing.TB, name string, uid int, args ...string) *child {
	t.Helper()
	c := &child{cmd: childCommand(name, uid, args...)}
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

func childCommand(name string, uid int, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run", "^TestChild$", "-test.timeout", "2m")
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "WORKSPACE_TEST_CHILD="+name+"\n"+
		strings.Join(args, "\n"))
	if uid != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid),
			Gid: uint32(uid)}}
	}
	return cmd
}

// wait fails the test unless the child ends well.
func (c *child) wait(t testing.TB) {
	t.Helper()
	if err := c.cmd.Wait(); err != nil || !strings.Contains(c.out.String(), "--- PASS: TestChild") {
		t.Errorf("child: %v\n%s", err, &c.out)
	}
}
