package process

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"textskill/skill/internal/history"
	"textskill/testdata/needs"
)

// A command that writes a server's record and lends a network of its own is not followed there:
// not this machine's network, and none that it may configure.
func TestForgedNetworks(t *testing.T) {
	needs.Shell(t)
	x := fenced(t, t.TempDir())
	own := x.network()
	needs.That(t, own != nil, "network namespaces", "let users make them")
	files := map[string][]string{"this machine's": {"/proc/self/ns/mnt", "/proc/self/ns/net"},
		"one of two": {"/proc/self/ns/net"}, "no network": {"/proc/self/ns/mnt"}, "nothing": {}}
	if os.Geteuid() != 0 {
		files["this machine's"] = []string{"/proc/self/ns/mnt", "/proc/self/ns/user", "/proc/self/ns/net"}
	}
	child := exec.Command("sleep", "1000")
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWNET}
	if err := child.Start(); err == nil {
		defer func() { child.Process.Kill(); child.Wait() }()
		of := "/proc/" + strconv.Itoa(child.Process.Pid) + "/ns/"
		files["a command's"] = []string{of + "mnt", of + "net"}
		if os.Geteuid() == 0 { // a command of another user has no namespace right below ours
			files["a command's with its users"] = []string{of + "mnt", of + "user", of + "net"}
		}
	}
	for name, paths := range files {
		var fds []int
		for _, path := range paths {
			fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			fds = append(fds, fd)
		}
		if n, err := networkOf(fds); err == nil {
			t.Errorf("%s is taken: %+v", name, n)
		}
	}
	dir, err := x.ws.State(history.Servers)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	share, err := listenForServer(dir, "abcdef")
	if err != nil {
		t.Fatal(err)
	}
	asked := lendOnce(t, share)
	helper := startFakeHelper(t)
	begin, _ := startTime(helper)
	forged, _ := json.Marshal(serverRecord{ID: "abcdef", Net: 1, Reach: x.reach().String(),
		Started: time.Now(), Helper: processID{helper, begin}})
	if err := dir.WriteFile("abcdef"+recordSuffix, forged, 0o600); err != nil {
		t.Fatal(err)
	}
	got := mustExec(t, x, sh("readlink /proc/self/ns/net"))
	number, err := namespace(own.net, unix.CLONE_NEWNET)
	if err != nil {
		t.Fatal(err)
	}
	if want := "net:[" + strconv.Itoa(int(number)) + "]\n"; string(got.Stdout) != want {
		t.Errorf("the network is %s, want %s", got.Stdout, want)
	}
	select {
	case <-asked:
	case <-time.After(10 * time.Second):
		t.Error("the forged server was not asked")
	}
}

// lendOnce lends the network of this process to the first that connects.
func lendOnce(t *testing.T, share *os.File) <-chan bool {
	l, err := net.FileListener(share)
	share.Close()
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan bool, 1)
	go func() {
		defer l.Close()
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		fd, err := unix.Open("/proc/self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return
		}
		defer unix.Close(fd)
		raw, _ := c.(*net.UnixConn).SyscallConn()
		raw.Control(func(to uintptr) { sendDescriptors(int(to), []int{fd}, nil) })
		asked <- true
	}()
	return asked
}

// startFakeHelper starts a process that looks like a helper.
func startFakeHelper(t *testing.T) (pid int) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := &exec.Cmd{Path: "/bin/sh", Args: []string{helperName}, Stdin: r}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close(); cmd.Process.Kill(); cmd.Wait() })
	for wait := patient(5 * time.Second); !wait.over(); unix.Poll(nil, 1) {
		if line, _ := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/cmdline"); strings.HasPrefix(string(line), helperName) {
			return cmd.Process.Pid
		}
	}
	return cmd.Process.Pid
}

// Where no namespace can be made, the answer names the cause and what a person can do.
func TestNamespaceRemedies(t *testing.T) {
	for _, tt := range []struct{ file, value, want string }{
		{"/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"},
		{"/proc/sys/user/max_net_namespaces", "0", "sysctl user.max_net_namespaces=10000"},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "extra-profiles/textskill"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "0",
			"(operation not permitted): a container needs --security-opt"},
	} {
		said := namespaceRemedy(unix.EPERM, func(name string) string {
			if name == tt.file {
				return tt.value
			}
			return "12"
		})
		if !strings.Contains(said, tt.want) {
			t.Errorf("%s=%s: %s, want %s", tt.file, tt.value, said, tt.want)
		}
	}
}
