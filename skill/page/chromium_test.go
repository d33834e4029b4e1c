package page_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/page"
	"textskill/skill/page/runs"
	"textskill/testdata/needs"
)

// patience is how long a test waits for a page.
const patience = time.Minute

// A tab is a page in a browser.
type tab struct {
	*testing.T
	ctx context.Context
}

// openTab starts a browser.
func openTab(t *testing.T, url string) tab {
	t.Helper()
	needs.Browser(t)
	at, cancel := chromedp.NewExecAllocator(t.Context(),
		append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox,
			chromedp.WSURLReadTimeout(patience), chromedp.Flag("disable-dev-shm-usage", true))...)
	t.Cleanup(cancel)
	ctx, cancelTab := chromedp.NewContext(at)
	t.Cleanup(cancelTab)
	b := tab{t, ctx}
	b.do(chromedp.EmulateViewport(1000, 800))
	b.do(chromedp.Navigate(url))
	return b
}

func (b tab) do(a chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, a); err != nil {
		b.Fatal(err)
	}
}

// eval evaluates an expression in the page, and returns its value as text.
func (b tab) eval(expression string) string {
	b.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("String("+expression+")"))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return text
}

// wait waits until an expression is true.
func (b tab) wait(expression string) {
	b.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("String(Boolean("+expression+"))"))
		switch {
		case text == "true":
			return
		case time.Since(began) > patience:
			b.Fatalf("%s does not become true: %v\n%s", expression, err, b.eval("document.body.innerText"))
		}
	}
}

// has waits until the page shows a text.
func (b tab) has(text string) {
	b.Helper()
	b.wait(fmt.Sprintf("document.body?.innerText.includes(%q)", text))
}

// follow clicks a link or a button.
func (b tab) follow(selector string) {
	b.Helper()
	b.wait(fmt.Sprintf("document.querySelector(%q)", selector))
	b.eval(fmt.Sprintf("document.querySelector(%q).click()", selector))
}

// picture takes a picture of the whole page.
func (b tab) picture(name string) {
	b.Helper()
	data, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(b.ArtifactDir(), name+".png"), data, 0o666)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// emulate calls a method of the browser's protocol in its domain Emulation.
func (b tab) emulate(method string, params map[string]any) {
	b.Helper()
	b.do(func(ctx context.Context, t *chromedp.Target) (done chromedp.Void, err error) {
		return done, t.Call(ctx, "Emulation."+method, params, &done)
	})
}

func (b tab) scheme(name string) {
	b.Helper()
	feature := map[string]string{"name": "prefers-color-scheme", "value": name}
	b.emulate("setEmulatedMedia", map[string]any{"features": []any{feature}})
}

