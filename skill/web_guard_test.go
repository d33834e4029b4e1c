package skill

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// counted starts a loopback server that counts its requests.
func counted(t *testing.T, h http.HandlerFunc) (s *httptest.Server, requests *atomic.Int32) {
	requests = new(atomic.Int32)
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s, requests
}

func hello(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) }

// spellings are ways to write this machine's address, or that of a cloud's metadata.
func spellings(port string) []string {
	hosts := []string{"127.0.0.1", "127.0.0.2", "127.1", "0.0.0.0", "0", "2130706433", "0x7f000001",
		"0x7f.0.0.1", "017700000001", "0177.0.0.1",
		"localhost", "LOCALHOST", "127.0.0.1.", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"[::127.0.0.1]", "[64:ff9b::7f00:1]", "[fe80::1%25lo]",
		"169.254.169.254", "[fd00:ec2::254]", "①②⑦.⓪.⓪.①", "127。0。0。1"}
	list := []string{"file:///etc/passwd", "gopher://127.0.0.1:" + port + "/",
		"http://u:p@127.0.0.1:" + port + "/"}
	for _, h := range hosts {
		list = append(list, "http://"+h+":"+port+"/secret")
	}
	return list
}

// TestNoRedirectLeadsInside sends requests to an allowed server that redirects them to this
// machine in many spellings. None arrives.
func TestNoRedirectLeadsInside(t *testing.T) {
	inside, requests := counted(t, hello)
	port := strings.TrimPrefix(inside.URL, "http://127.0.0.1:")
	for _, to := range spellings(port) {
		door, asked := counted(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
		x := newExecutor(t, Config{Network: true, Hosts: []string{strings.TrimPrefix(door.URL, "http://")}})
		for _, args := range []Args{Fetch{URL: door.URL, Max: 100}, Download{URL: door.URL, Dest: "f"}} {
			if r, err := x.Execute(t.Context(), &Session{}, args); err == nil {
				t.Errorf("a redirect to %s was followed: %v", to, r)
			}
		}
		if n := asked.Load(); n != 2 {
			t.Errorf("%s: the server that redirects got %d requests, want 2", to, n)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

// TestNoSpellingLeadsInside requests this machine itself, in the same spellings.
func TestNoSpellingLeadsInside(t *testing.T) {
	inside, requests := counted(t, hello)
	x := newExecutor(t, Config{Network: true})
	for _, to := range spellings(strings.TrimPrefix(inside.URL, "http://127.0.0.1:")) {
		for _, args := range []Args{Fetch{URL: to, Max: 100}, Download{URL: to, Dest: "f"},
			CheckURL{URL: to}} {
			r, err := x.Execute(t.Context(), &Session{}, args)
			if c, ok := r.(Checked); err == nil && !(ok && c.Status == 0) {
				t.Errorf("%s was reached: %v", to, r)
			}
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

// TestNoProxyBySurprise checks that the variables that name a proxy are ignored.
func TestNoProxyBySurprise(t *testing.T) {
	proxy, requests := counted(t, hello)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	server, arrived := counted(t, hello)
	x := newExecutor(t, Config{Network: true, Private: true})
	if _, err := x.Execute(t.Context(), &Session{}, Fetch{URL: server.URL, Max: 10}); err != nil {
		t.Fatal(err)
	}
	if requests.Load() != 0 || arrived.Load() != 1 {
		t.Errorf("the proxy got %d requests, the server %d", requests.Load(), arrived.Load())
	}
}
