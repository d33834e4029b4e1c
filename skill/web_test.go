package skill

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// webExecutor returns an executor that may reach the loopback interface.
func webExecutor(t *testing.T) *Executor { return newExecutor(t, Config{Network: true, Private: true}) }

// TestTheWebIsOffUnlessAllowed runs each web operation without the network.
func TestTheWebIsOffUnlessAllowed(t *testing.T) {
	server, requests := counted(t, hello)
	for _, cfg := range []Config{{}, {Private: true}, {Network: true, Private: true, ReadOnly: true},
		{Network: true, Private: true, DryRun: true}} {
		x := newExecutor(t, cfg)
		for _, args := range []Args{Fetch{URL: server.URL, Max: 1}, Download{URL: server.URL, Dest: "f"},
			CheckURL{URL: server.URL},
			WebSearch{Query: "q", Count: 1}, Screenshot{URL: server.URL, Dest: "s.png"}} {
			_, err := x.Execute(t.Context(), &Session{}, args)
			var refused *RefusedError
			if !errors.As(err, &refused) {
				t.Errorf("%T with %+v: %v", args, cfg, err)
			}
		}
	}
	if requests.Load() != 0 {
		t.Errorf("%d requests arrived", requests.Load())
	}
}

const page = `<html><head><title> A &amp; B </title><base href="/docs/"><script>var x = 1</script></head><body>
<nav><a href="/">Home</a></nav><p style="display: none">hidden</p>
<main><h1>Heading</h1><p>See <a href="next">the <b>next</b> page</a>.</p>
<table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>1</td></tr></table><pre><code class="language-go">x := 1
</code></pre></main></body></html>`

func TestFetch(t *testing.T) {
	mux := http.NewServeMux()
	serve := func(path, contentType, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Write([]byte(body))
		})
	}
	serve("/page", "text/html; charset=utf-8", page)
	serve("/latin", "text/html; charset=iso-8859-1", "<p>caf\xe9</p>")
	serve("/meta", "text/html", `<meta charset="windows-1251"><p>`+"\xef\xf0\xe8</p>")
	serve("/json", "application/json", `{"b":1,"a":[2]}`)
	serve("/text", "text/plain", "one\r\ntwo\n")
	serve("/app", "text/html", `<div id="root"></div><script src="a.js"></script>`)
	serve("/zip", "application/zip", "PK\x03\x04")
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such page", http.StatusGone) })
	mux.Handle("/moved", http.RedirectHandler("/text", http.StatusMovedPermanently))
	mux.Handle("/loop", http.RedirectHandler("/loop", http.StatusFound))
	server := httptest.NewServer(mux)
	defer server.Close()
	x := webExecutor(t)
	for _, c := range []struct {
		path string
		raw  bool
		want string // of the content, or of the error
	}{
		{"/page", false, "# Heading\n\nSee [the **next** page](" + server.URL +
			"/docs/next).\n\n| k | v |\n|---|---|\n| a | 1 |\n\n```go\nx := 1\n```"},
		{"/latin", false, "café"},
		{"/meta", false, "при"},
		{"/json", false, "{\n  \"b\": 1,\n  \"a\": [\n    2\n  ]\n}"},
		{"/json", true, `{"b":1,"a":[2]}`},
		{"/page", true, page},
		{"/text", false, "one\r\ntwo\n"},
		{"/moved", false, "one\r\ntwo\n"},
		{"/app", false, ""},
		{"/zip", false, server.URL + "/zip: application/zip is not text; download saves it to a file"},
		{"/gone", false, server.URL + "/gone: the server answered 410 Gone: no such page"},
		{"/loop", false, server.URL + "/loop: it redirects more than 5 times"},
	} {
		r, err := x.Execute(t.Context(), &Session{}, Fetch{URL: server.URL + c.path, Max: 10000, Raw: c.raw})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = r.(Fetched).Content
		}
		if got != c.want {
			t.Errorf("%s raw=%t:\n got %q\nwant %q", c.path, c.raw, got, c.want)
		}
	}
	r, err := x.Execute(t.Context(), &Session{}, Fetch{URL: server.URL + "/page", Max: 10000})
	if err != nil || r.(Fetched).Title != "A & B" {
		t.Errorf("title: %+v, %v", r, err)
	}
	if r, err = x.Execute(t.Context(), &Session{}, Fetch{URL: server.URL + "/app", Max: 10}); err != nil ||
		r.(Fetched).Note == "" {
		t.Errorf("no Note for a page that needs scripts: %+v, %v", r, err)
	}
}

