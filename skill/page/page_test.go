package page_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"textskill/skill/page"
)

// A browser is a client that has opened a page.
type browser struct {
	*testing.T
	http.Client
	base string // the secret folder of the page
}

// open opens a link.
func open(t *testing.T, link string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{T: t, Client: http.Client{Jar: jar}}
	r, err := b.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Fatal(r.Status)
	}
	b.base = r.Request.URL.String()
	return b
}

// ask sends a request; change may change it first.
func (b *browser) ask(method, path, body string, change func(*http.Request)) (status int, header http.Header,
	text string) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.base+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if change != nil {
		change(r)
	}
	answer, err := b.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		b.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(data)
}

// key returns the key for changes.
func (b *browser) key() string {
	b.Helper()
	_, _, text := b.ask("GET", "changes", "", nil)
	m := regexp.MustCompile(`name="key" value="([0-9a-f]{40})"`).FindStringSubmatch(text)
	if m == nil {
		b.Fatal("the page has no key")
	}
	return m[1]
}

// TestPageRefuses sends requests from other hosts and pages, without the token, and without the
// key for changes.
func TestPageRefuses(t *testing.T) {
	f := &fake{n: 5}
	b := open(t, serve(t, f.config()))
	key := b.key()
	u, err := url.Parse(b.base)
	if err != nil {
		t.Fatal(err)
	}
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	both := func(changes ...func(*http.Request)) func(*http.Request) {
		return func(r *http.Request) {
			for _, change := range changes {
				change(r)
			}
		}
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	stranger := func(r *http.Request) { b.Jar = nil }
	jar := b.Jar
	tests := []struct {
		what, method, body string
		change             func(*http.Request)
		status             int
	}{
		{"a reader", "GET", "", nil, 200},
		// the cookie is for 127.0.0.1
		{"a name of this machine", "GET", "", host("localhost:" + u.Port()), 401},
		{"a rebound name", "GET", "", host("evil.example.com:" + u.Port()), 403},
		{"another machine's address", "GET", "", host("192.0.2.1"), 403},
		{"a page of another site", "GET", "", set("Origin", "https://evil.example.com"), 403},
		{"a page of another server of this machine", "GET", "", set("Origin", "http://127.0.0.1:1"), 403},
		{"a page of nowhere", "GET", "", set("Origin", "null"), 403},
		{"no cookie", "GET", "", stranger, 401},
		{"a wrong cookie", "GET", "", both(stranger, set("Cookie", "skill-page=x")), 401},
		{"the token", "GET", "", both(stranger, set("Authorization", "Bearer the-token")), 200},
		{"another token", "GET", "", both(stranger, set("Authorization", "Bearer the-toke")), 401},
		{"another method", "DELETE", "", nil, 405},
		{"a form without the key", "POST", "", nil, 403},
		{"a form with the key for no change", "POST", "key=" + key,
			func(r *http.Request) { r.URL.Path = strings.TrimSuffix(r.URL.Path, "2") }, 404},
		{"a form of another forwarded port", "POST", "key=" + key,
			set("Origin", "http://localhost:8080"), 403},
		{"a form with a wrong key", "POST", "key=" + key[1:], nil, 403},
		{"a wrong key in the header", "POST", "key=" + key, set("Skill-Key", "x"), 403},
		{"a form with the key, without the cookie", "POST", "key=" + key, stranger, 401},
		{"a form of another site", "POST", "key=" + key, set("Origin", "https://evil.example.com"), 403},
		{"a form of another site without a referrer", "POST", "key=" + key,
			both(set("Origin", "null"), set("Sec-Fetch-Site", "cross-site")), 403},
		{"a form of another server of this machine", "POST", "key=" + key,
			both(set("Origin", "null"), set("Sec-Fetch-Site", "same-site")), 403},
		{"a form of an unknown origin", "POST", "key=" + key, set("Origin", "null"), 403},
		{"a form of more than a form", "POST", strings.Repeat("x", 5000) + "&key=" + key, nil, 403},
	}
	for _, tt := range tests {
		b.Jar = jar
		host := func(r *http.Request) {
			if tt.change != nil {
				tt.change(r)
			}
			if r.Host != "" && !strings.HasPrefix(r.Host, "127.") {
				b.Jar = nil
			}
		}
		status, header, text := b.ask(tt.method, "changes/2", tt.body, host)
		if status != tt.status {
			t.Errorf("%s: %d %.200s; want %d", tt.what, status, text, tt.status)
		}
		if status != 200 && strings.Contains(text, key) {
			t.Errorf("%s: the answer has the key", tt.what)
		}
		for name, want := range map[string]string{"Referrer-Policy": "no-referrer",
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s is %q", tt.what, name, got)
			}
		}
		if policy := header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; ") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy is %q", tt.what, policy)
		}
	}
	b.Jar = jar
	if len(f.undone) != 0 {
		t.Errorf("changes %v were undone", f.undone)
	}
	for _, send := range []struct {
		body   string
		change func(*http.Request)
	}{
		{"key=" + key, nil},
		// as browsers send a form
		{"key=" + key, both(set("Origin", "null"), set("Sec-Fetch-Site", "same-origin"))},
		// as the script sends it
		{"", both(set("Origin", "http://"+u.Host), set("Skill-Key", key))},
		// through a forwarded port
		{"", both(host("localhost:8080"), set("Authorization", "Bearer the-token"),
			set("Origin", "http://localhost:8080"), set("Skill-Key", key))},
	} {
		if status, _, text := b.ask("POST", "changes/2", send.body, send.change); status != 200 ||
			!strings.Contains(text, "Change 99") {
			t.Errorf("%+v: %d %s", send, status, text)
		}
	}
	if len(f.undone) != 4 {
		t.Errorf("changes %v were undone", f.undone)
	}
	if status, _, text := b.ask("POST", "changes/1", "key="+key, nil); status != 409 ||
		!strings.Contains(text, "change 1 cannot be undone") {
		t.Errorf("an undo that needs force: %d %s", status, text)
	}
}

