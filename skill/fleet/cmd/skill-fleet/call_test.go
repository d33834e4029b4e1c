package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"textskill/skill/agent"
	"textskill/skill/fleet"
	"textskill/skill/fleet/jetstream"
	"textskill/testdata/needs"
)

// TestCall calls tools as a user does.
func TestCall(t *testing.T) {
	t.Parallel()
	nats, dir := startDev(t), newFolder(t)
	for _, tt := range []struct {
		args []string
		code int
		out  string // part of it
		err  string
	}{
		{[]string{"call", "notes", "read", `{"path":"a.txt"}`}, exitFailed, "",
			"no worker holds notes; add --start to let a worker hold it"},
		{[]string{"call", "--start", "notes", "read", `{"path":"a.txt"}`}, exitFailed, "",
			"there is no workspace notes; make it from a folder with -C DIR"},
		{[]string{"call", "--start", "-C", dir, "notes", "read", `{"path":"a.txt"}`}, exitOK, "alpha\n", ""},
		{[]string{"call", "notes", "write", `{"path":"a.txt","content":"beta"}`}, exitOK,
			"wrote a.txt: 4 bytes", ""},
		{[]string{"call", "--tools", "filesystem", "notes", "read_file", `{"path":"a.txt"}`}, exitOK,
			"beta\n", ""},
		{[]string{"call", "notes", "read", `{"path":"none"}`}, exitFailed, "", "none"},
		{[]string{"call", "notes", "fly"}, exitFailed, "", `unknown tool "fly"; there are read, `},
		{[]string{"call", "notes", "read", "{"}, exitFailed, "", "not JSON"},
		{[]string{"call", "--tools", "cobol", "notes", "read"}, exitUsage, "",
			"--tools cobol is not a dialect"},
		{[]string{"mcp"}, exitUsage, "", "missing --workspace NAME"},
		{[]string{"submit", "e", "go", "--workspace", "none"}, exitFailed, "", "there is no workspace none"},
		{[]string{"submit", "e", "go", "-C", dir, "--tenant", "a b"}, exitFailed, "",
			"cannot be the name of a tenant"},
		{[]string{"runs", "--tenant", "a b"}, exitFailed, "", "cannot be the name of a tenant"},
		{[]string{"runs", "--follow", "none"}, exitFailed, "",
			"run none: there is no such run; \"skill-fleet runs\" lists them"},
		{[]string{"fetch", "none"}, exitFailed, "",
			"run none: there is no such run; \"skill-fleet runs\" lists them"},
		{[]string{"cancel", "none"}, exitFailed, "",
			"run none: there is no such run; \"skill-fleet runs\" lists them"},
		{[]string{"check", "--monitor", "http://127.0.0.1:1", "--accept-few"}, exitFailed, "", "127.0.0.1:1"},
	} {
		out, stderr, code := run(t, append([]string{"--nats", nats}, tt.args...)...)
		if code != tt.code || !strings.Contains(out, tt.out) ||
			tt.out == "" && out != "" ||
			!strings.Contains(stderr, tt.err) {
			t.Errorf("%q: %d %q %q", tt.args, code, out, stderr)
		}
	}
}

// TestMCPStdio serves a client, and starts the workspace for it.
func TestMCPStdio(t *testing.T) {
	t.Parallel()
	nats := startDev(t)
	cmd := program(t, "--nats", nats, "mcp", "--workspace", "notes", "--start", "-C", newFolder(t))
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"a.txt"}}}
`)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if lines := strings.Split(string(out), "\n"); err != nil || len(lines) != 3 ||
		!strings.Contains(lines[0], `"protocolVersion":"2025-11-25"`) ||
		!strings.Contains(lines[0], "the workspace notes") || !strings.Contains(lines[1], "alpha") {
		t.Errorf("%v: %s", err, out)
	}
}

// begin starts a command that ends with the test. It returns the first match in the output.
func begin(t *testing.T, pattern string, args ...string) string {
	t.Helper()
	cmd := program(t, args...)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%q ends with %v", args, err)
		}
		r.Close()
	})
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if m := regexp.MustCompile(pattern).FindString(lines.Text()); m != "" {
			go io.Copy(io.Discard, r)
			return m
		}
	}
	t.Fatalf("%q prints nothing like %s", args, pattern)
	return ""
}

// TestMCPHTTP calls a workspace that no worker holds.
func TestMCPHTTP(t *testing.T) {
	t.Parallel()
	nats := startDev(t)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := begin(t, `http://\S+`, "--nats", nats, "mcp", "--workspace", "notes", "--http", "127.0.0.1:0",
		"--http-token-file", token)
	for token, want := range map[string]int{"secret": http.StatusServiceUnavailable,
		"wrong": http.StatusUnauthorized} {
		r, err := http.NewRequest(http.MethodPost, at,
			strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"},
			"Accept": {"application/json, text/event-stream"}}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want || want == http.StatusServiceUnavailable &&
			!strings.Contains(string(body), "no worker holds notes") {
			t.Errorf("%s: %s %s", token, resp.Status, body)
		}
	}
}

