package skill

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

func TestFenceTCP(t *testing.T) {
	need(t, fenced(t, Config{}), "python3")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	connect := Exec{Command: "python3",
		Args: []string{"-c", "import socket,sys; socket.create_connection(('127.0.0.1', int(sys.argv[1]))); print('connected')", fmt.Sprint(l.Addr().(*net.TCPAddr).Port)}}
	bind := func(port int) Exec {
		return Exec{Command: "python3",
			Args: []string{"-c", "import socket,sys; s=socket.socket(); s.bind(('127.0.0.1', int(sys.argv[1]))); s.listen(); print('bound')", fmt.Sprint(port)}}
	}
	port := needs.Port(t)
	own := bind(port)
	own.Port = port
	refusal, other := "PermissionError", ""
	if fenced(t, Config{}).process.Fence().Alone { // every port is free there, and nothing listens
		refusal, other = "ConnectionRefusedError", "bound\n"
	}
	for _, tt := range []struct {
		network bool
		run     Exec
		want    string
	}{
		{false, connect, ""},
		{false, bind(port), other},
		{false, own, "bound\n"},
		{true, connect, "connected\n"},
		{true, bind(port), "bound\n"},
	} {
		got := mustExec(t, fenced(t, Config{Network: tt.network}), tt.run)
		if string(got.Stdout) != tt.want || tt.want == "" && !strings.Contains(string(got.Stderr), refusal) ||
			got.Fence.TCP == tt.network {
			t.Errorf("network %v, %q: %s%s %s", tt.network, tt.run.Args[2], got.Stdout, got.Stderr, got.Fence)
		}
	}
}

// Multipath TCP and other ways do not bypass the denial of TCP.
func TestFenceSockets(t *testing.T) {
	need(t, fenced(t, Config{}), "python3")
	script := `
import socket, ctypes, errno
def can(*kind):
    try: socket.socket(*kind).close(); return 'yes'
    except PermissionError: return 'denied'
    except OSError as e: return errno.errorcode[e.errno]
print(can(socket.AF_INET, socket.SOCK_DGRAM), can(socket.AF_INET6, socket.SOCK_DGRAM), can(socket.AF_INET, socket.SOCK_STREAM, 262),
    can(socket.AF_INET6, socket.SOCK_STREAM | socket.SOCK_NONBLOCK, 262), can(socket.AF_INET, socket.SOCK_RAW, 1), can(socket.AF_PACKET, socket.SOCK_RAW), can(socket.AF_VSOCK, socket.SOCK_STREAM))
print(can(socket.AF_INET), can(socket.AF_INET6, socket.SOCK_STREAM | socket.SOCK_CLOEXEC), can(socket.AF_UNIX), can(socket.AF_UNIX, socket.SOCK_DGRAM), can(socket.AF_NETLINK, socket.SOCK_RAW))
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(425, 4, None), errno.errorcode[ctypes.get_errno()])
`
	python := Exec{Command: "python3", Args: []string{"-c", script}}
	want := "denied denied denied denied denied denied denied\ndenied denied yes yes yes\n-1 ENOSYS\n"
	if fenced(t, Config{}).process.Fence().Alone {
		want = "yes yes yes yes denied denied denied\nyes yes yes yes yes\n-1 ENOSYS\n"
	}
	if got := mustExec(t, fenced(t, Config{}), python); string(got.Stdout) != want || !got.Fence.UDP {
		t.Errorf("%s%s %s", got.Stdout, got.Stderr, got.Fence)
	}
	got := mustExec(t, fenced(t, Config{Network: true}), python)
	if !strings.HasPrefix(string(got.Stdout), "yes yes ") || got.Fence.UDP {
		t.Errorf("with the network: %s%s %s", got.Stdout, got.Stderr, got.Fence)
	}
}

// A server is fenced. In the network of this machine it can listen on its own port only.
func TestFenceServer(t *testing.T) {
	x := fenced(t, Config{})
	need(t, x, "python3")
	endServers(t, x)
	out := outside(t)
	port := needs.Port(t)
	script := fmt.Sprintf("echo x > %s/new; echo y > $TMPDIR/y; python3 -c \"import socket; socket.socket().bind(('127.0.0.1', %d))\" 2>&1 | tail -1; exec python3 -m http.server --bind 127.0.0.1 %d", out, needs.Port(t), port)
	s := must[ServerState](t, x, StartServer{Command: script, Port: port, Wait: 20e9, MustListen: true})
	log := must[ServerLog](t, x, ReadServerLog{ServerName: ServerName{ID: s.ID}})
	_, made := os.Lstat(out + "/new")
	if !s.Ready || s.Fence != x.process.Fence() ||
		strings.Contains(string(log.Text), "PermissionError") == s.Fence.Alone || made == nil {
		t.Errorf("%+v\n%s", s, log.Text)
	}
	temp := filepath.Join(os.TempDir(), "skill-server-"+s.ID)
	if _, err := os.Lstat(temp + "/y"); err != nil {
		t.Error(err)
	}
	must[ServerState](t, x, StopServer{ServerName{ID: s.ID}})
	if _, err := os.Lstat(temp); err == nil {
		t.Error("its temporary files stay")
	}
}