// TestFetchPages reads a text in pages, counted in characters.
func TestFetchPages(t *testing.T) {
	text := strings.Repeat("åäö", 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Write([]byte(text))
	}))
	defer server.Close()
	x := webExecutor(t)
	var got strings.Builder
	for start, n := 0, 0; ; n++ {
		r, err := x.Execute(t.Context(), &Session{}, Fetch{URL: server.URL, Start: start, Max: 77})
		if err != nil || n > 10 {
			t.Fatal(n, err)
		}
		f := r.(Fetched)
		got.WriteString(f.Content)
		if f.Total != 300 {
			t.Errorf("%d characters in all, want 300", f.Total)
		}
		if start = f.Next; start == 0 {
			break
		}
	}
	if got.String() != text {
		t.Error("the parts are not the whole")
	}
}

// TestTheWebIsBounded uses servers that send too much, too slowly or incompletely.
func TestTheWebIsBounded(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) { // 1 GiB in 1 MiB
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		block := bytes.Repeat([]byte("a"), 1<<20)
		for range 1024 {
			if _, err := z.Write(block); err != nil {
				return
			}
		}
		z.Close()
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("x"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("/half", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.Write([]byte("half"))
	})
	mux.HandleFunc("/error", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<h1>no</h1>", 404) })
	server := httptest.NewServer(mux)
	defer server.Close()
	x := webExecutor(t)
	run := func(a Args) (Result, error) { return x.Execute(t.Context(), &Session{}, a) }

	r, err := run(Fetch{URL: server.URL + "/bomb", Max: 10})
	if err != nil || !r.(Fetched).Cut || r.(Fetched).Total != 5<<20 {
		t.Errorf("a bomb: %v", err)
	}
	file := filepath.Join(x.Dir(), "f")
	writeFile(t, file, "before", 0o600)
	for _, c := range []struct {
		path    string
		max     int64
		timeout time.Duration
		want    string
	}{
		{"/bomb", 1 << 20, time.Minute, "larger than the 1048576 bytes"},
		{"/slow", 0, time.Second, "no answer within 1s"},
		{"/half", 0, time.Minute, "closed the connection before"},
		{"/error", 0, time.Minute, "404 Not Found"},
	} {
		_, err := run(Download{URL: server.URL + c.path, Dest: "f", Max: c.max, Timeout: c.timeout})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.path, err, c.want)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil || string(data) != "before" {
		t.Errorf("a download that failed left %q, %v", data, err)
	}
	if names, _ := os.ReadDir(x.Dir()); len(names) != 1 {
		t.Errorf("temporary files remain: %v", names)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := x.Execute(ctx, &Session{}, Fetch{URL: server.URL + "/slow", Max: 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call that is cancelled: %v", err)
	}
}

func TestDownload(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(hello))
	defer server.Close()
	x := webExecutor(t)
	for _, most := range []int64{0, 5, math.MaxInt64} {
		r, err := x.Execute(t.Context(), &Session{},
			Download{URL: server.URL + "/x", Dest: "a/b/f", Max: most})
		if err != nil {
			t.Fatal(err)
		}
		d := r.(Downloaded)
		if d.Bytes != 5 || d.SHA256 != "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" {
			t.Errorf("%+v", d)
		}
	}
	if _, err := x.Execute(t.Context(), &Session{}, Download{URL: server.URL + "/x", Dest: "a/b/f", Max: 4}); err == nil {
		t.Error("5 bytes where 4 may be")
	}
	data, err := os.ReadFile(filepath.Join(x.Dir(), "a/b/f"))
	if err != nil || string(data) != "hello" {
		t.Errorf("%q, %v", data, err)
	}
	for dest, want := range map[string]error{"../f": fs.ErrPermission, ".git/config": fs.ErrPermission,
		"a": nil} {
		_, err := x.Execute(t.Context(), &Session{}, Download{URL: server.URL, Dest: dest})
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v", dest, err)
		}
	}
}

func TestCheckURL(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var code int
		fmt.Sscanf(r.URL.Path, "/%d", &code)
		if r.URL.Path == "/nohead" {
			code = http.StatusMethodNotAllowed
			if r.Method == http.MethodGet {
				code = http.StatusPartialContent
			}
		}
		if code >= 300 && code < 400 {
			w.Header().Set("Location", "/there")
		}
		w.WriteHeader(code)
	}))
	x := webExecutor(t)
	for path, want := range map[string]int{"/200": 200, "/204": 204, "/301": 301, "/308": 308, "/404": 404,
		"/503": 503, "/nohead": 206} {
		r, err := x.Execute(t.Context(), &Session{}, CheckURL{URL: server.URL + path})
		if err != nil {
			t.Fatal(err)
		}
		c := r.(Checked)
		if c.Status != want || c.OK() != (want < 400) ||
			(c.Location == server.URL+"/there") != (want >= 300 && want < 400) {
			t.Errorf("%s: %+v", path, c)
		}
	}
	server.Close()
	r, err := x.Execute(t.Context(), &Session{}, CheckURL{URL: server.URL})
	if err != nil || r.(Checked).Status != 0 || r.(Checked).Err == nil {
		t.Errorf("a server that has stopped: %+v, %v", r, err)
	}
}

