//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// The web of a row: the original left it to programs (curl, npx) and to a library,
// which were recorded with stubs. Here a server on the loopback interface answers
// what the stub printed, and stands for the host that the row names.

// webTools are the tools that reach other machines.
var webTools = []string{"web_search", "fetch", "download", "check_url", "screenshot"}

var (
	webHost  = regexp.MustCompile(`https://[a-z.]+`)
	curlCode = regexp.MustCompile(`^printf (\d{3})\n$`)
	curlBody = regexp.MustCompile(`^printf "(\d+)"\n$`)
)

// connect starts what the row's calls reach and returns the server's flags.
func (w *stackWorkspace) connect(t *testing.T, row stackRow) []string {
	t.Helper()
	if !slices.Contains(webTools, row.Tool) {
		return nil
	}
	status, body, there := http.StatusOK, "what the stub was asked for", row.Tool != "web_search"
	engine := "duckduckgo"
	if row.Impl != "head" {
		engine = "brave-search"
	}
	for _, s := range row.Setup {
		switch code := curlCode.FindStringSubmatch(s.Script); {
		case s.Op == "http":
			status, body, there = s.Status, s.Body, true
		case s.Name == "curl" && code != nil:
			status, _ = strconv.Atoi(code[1])
			there = status != 0
		case s.Name == "curl" && curlBody.MatchString(s.Script):
			body = curlBody.FindStringSubmatch(s.Script)[1]
		}
	}
	web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		if status >= 300 && status < 400 {
			rw.Header().Set("Location", "/elsewhere")
		}
		rw.WriteHeader(status)
		fmt.Fprint(rw, body)
	}))
	t.Cleanup(web.Close)
	if !there {
		web.Close()
	}
	if row.Tool == "screenshot" {
		w.path = w.bin // where no browser is
	}
	for _, c := range row.Calls {
		if host := webHost.FindString(string(c.Arguments)); host != "" {
			w.far, w.near = host, web.URL
		}
	}
	if engine == "duckduckgo" {
		engine += "=" + web.URL
	}
	return []string{"--allow-private", "--search", engine}
}
