package llmfallback

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A fake is an endpoint on the loopback that answers by a script and records
// what it was sent. A request beyond the script, or to another place, fails the test.
type fake struct {
	*httptest.Server
	t      *testing.T
	mu     sync.Mutex
	script []step
	seen   []sent
}

// A step is one answer.
type step struct {
	status  int
	headers map[string]string
	body    string // @delay, @drip, @reset, @gzip:… and @repeat:N are what they say
}

// A sent request, as it arrived.
type sent struct {
	header http.Header
	raw    string
	body   map[string]any
}

func newFake(t *testing.T, script ...step) *fake {
	f := &fake{t: t, script: script}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	s := sent{header: r.Header, raw: string(raw)}
	if err != nil || json.Unmarshal(raw, &s.body) != nil || r.Method != "POST" ||
		r.URL.Path != "/v1/chat/completions" {
		f.t.Errorf("unexpected request %s %s %s", r.Method, r.URL, raw)
	}
	f.mu.Lock()
	f.seen = append(f.seen, s)
	if len(f.seen) > len(f.script) {
		f.mu.Unlock()
		f.t.Errorf("request %d is not in the script: %s", len(f.seen), raw)
		w.WriteHeader(599)
		return
	}
	answer := f.script[len(f.seen)-1]
	f.mu.Unlock()
	answer.write(w, r)
}

func (f *fake) requests() []sent {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

func (s step) write(w http.ResponseWriter, r *http.Request) {
	kind, arg, _ := strings.Cut(s.body, ":")
	if kind == "@reset" {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
		return
	}
	for k, v := range s.headers {
		w.Header().Set(k, v)
	}
	if kind == "@delay" {
		<-r.Context().Done()
		return
	}
	w.WriteHeader(s.status)
	switch kind {
	case "@drip":
		for r.Context().Err() == nil {
			io.WriteString(w, " ")
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	case "@gzip":
		z := gzip.NewWriter(w)
		endless(r.Context(), z, 1<<30)
		z.Close()
	case "@repeat":
		n, err := strconv.Atoi(arg)
		if err != nil {
			panic(err)
		}
		endless(r.Context(), w, n)
	default:
		io.WriteString(w, s.body)
	}
}

func endless(ctx context.Context, w io.Writer, n int) {
	block := []byte(strings.Repeat(" ", 1<<16))
	for ; n > 0 && ctx.Err() == nil; n -= len(block) {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// says is a completion with that content.
func says(content string) step { return completion(map[string]any{"content": content}, "stop") }

func completion(message map[string]any, finish string) step {
	message["role"] = "assistant"
	body, err := json.Marshal(map[string]any{
		"id": "x", "object": "chat.completion", "created": 1, "model": "m",
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
		"usage":   map[string]any{"prompt_tokens": 50, "completion_tokens": 20, "total_tokens": 70},
	})
	if err != nil {
		panic(err)
	}
	return step{200, map[string]string{"Content-Type": "application/json"}, string(body)}
}

// A clock is a time that passes by sleeping only.
type clock struct {
	mu    sync.Mutex
	at    time.Time
	slept []time.Duration
}

func newClock() *clock { return &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
	c.slept = append(c.slept, d)
	return ctx.Err()
}

const testKey = "sk-abcd0123wxyz"

// asking returns an Extractor that asks f alone, in a workspace of these files.
func (f *fake) asking(t *testing.T, c *clock, change func(*Config), files ...string) *Extractor {
	config := Config{
		Mode:  LLM,
		Model: Model{BaseURL: f.URL, Key: testKey, Name: "m", Timeout: 5 * time.Second},
		Stat:  having(files...),
		Now:   c.now, Sleep: c.sleep,
	}
	if change != nil {
		change(&config)
	}
	x, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// having is a workspace of these files; a name that ends in / is a folder.
func having(files ...string) func(string) (folder bool, err error) {
	return func(path string) (bool, error) {
		for _, f := range files {
			if strings.TrimSuffix(f, "/") == strings.TrimSuffix(path, "/") {
				return strings.HasSuffix(f, "/"), nil
			}
		}
		return false, fs.ErrNotExist
	}
}