// TestWeb opens the page of a run with the cookies of a browser.
func TestWeb(t *testing.T) {
	t.Parallel()
	nats := startDev(t)
	if _, stderr, code := run(t, "--nats", nats, "submit", "e", "go", "-C", newFolder(t), "--id", "one"); code != 0 {
		t.Fatalf("submit: %d %s", code, stderr)
	}
	if out, stderr, code := run(t, "--nats", nats, "runs", "--follow", "one"); code != 0 {
		t.Fatalf("follow: %d %s %s", code, out, stderr)
	}
	link := begin(t, `http://\S+`, "--nats", nats+","+nats, "web")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Jar: jar, Timeout: time.Minute}
	get := func(at string) (string, string) {
		resp, err := client.Get(at)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Request.URL.String(), string(body)
	}
	base, _ := get(link)
	if _, list := get(base + "runs"); !strings.Contains(list, "/runs/one") ||
		!strings.Contains(list, "on w1") || !strings.Contains(list, "Fleet at 127.0.0.1<") {
		t.Errorf("the list: %s", list)
	}
	if _, one := get(base + "runs/one"); !strings.Contains(one, "worker w1 begins") ||
		!strings.Contains(one, "calls appendTextFile") || !strings.Contains(one, "completed after step 4") ||
		!strings.Contains(one, "<dt>Ran on</dt><dd>w1") {
		t.Errorf("the run: %s", one)
	}
}

// TestCheck checks safe and unsafe servers.
func TestCheck(t *testing.T) {
	t.Parallel()
	port := needs.Port(t)
	s, err := jetstream.StartServer(jetstream.ServerOptions{Dir: t.TempDir(), Monitor: port, SyncLater: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	args := []string{"check", "--accept-few", "--monitor", fmt.Sprintf("http://127.0.0.1:%d", port)}
	const safe = "The servers are safe for a fleet.\n"
	if out, stderr, code := run(t, args...); code != exitFailed || strings.Contains(out, safe) ||
		!strings.HasPrefix(stderr, "skill-fleet: skill: a power cut of all servers loses up to 2m0s") {
		t.Errorf("by default: %d %s%s", code, out, stderr)
	}
	if out, stderr, code := run(t, append(args, "--accept-loss", "2m")...); code != exitOK ||
		!strings.HasSuffix(out, "cluster of 1\n"+safe) || stderr != "" {
		t.Errorf("with --accept-loss: %d %s%s", code, out, stderr)
	}
}

// TestTraced passes the submitter's trace to the MCP servers of a run.
func TestTraced(t *testing.T) {
	collector := httptest.NewServer(http.NotFoundHandler())
	defer collector.Close()
	c := &cli{stderr: io.Discard, getenv: func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}[name]
	}}
	var cfg agent.Config
	hear, end := c.traced(fleet.Run{Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, &cfg)
	defer end(nil)
	call := agent.ToolCall{ID: "a", ToolName: "search"}
	hear(agent.Event{Type: agent.StartRun, InitialCheckpoint: &agent.Checkpoint{Status: agent.Init}})
	hear(agent.Event{Type: agent.CallTool, ToolCall: &call})
	if cfg.Traceparent == nil ||
		!strings.HasPrefix(cfg.Traceparent("a"), "00-0af7651916cd43dd8448eb211c80319c-") {
		t.Error("a call has no trace")
	}
}

// fields returns the bytes of each field at a path of a message in the wire format of protobuf.
// A field is fixed64 or has a length.
func fields(message []byte, path ...uint64) (found [][]byte) {
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		if n <= 0 {
			panic("a field is cut off")
		}
		size, sizeLen := uint64(0), 0
		switch key & 7 {
		case 0: // varint
			_, sizeLen = binary.Uvarint(message[n:])
		case 1: // fixed64
			size = 8
		case 2: // with its length
			size, sizeLen = binary.Uvarint(message[n:])
		default:
			panic(fmt.Sprintf("a field has the wire type %d", key&7))
		}
		var value []byte
		value, message = message[n+sizeLen:][:size], message[n+sizeLen:][size:]
		switch {
		case key>>3 != path[0]:
		case len(path) > 1:
			found = append(found, fields(value, path[1:]...)...)
		default:
			found = append(found, value)
		}
	}
	return found
}