// TestPageLink opens the link, which redirects to an address without the token. Scripts, other sites
// and other folders do not get its cookie.
func TestPageLink(t *testing.T) {
	link := serve(t, (&fake{}).config())
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := c.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	to := r.Header.Get("Location")
	if r.StatusCode != http.StatusSeeOther || !regexp.MustCompile(`^/[0-9a-f]{12}/$`).MatchString(to) {
		t.Errorf("the link leads to %s: %s", to, r.Status)
	}
	cookie := r.Header.Get("Set-Cookie")
	if !strings.HasSuffix(cookie, "; Path="+to+"; HttpOnly; SameSite=Lax") ||
		strings.Contains(cookie, "the-token") {
		t.Errorf("the cookie is %q", cookie)
	}
	if r, err = c.Get(strings.Replace(link, "the-token", "the-toke", 1)); err != nil ||
		r.StatusCode != http.StatusUnauthorized || !r.Close {
		t.Errorf("a wrong token: %v, %v", r, err)
	}
	r.Body.Close()
}

// TestPageShowsHostileText shows texts with markup. They add no elements or attributes, and hidden
// characters become visible.
func TestPageShowsHostileText(t *testing.T) {
	plain := open(t, serve(t, (&fake{n: 4, text: strings.Repeat("x", len(hostile))}).config()))
	b := open(t, serve(t, (&fake{n: 4, text: hostile}).config()))
	for _, path := range paths {
		_, _, want := plain.ask("GET", path, "", nil)
		_, _, got := b.ask("GET", path, "", nil)
		if a, b := shape(t, want), shape(t, got); a != b {
			t.Errorf("%s: hostile text makes elements:\n%s\nnot\n%s", path, b, a)
		}
		if strings.ContainsAny(got, "\x00\x1b\u202e\u200b") {
			t.Errorf("%s: controls are sent", path)
		}
		if path != "nowhere" && !strings.Contains(html.UnescapeString(got),
			"␛[31m␀[U+202E]gnp.exe[U+200B]\ufffd end") {
			t.Errorf("%s: controls are not shown", path)
		}
	}
}

// shape returns the elements of a page with their attributes. It omits values of attributes
// except links, types and similar values.
func shape(t *testing.T, page string) string {
	t.Helper()
	var b strings.Builder
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		switch z.Next() {
		case html.ErrorToken:
			if !errors.Is(z.Err(), io.EOF) {
				t.Fatal(z.Err())
			}
			return b.String()
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			b.WriteString("<" + token.Data)
			for _, a := range token.Attr {
				b.WriteString(" " + a.Key)
				if a.Key == "class" {
					b.WriteString("=" + a.Val)
				}
				if (a.Key == "href" || a.Key == "src" || a.Key == "action") &&
					!strings.HasPrefix(a.Val, "/") && a.Val != "#main" {
					t.Errorf("%s leads to %s", token.Data, a.Val)
				}
			}
			b.WriteString(">\n")
		}
	}
}

