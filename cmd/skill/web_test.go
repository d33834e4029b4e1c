package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestWeb starts the program, opens the page that it prints, looks at a change and at
// results of golden files, and ends it with a signal.
func TestWeb(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for range 2 { // the second one changes nothing
		if _, errs, code := play(t, &cli{console: console{getenv: os.Getenv}}, "writeFile a.txt content: alpha", "-C", dir); code != 0 {
			t.Fatal(errs)
		}
	}
	results := filepath.Join(dir, "results")
	if err := os.WriteFile(results, []byte(`{"file":"a.txtar","ok":true,"seconds":0.1}
{"file":"b.txtar","ok":false,"diff":"-want\n+got\n","seconds":0.1}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: self, Dir: dir, Args: []string{"skill", "web", "--results", "results"}}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	link, err := bufio.NewReader(stdout).ReadString('\n')
	if link = strings.TrimSpace(link); err != nil ||
		!regexp.MustCompile(`^http://127\.0\.0\.1:\d+/\?token=\w{26}$`).MatchString(link) {
		t.Fatalf("the program prints %q, %v", link, err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := http.Client{Jar: jar}
	get := func(url string) (at, text string) {
		t.Helper()
		r, err := browser.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		data, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatal(r.Status, err)
		}
		return r.Request.URL.String(), string(data)
	}
	at, text := get(link)
	if strings.Count(text, "write a.txt") < 2 || strings.Count(text, "changed nothing") != 1 ||
		!strings.Contains(text, "No runs are recorded") || !strings.Contains(text, "not finished") {
		t.Errorf("the page is\n%s", text)
	}
	if _, text = get(at + "changes/1"); !strings.Contains(text, `<span class="add">&#43;alpha`) {
		t.Errorf("the change is\n%s", text)
	}
	if err := os.WriteFile(results,
		[]byte("{\"file\":\"a.txtar\",\"ok\":true}\n{\"passed\":1,\"failed\":0}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, text = get(at + "tests"); !strings.Contains(text, "1 passed, 0 failed") ||
		strings.Contains(text, "not finished") {
		t.Errorf("the results are\n%s", text)
	}
	if err := os.WriteFile(results, []byte("words\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, text = get(at + "tests"); !strings.Contains(text, "holds a line that is no result of skill test --json") {
		t.Errorf("of what are no results it shows\n%s", text)
	}
	if err := os.Remove(results); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(results, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, text = get(at + "tests"); !strings.Contains(text, "results is not a regular file") {
		t.Errorf("of a directory it shows\n%s", text)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}