func TestWebSearch(t *testing.T) {
	var got *http.Request
	answers := map[string]string{
		"/res/v1/web/search": `{"web":{"results":[{"title":"T","url":"https://a.example/","description":"D","age":"2 days"}]}}`,
		"/search":            `{"results":[{"title":"T","url":"https://a.example/","content":"D","publishedDate":"2 days"}]}`,
		"/html/":             `<a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2F&amp;rut=1">T</a><a class="result__snippet" href="x"><b>D</b></a>`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		got = r
		w.Write([]byte(answers[r.URL.Path]))
	}))
	defer server.Close()
	for _, c := range []struct {
		engine    SearchEngine
		freshness string
		key       string // of the form
	}{
		{SearchEngine{Kind: "brave", URL: server.URL, Key: "secret"}, "pw", "freshness"},
		{SearchEngine{Kind: "searxng", URL: server.URL, Key: ""}, "week", "time_range"},
		{SearchEngine{Kind: "duckduckgo", URL: server.URL, Key: ""}, "w", "df"},
	} {
		x := newExecutor(t, Config{Network: true, Search: []SearchEngine{{Kind: "brave"}, c.engine}})
		r, err := x.Execute(t.Context(), &Session{},
			WebSearch{Query: "a/b?&é", Count: 3, Freshness: "week", Language: "fr"})
		if err != nil {
			t.Fatal(err)
		}
		s := r.(Searched)
		if s.Engine != c.engine.Kind || len(s.Failed) != 1 ||
			len(s.Hits) != 1 || s.Hits[0].Title != "T" ||
			s.Hits[0].URL != "https://a.example/" || s.Hits[0].Snippet != "D" {
			t.Errorf("%s: %+v", c.engine.Kind, s)
		}
		if got.Form.Get("q") != "a/b?&é" || got.Form.Get(c.key) != c.freshness {
			t.Errorf("%s was asked %v", c.engine.Kind, got.Form)
		}
		if c.engine.Key != "" && got.Header.Get("X-Subscription-Token") != c.engine.Key {
			t.Error("the key was not sent")
		}
	}
}

// TestWebSearchInventsNothing uses search engines that refuse to answer.
func TestWebSearchInventsNothing(t *testing.T) {
	tries := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/search":
			w.WriteHeader(http.StatusForbidden)
		case "/html/":
			w.Write([]byte(`<div class="anomaly-modal"></div>`))
		default:
			if tries++; tries == 1 {
				w.Header().Set("Retry-After", "0")
			}
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer server.Close()
	for engine, want := range map[SearchEngine]string{
		{Kind: "searxng", URL: server.URL, Key: ""}:    "search.formats",
		{Kind: "searxng", URL: "", Key: ""}:            "--search searxng=URL",
		{Kind: "duckduckgo", URL: server.URL, Key: ""}: "robot",
		{Kind: "brave", URL: server.URL, Key: "k"}:     "429",
		{Kind: "brave", URL: "", Key: ""}:              "BRAVE_API_KEY",
	} {
		x := newExecutor(t, Config{Network: true, Search: []SearchEngine{engine}})
		_, err := x.Execute(t.Context(), &Session{}, WebSearch{Query: "q", Count: 3})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", engine, err, want)
		}
	}
	if tries != 2 {
		t.Errorf("an engine that asks to wait was asked %d times, want 2", tries)
	}
}