// TestPageIsBounded has more of each item than a page shows.
func TestPageIsBounded(t *testing.T) {
	b := open(t, serve(t, (&fake{n: 30000, text: strings.Repeat("long ", 20)}).config()))
	for path, want := range map[string]string{
		"runs": "Show 1900 more runs", "runs?more": "Not shown: 28000 more runs.",
		"runs/run1":    "29900 earlier events are not shown",
		"changes":      "Show 1900 more changes",
		"changes/2":    "This is cut; <code>skill diff 2</code> prints all of it.",
		"trials":       "Show 1900 more trials",
		"trials?more":  "Not shown: 28000 more trials.",
		"servers/srv0": "This is the end of the log; the whole log is in <code>/state/server.log",
		"tests":        "28000 more files are not shown",
	} {
		status, _, text := b.ask("GET", path, "", nil)
		if status != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d, and it does not say %q", path, status, want)
		}
		if len(text) > 4<<20 {
			t.Errorf("%s has %d bytes", path, len(text))
		}
	}
}

// TestPageCountsToABound has more changes than a page counts.
func TestPageCountsToABound(t *testing.T) {
	for n, want := range map[int]string{200: "Show at least 100 more changes",
		199: "Show 99 more changes"} {
		b := open(t, serve(t, (&fake{n: n}).config()))
		if _, _, text := b.ask("GET", "changes", "", nil); !strings.Contains(text, want) {
			t.Errorf("it does not say %q", want)
		}
	}
}

// TestPageCutsNames shows names and sentences that are too long.
func TestPageCutsNames(t *testing.T) {
	b := open(t, serve(t, (&fake{n: 3, text: strings.Repeat("long ", 1<<18)}).config()))
	for _, path := range paths {
		if _, _, text := b.ask("GET", path, "", nil); len(text) > 1<<20 {
			t.Errorf("/%s has %d bytes", path, len(text))
		}
	}
}

// TestPageUndoesAll undoes a run, and a change with all later changes. It finds changes by words.
func TestPageUndoesAll(t *testing.T) {
	f := &fake{n: 150}
	b := open(t, serve(t, f.config()))
	for _, tt := range []struct {
		path, body string
		status     int
		text       string
	}{
		{"runs/run1", "", 200, "the changes of this run are undone"},
		{"changes/3", "&since=1", 200, "Changed files"},
		{"runs/refused", "", 409, ""},
		{"servers/srv1", "", 404, ""},
	} {
		if status, _, text := b.ask("POST", tt.path, "key="+b.key()+tt.body, nil); status != tt.status ||
			!strings.Contains(text, tt.text) {
			t.Errorf("%s: %d %s", tt.path, status, text)
		}
	}
	if got := strings.Join(f.undone, "; "); got != "since , run run1; since 3, run ; since , run refused" {
		t.Errorf("undone is %s", got)
	}
	for find, want := range map[string]string{"WRITE+notes": "150 of 150 changes; 50 of them are not shown",
		"149": "1 of 150 changes", "nothing+notes": "0 of 150 changes"} {
		if _, _, text := b.ask("GET", "changes?find="+find, "", nil); !strings.Contains(text, want) ||
			!strings.Contains(text, `data-stream="/`) {
			t.Errorf("%s: %s", find, text)
		}
	}
}

// TestPageShowsMarkdown shows the Markdown of a model, and the report first.
func TestPageShowsMarkdown(t *testing.T) {
	f := &fake{n: 1, words: "# Done\nI ran `go <test>` and **all** of *it*, 2**3.\n```sh\n**x** <b>\n```\n[x](javascript:alert(1)) ![p](https://example.com/p.png)"}
	b := open(t, serve(t, f.config()))
	_, _, text := b.ask("GET", "runs/run1", "", nil)
	const want = "<h2>Report</h2><div class=\"words\"><strong>Done</strong>\nI ran <code>go &lt;test&gt;</code> and <strong>all</strong> of *it*, 2**3.\n" +
		"<pre class=\"text\">**x** &lt;b&gt;\n</pre>[x](javascript:alert(1)) ![p](https://example.com/p.png)</div>"
	if !strings.Contains(text, want) || strings.Count(text, "<strong>Done") != 1 ||
		strings.Index(text, "Report") > strings.Index(text, `id="h-events"`) {
		t.Errorf("the run is shown as %s", text)
	}
}