// numbersOf returns the numbers in a request of OTLP by the names and attributes of their metrics.
func numbersOf(request []byte) map[string]float64 {
	const (
		resourceMetrics = 1 // of the request
		scopeMetrics    = 2 // of resourceMetrics
		oneMetric       = 2 // of scopeMetrics
		metricName      = 1 // of oneMetric
		gauge           = 5 // of oneMetric
		sum             = 7 // of oneMetric
		dataPoints      = 1 // of gauge and sum
		asDouble        = 4 // of dataPoints
		asInt           = 6 // of dataPoints
		attributes      = 7 // of dataPoints
		attributeValue  = 2 // of attributes
		stringValue     = 1 // of attributeValue
	)
	numbers := map[string]float64{}
	for _, m := range fields(request, resourceMetrics, scopeMetrics, oneMetric) {
		for _, p := range append(fields(m, sum, dataPoints), fields(m, gauge, dataPoints)...) {
			name := string(fields(m, metricName)[0])
			for _, text := range fields(p, attributes, attributeValue, stringValue) {
				name += " " + string(text)
			}
			for _, n := range fields(p, asDouble) {
				numbers[name] = math.Float64frombits(binary.LittleEndian.Uint64(n))
			}
			for _, n := range fields(p, asInt) {
				numbers[name] = float64(int64(binary.LittleEndian.Uint64(n)))
			}
		}
	}
	return numbers
}

// TestObserved sends the spans and metrics of a worker to a collector.
func TestObserved(t *testing.T) {
	var mu sync.Mutex
	got, numbers := "", map[string]float64{} // the last numbers of the metrics
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got += r.URL.Path + " " + string(body) + "\n"
		if r.URL.Path != "/v1/metrics" {
			return
		}
		maps.Copy(numbers, numbersOf(body))
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	t.Run("", func(t *testing.T) { // dev ends with this subtest
		nats := startDev(t)
		if _, stderr, code := run(t, "--nats", nats, "submit", "e", "go", "-C", newFolder(t), "--id", "one"); code != 0 {
			t.Fatalf("submit: %d %s", code, stderr)
		}
		if out, stderr, code := run(t, "--nats", nats, "runs", "--follow", "one"); code != 0 {
			t.Fatalf("follow: %d %s %s", code, out, stderr)
		}
	})
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{
		`"parentSpanId":"b7ad6b7169203331","name":"invoke_agent e"`, `"name":"execute_tool appendTextFile"`,
		`"traceId":"0af7651916cd43dd8448eb211c80319c"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the collector is not sent %s: %s", want, got)
		}
	}
	if numbers["skill.fleet.steps"] != 4 || numbers["skill.fleet.commit.seconds"] <= 0 ||
		numbers["skill.fleet.slots.used"] != 0 {
		t.Errorf("the collector is sent the numbers %v", numbers)
	}
}

// TestCheckedBeforeConnecting refuses wrong command lines before it connects to a server.
func TestCheckedBeforeConnecting(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want []string // parts of the error
	}{
		{[]string{"mcp", "--workspace", "a b", "--http", "nonsense", "--http-token-file", "none"},
			[]string{"nonsense is not an address", "--http-token-file: open none", "the name of a workspace"}},
		{[]string{"mcp", "--workspace", "w", "--start", "--tenant", "a b", "-C", "none"},
			[]string{"the name of a tenant", "-C: stat none"}},
		{[]string{"call", "--start", "-C", "none", "a b", "read"},
			[]string{"the name of a workspace", "-C: stat none"}},
		{[]string{"web", "--addr", "nonsense", "--tenant", "a b"},
			[]string{"--addr: nonsense is not an address", "the name of a tenant"}},
		{[]string{"runs", "--tenant", "a b"}, []string{"the name of a tenant"}},
		{[]string{"submit", "e", "go", "-C", "none", "--id", "a b", "--label", "c d"},
			[]string{"the name of a run", "the name of a label", "-C: stat none"}},
		{[]string{"submit", "e", "go", "-C", "main.go"}, []string{"-C main.go is not a folder"}},
	} {
		_, stderr, code := run(t, append([]string{"--nats", "nats://127.0.0.1:1"}, tt.args...)...)
		for _, want := range tt.want {
			if code != exitFailed || !strings.Contains(stderr, want) {
				t.Errorf("%q: %d %s; want %s", tt.args, code, stderr, want)
			}
		}
	}
}