// workspace returns a workspace with a file.
func workspace(t *testing.T) *skill.Executor {
	t.Helper()
	x, err := skill.New(skill.Config{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	write(t, x, "notes.md", "before\n")
	return x
}

func write(t *testing.T, x *skill.Executor, name, content string) {
	t.Helper()
	if _, err := x.Execute(t.Context(), &skill.Session{},
		skill.WriteFile{Path: name, Content: content, Parents: true}); err != nil {
		t.Fatal(err)
	}
}

// held fails unless a file has this content.
func held(t *testing.T, x *skill.Executor, name, want string) {
	t.Helper()
	if got, err := os.ReadFile(filepath.Join(x.Dir(), name)); string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
	}
}

func pageOf(t *testing.T, x *skill.Executor) page.Config {
	t.Helper()
	prices, err := agent.ReadPrices(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := page.Workspace{Executor: x}
	return page.Config{Title: x.Dir(), Token: "the-token", Runs: runs.Of(agent.Records{Executor: x}, prices),
		Changes: w.Changes(), Servers: w.Servers()}
}

// serve serves a page until the test ends, and returns the link that opens it.
func serve(t *testing.T, c page.Config) (link string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- page.Serve(ctx, c, "", func(link string) { ready <- link }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case link = <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	return link
}

// steps is a model that passes on the answers of the test.
type steps chan agent.Answer

func (s steps) Next(ctx context.Context, _ agent.Request) (agent.Answer, error) {
	select {
	case a := <-s:
		a.Usage = agent.Usage{InputTokens: 1000, OutputTokens: 50, TotalTokens: 1050}
		return a, nil
	case <-ctx.Done():
		return agent.Answer{}, ctx.Err()
	}
}

func call(name, args string) []agent.Call {
	return []agent.Call{{ID: name, Name: name, Arguments: args}}
}

// begin begins a run. It returns the model, and a function that waits for the end of the run.
func begin(t *testing.T, x *skill.Executor, query string) (steps, func()) {
	t.Helper()
	model, done := make(steps), make(chan error, 1)
	cfg := agent.Config{Executor: x, Model: model, Expert: "writer",
		Experts: map[string]agent.Expert{"writer": {Version: "1.0.0", Instruction: "You write."}},
		RunID:   "r1", About: agent.About{Provider: "openai", Model: "gpt-4o"}}
	ctx := t.Context()
	go func() {
		var last error
		for _, err := range agent.Run(ctx, cfg, query) {
			last = err
		}
		done <- last
	}()
	return model, func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestRunIsFollowedAndUndone follows a run as it happens, and undoes its changes, with the script
// and without it. It also undoes a change of a file that was changed later.
func TestRunIsFollowedAndUndone(t *testing.T) {
	x := workspace(t)
	b := openTab(t, serve(t, pageOf(t, x)))
	b.has("No runs are recorded")
	if at := b.eval("location.href"); strings.Contains(at, "token") {
		t.Errorf("the address is %s", at)
	}
	b.eval("window.loaded = 1")

	model, end := begin(t, x, "Write the notes anew")
	b.has("Write the notes anew")
	b.has("running")
	if b.eval("window.loaded") != "1" {
		t.Error("the page was loaded again")
	}
	b.follow(`a[href$="/runs/r1"]`)
	b.has("Step 1 · writer begins")
	b.eval("window.loaded = 1")
	model <- agent.Answer{Text: "I write them now.",
		Calls: call("writeTextFile", `{"path":"notes.md","text":"after\n","note":"`+
			strings.Repeat(`a line\n`, 20)+`"}`)}
	b.has("I write them now.")
	b.has("Step 1 · calls writeTextFile")
	b.has("Step 1 · result of writeTextFile")
	b.has("step 2 · 1050 tokens · $0.0030")
	held(t, x, "notes.md", "after\n")
	b.follow("summary") // must stay open after updates
	model <- agent.Answer{Calls: call("attemptCompletion", "{}")}
	model <- agent.Answer{Text: "The notes are written."}
	end()
	b.has("completed")
	b.has("Step 2 · reports")
	if b.eval("window.loaded") != "1" {
		t.Error("the page was loaded again")
	}
	if b.eval(`document.querySelector("details").open`) != "true" {
		t.Error("what was opened is closed")
	}
	b.picture("run")

	b.follow(`a[href$="/changes/2"]`)
	b.has("-before")
	b.has("+after")
	b.picture("change")
	b.follow("#undo-2")
	b.has("Done: change 2 is undone.")
	held(t, x, "notes.md", "before\n")
	b.picture("undone")
	b.follow("#undo-3") // a redo
	b.has("Done: change 3 is undone.")
	held(t, x, "notes.md", "after\n")

	if err := os.WriteFile(filepath.Join(x.Dir(), "notes.md"), []byte("by another\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	b.follow("#undo-4")
	b.has("Nothing was undone: change 4 cannot be undone: ")
	held(t, x, "notes.md", "by another\n")
	b.picture("refused")
	b.follow(".notice button")
	b.has("Done: change 4 is undone.")
	held(t, x, "notes.md", "before\n")

	b.emulate("setScriptExecutionDisabled", map[string]any{"value": true})
	b.do(chromedp.Reload())
	b.has("Reload the page to see changes.")
	redo := b.eval(`document.querySelector("form button").id`)
	b.do(chromedp.Click("#" + redo))
	b.has("Done: change " + strings.TrimPrefix(redo, "undo-") + " is undone.")
	held(t, x, "notes.md", "by another\n")
}

// TestPageOpensFromAnotherSite clicks the link in a page of another site, such as a terminal in a
// browser.
func TestPageOpensFromAnotherSite(t *testing.T) {
	link := serve(t, pageOf(t, workspace(t)))
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<!doctype html><a id="link" href="%s">open</a>`, link)
	}))
	t.Cleanup(other.Close)
	b := openTab(t, strings.Replace(other.URL, "127.0.0.1", "localhost", 1))
	b.do(chromedp.Click("#link"))
	b.wait(`location.hostname === "127.0.0.1" && document.readyState === "complete"`)
	b.has("No runs are recorded")
}

// TestPageFits opens all views on a phone and in a window, in both colour schemes. Texts of one
// long word fit, and no text becomes markup.
func TestPageFits(t *testing.T) {
	f := &fake{n: 4, text: hostile + strings.Repeat("long", 100)}
	b := openTab(t, serve(t, f.config()))
	base := strings.TrimSuffix(b.eval("location.href"), "/")
	for _, size := range []struct {
		name          string
		width, height int64
	}{{"phone", 375, 667}, {"tablet", 768, 1024}, {"desk", 1440, 900}} {
		b.do(chromedp.EmulateViewport(size.width, size.height))
		for _, path := range paths {
			b.do(chromedp.Navigate(base + "/" + path))
			for _, scheme := range []string{"light", "dark"} {
				b.scheme(scheme)
				if wide := b.eval("document.scrollingElement.scrollWidth > innerWidth"); wide != "false" {
					t.Errorf("/%s on a %s scrolls sideways, for %s", path, size.name,
						b.eval(`[...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > innerWidth && !e.closest("pre")).map(e => e.outerHTML.slice(0, 100)).join("\n")`))
				}
				if low := b.eval(contrast); low != "" {
					t.Errorf("/%s in %s colours cannot be read well:\n%s", path, scheme, low)
				}
			}
			if title := b.eval("document.title"); title == "owned" {
				t.Fatalf("/%s carries out hostile text", path)
			}
			if wrong := b.eval(unnamed); wrong != "" {
				t.Errorf("/%s has what a screen reader cannot name: %s", path, wrong)
			}
		}
	}
}

// contrast lists the texts with a contrast below 4.5 to 1.
const contrast = `(() => {
	const channels = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
	const light = (c) => { const [r, g, b] = c.map((v) => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
	const ground = (e) => { for (; e; e = e.parentElement) { const c = channels(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0) return c; } return [255, 255, 255]; };
	const low = new Set();
	for (const e of document.querySelectorAll("body *")) {
		if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || e.closest(".sr, noscript, .skip")) continue;
		const [a, b] = [light(channels(getComputedStyle(e).color).slice(0, 3)), light(ground(e).slice(0, 3))];
		const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		if (ratio < 4.5) low.add(e.tagName + "." + e.className + " " + ratio.toFixed(2));
	}
	return [...low].join("\n");
})()`

// unnamed lists elements without a name for screen readers, headings that skip a level, and
// duplicate IDs.
const unnamed = `(() => {
	const wrong = [];
	for (const e of document.querySelectorAll("a, button, summary, [role=region], nav")) {
		const by = e.getAttribute("aria-labelledby");
		if (!(e.textContent.trim() || e.ariaLabel) || by && !document.getElementById(by)) wrong.push(e.outerHTML.slice(0, 100));
	}
	let level = 0;
	for (const h of document.querySelectorAll("h1, h2, h3")) {
		const n = Number(h.tagName[1]);
		if (n > level + 1) wrong.push(h.outerHTML.slice(0, 100));
		level = n;
	}
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push("two of " + id);
	if (document.querySelectorAll("main, header, footer, h1").length !== 4) wrong.push("landmarks");
	return wrong.join("\n");
})()`

// TestPageByAxe checks all views with axe-core. SKILL_TEST_AXE is the path of axe.min.js.
func TestPageByAxe(t *testing.T) {
	script, err := os.ReadFile(os.Getenv("SKILL_TEST_AXE"))
	if err != nil {
		t.Skip("needs axe-core: npm install axe-core, and set SKILL_TEST_AXE to its axe.min.js")
	}
	x := workspace(t)
	write(t, x, "notes.md", "after\n")
	write(t, x, "a/b.go", "package b\n")
	if _, err := x.Execute(t.Context(), &skill.Session{}, skill.MoveFile{Source: "a", Dest: "c"}); err != nil {
		t.Fatal(err)
	}
	model, end := begin(t, x, "Write the notes")
	c := pageOf(t, x)
	f := &fake{n: 3, text: "site"}
	c.Tests, c.Servers = f, fakeServers{f}
	model <- agent.Answer{Text: "I look at the notes first.",
		Calls: call("readTextFile", `{"path":"notes.md"}`)}
	model <- agent.Answer{Calls: call("readTextFile", `{"path":"missing.md"}`)}
	model <- agent.Answer{Calls: call("writeTextFile", `{"path":"notes.md","text":"more\n"}`)}
	model <- agent.Answer{Calls: call("attemptCompletion", "{}")}
	model <- agent.Answer{Text: "# Summary\nI wrote **notes.md**."}
	end()
	b := openTab(t, serve(t, c))
	base := strings.TrimSuffix(b.eval("location.href"), "/")
	const found = `(globalThis.found = undefined, axe.run().then((r) => globalThis.found = r.violations.map((v) => v.id + ": " + v.help + "\n" + v.nodes.map((n) => n.html.slice(0, 150)).join("\n")).join("\n")), "")`
	for _, path := range []string{"", "runs/r1", "changes", "changes?q=notes", "changes/2", "changes/4",
		"changes/5", "servers", "servers/srv0", "tests", "nothing"} {
		b.do(chromedp.Navigate(base + "/" + path))
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](string(script)+`;""`)); err != nil {
				t.Fatal(err)
			}
			b.eval(found)
			b.wait("globalThis.found !== undefined")
			if wrong := b.eval("globalThis.found"); wrong != "" {
				t.Errorf("/%s in %s colours:\n%s", path, scheme, wrong)
			}
		}
	}
	b.eval(`document.querySelector("main").append(document.createElement("img"))`)
	b.eval(found)
	b.wait(`globalThis.found?.includes("image-alt")`)
}

// TestPageByKeyboard opens and undoes a change with the keyboard only.
func TestPageByKeyboard(t *testing.T) {
	x := workspace(t)
	write(t, x, "notes.md", "after\n")
	b := openTab(t, serve(t, pageOf(t, x)))
	const active = `(document.activeElement.innerText || document.activeElement.tagName).trim()`
	// until presses Tab until the focused element has a text.
	until := func(want string) {
		t.Helper()
		for range 40 {
			b.do(chromedp.KeyEvent("\t"))
			if outline := b.eval("getComputedStyle(document.activeElement).outlineStyle"); outline == "none" {
				t.Errorf("it cannot be seen that %s has the focus", b.eval(active))
			}
			if strings.Contains(strings.Join(strings.Fields(b.eval(active)), " "), want) {
				return
			}
		}
		t.Fatalf("Tab does not reach %s", want)
	}
	enter := func() { b.do(chromedp.KeyEvent("\r")) }
	until("Skip to the content")
	enter()
	until("2 write notes.md")
	enter()
	b.wait(`document.querySelector("h1")?.innerText === "Change 2"`)
	until("Undo change 2")
	enter()
	b.has("Done: change 2 is undone.")
	held(t, x, "notes.md", "before\n")
	b.wait(`document.activeElement.className === "notice good"`)
	until("Redo change 2")
	enter()
	b.has("Done: change 3 is undone.")
	held(t, x, "notes.md", "after\n")
}

// TestPagePictures takes pictures of every view, for people to look at: go test -artifacts.
func TestPagePictures(t *testing.T) {
	needs.Long(t, "6 s") // TestPageFits opens the same views
	needs.Browser(t)
	x := workspace(t)
	write(t, x, "notes.md", "after\nand more\n")
	write(t, x, "a/b.go", "package b\n\nfunc B() int {\n\treturn 1\n}\n")
	write(t, x, "a/b.go", "package b\n\nfunc B() int {\n\treturn 2\n}\n")
	model, end := begin(t, x, "Read the notes, and write a summary of what they say into summary.md")
	c := pageOf(t, x)
	f := &fake{n: 3, text: "site"}
	c.Tests, c.Servers = f, fakeServers{f}
	model <- agent.Answer{Text: "I look at the notes first.", Calls: call("readTextFile", `{"path":"notes.md"}`)}
	model <- agent.Answer{Calls: call("readTextFile", `{"path":"missing.md"}`)}
	model <- agent.Answer{Calls: call("writeTextFile", `{"path":"summary.md","text":"`+
		strings.Repeat(`A line of the summary.\n`, 12)+`"}`)}
	b := openTab(t, serve(t, c))
	base := strings.TrimSuffix(b.eval("location.href"), "/")
	for _, size := range []struct {
		name          string
		width, height int64
	}{{"phone", 375, 667}, {"tablet", 768, 1024}, {"desk", 1440, 900}} {
		b.do(chromedp.EmulateViewport(size.width, size.height))
		for _, path := range []string{"", "runs/r1", "changes", "changes/4", "servers",
			"servers/srv0", "tests"} {
			b.do(chromedp.Navigate(base + "/" + path))
			for _, scheme := range []string{"light", "dark"} {
				b.scheme(scheme)
				name := strings.ReplaceAll(cmp.Or(path, "overview"), "/", "-")
				b.picture(name + "-" + size.name + "-" + scheme)
			}
		}
	}
	model <- agent.Answer{Calls: call("attemptCompletion", "{}")}
	model <- agent.Answer{Text: "# Summary\nI wrote `summary.md`, with **twelve** lines.\n```sh\ncat summary.md\n```"}
	end()
	b.do(chromedp.Navigate(base + "/runs/r1"))
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		b.picture("runs-r1-completed-" + scheme)
	}
}