// TestPageReadOnly opens a read-only page. It offers no undo, and refuses a request to undo.
func TestPageReadOnly(t *testing.T) {
	f := &fake{n: 5}
	c := f.config()
	key := open(t, serve(t, c)).key() // a page with the same token has the same key
	c.ReadOnly = true
	b := open(t, serve(t, c))
	for _, path := range []string{"", "changes", "changes/2", "trials"} {
		if _, _, text := b.ask("GET", path, "", nil); strings.Contains(text, `method="post"`) {
			t.Errorf("/%s has a form", path)
		}
	}
	if status, _, text := b.ask("POST", "changes/2", "key="+key, nil); status != 404 || len(f.undone) > 0 {
		t.Errorf("an undo is answered %d %s; undone is %v", status, text, f.undone)
	}
}

// TestPageStreams reads a view from a stream, and reads it again after a change.
func TestPageStreams(t *testing.T) {
	x := workspace(t)
	b := open(t, serve(t, pageOf(t, x)))
	r, err := b.Get(b.base + "live/changes")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if kind := r.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("the stream is %s", kind)
	}
	lines := bufio.NewScanner(r.Body)
	until := func(text string) {
		t.Helper()
		for lines.Scan() {
			if line := lines.Text(); line != "" && !strings.HasPrefix(line, "data: ") && line != ":" {
				t.Fatalf("the stream has the line %q", line)
			}
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatal(lines.Err())
	}
	until(`id="change-1"`)
	write(t, x, "more.md", "more")
	until(`id="change-2"`)
}

// TestPageStreamsNothing refuses the stream of a missing view, which would never end.
func TestPageStreamsNothing(t *testing.T) {
	b := open(t, serve(t, (&fake{}).config()))
	if status, _, text := b.ask("GET", "live/nowhere", "", nil); status != 404 {
		t.Errorf("%d %s", status, text)
	}
}

// TestPageHalfOpen opens 1,500 connections that send a part of a request, also with the token. Other clients are
// answered.
func TestPageHalfOpen(t *testing.T) {
	link := serve(t, (&fake{}).config())
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	connect := func(begin string) net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, begin); err != nil {
			t.Fatal(err)
		}
		return c
	}
	for range 500 {
		connect("GET / HT")
		connect("GET /?" + u.RawQuery + " HTTP/1.1\r\nHost: " + u.Host + "\r\n")
		connect("POST /?" + u.RawQuery + " HTTP/1.1\r\nHost: " + u.Host + "\r\nContent-Length: 9\r\n\r\n")
	}
	open(t, link) // the link of the user
	other := connect("GET / HTTP/1.1\r\nHost: " + u.Host + "\r\n\r\n")
	if line, err := bufio.NewReader(other).ReadString('\n'); !strings.Contains(line, "401") {
		t.Errorf("it is answered %q, %v", line, err)
	}
}

// results are failed golden files with long diffs.
type results struct{ n, lines int }

// Results implements [page.Tests].
func (f results) Results(context.Context) (t page.TestRun, err error) {
	for i := range f.n {
		t.Results = append(t.Results,
			page.Result{File: fmt.Sprint(i), Text: strings.Repeat("+line\n", f.lines),
				More: fmt.Sprintf("skill test 'a %d'", i)})
	}
	return t, nil
}

// TestPageBoundsResults has more failed golden files, with longer diffs, than a page shows.
func TestPageBoundsResults(t *testing.T) {
	c := (&fake{}).config()
	c.Tests = results{1000, 1000}
	b := open(t, serve(t, c))
	_, _, text := b.ask("GET", "tests", "", nil)
	for _, file := range []string{"0", "999"} {
		if want := "This is cut; <code>skill test &#39;a " + file + "&#39;</code> prints all of it."; !strings.Contains(text, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if len(text) > 2<<20 {
		t.Errorf("it has %d bytes", len(text))
	}
}
