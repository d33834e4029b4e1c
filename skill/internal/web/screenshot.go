package web

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"textskill/skill/internal/process"
	"textskill/skill/internal/refusal"
)

// A Page is what a picture is taken of.
type Page struct {
	URL           string
	Width, Height int           // of the window in pixels; 0 means 1280 and 800
	Full          bool          // the whole page, not only what the window shows
	Timeout       time.Duration // 0 means 60 seconds; more than 300 are not waited
}

// A Picture is a picture of a page.
type Picture struct {
	PNG    []byte
	URL    string // after redirects
	Status int    // of HTTP; 0 where there was none
	Title  string
}

// A Browser drives a Chromium that runs and listens for DevTools at endpoint, a
// WebSocket's address: it opens the page and takes the picture. Where that fails,
// Picture.URL is how far it came; what is the browser's fault is a [*BrowserError].
type Browser interface {
	Picture(ctx context.Context, endpoint string, p Page) (Picture, error)
}

// A BrowserError reports that a browser did not do what it was started for.
type BrowserError struct{ Err error }

func (e *BrowserError) Error() string { return "the browser: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *BrowserError) Unwrap() error { return e.Err }

// browsers are the programs that can take a picture; the first one found is used.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "chrome-headless-shell", "headless_shell"}

const (
	shotTimeout = 60 * time.Second
	maxWindow   = 8192 // pixels of a window's side
)

// Screenshot takes a picture of a page, as a browser shows it. The browser is a
// Chromium of this machine; it reaches what other requests may reach, and nothing
// else.
func (c *Client) Screenshot(ctx context.Context, page Page) (pic Picture, err error) {
	if c.cfg.Browser == nil {
		return pic, errors.New("this program has no browser to take pictures with; Config.Browser names one")
	}
	if page.Width < 0 || page.Height < 0 || page.Width > maxWindow || page.Height > maxWindow {
		return pic, &refusal.ArgError{Arg: "width", Reason: fmt.Sprintf("and height are 1 to %d pixels", maxWindow)}
	}
	if page.Timeout <= 0 {
		page.Timeout = shotTimeout
	}
	ctx, cancel := deadline(ctx, page.Timeout)
	defer cancel()
	g := c.guard(nil)
	if _, err := g.parse(page.URL); err != nil {
		return pic, err
	}
	proxy, err := startProxy(g)
	if err != nil {
		return pic, err
	}
	defer proxy.Close()
	b, err := c.startBrowser(ctx, proxy.Addr)
	if err != nil {
		return pic, err
	}
	defer b.close()
	pic, err = c.cfg.Browser.Picture(ctx, b.endpoint, page)
	if failed := proxy.Failure(pic.URL); failed != nil {
		return pic, urlError(page.URL, failed)
	}
	return pic, err
}

// browser is a Chromium that runs, with a folder of its own.
type browser struct {
	endpoint string // of its DevTools
	run      process.Running
	dir      string
}

// startBrowser starts a Chromium that knows no way out but the proxy.
func (c *Client) startBrowser(ctx context.Context, proxy string) (_ *browser, err error) {
	if os.Geteuid() == 0 && !c.cfg.NoSandbox {
		return nil, &refusal.OffError{What: "a browser without its sandbox, which root cannot have,", Flag: "--browser-no-sandbox"}
	}
	dir, err := os.MkdirTemp("", "skill-browser-*")
	if err != nil {
		return nil, err
	}
	b := &browser{dir: dir}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	env := c.run.Environment([]string{"HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_CACHE_HOME=" + dir}, dir)
	path, err := lookBrowser(dir, env)
	if err != nil {
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	if b.run, err = c.run.Start(process.Spec{Path: path, Args: browserArgs(path, dir, proxy, c.cfg.NoSandbox), Env: env, Dir: dir}, null, null); err != nil {
		return nil, &BrowserError{err}
	}
	b.endpoint, err = b.await(ctx)
	return b, err
}

func lookBrowser(dir string, env []string) (string, error) {
	for _, name := range browsers {
		if path, err := process.LookProgram(name, dir, env); err == nil {
			return path, nil
		}
	}
	return "", &BrowserError{fmt.Errorf("none is installed: PATH has no %s", strings.Join(browsers, ", no "))}
}

// browserArgs is the command line. Also names of this machine go through the proxy,
// and what a page sends past it finds no address.
func browserArgs(path, dir, proxy string, noSandbox bool) []string {
	args := []string{path, "--headless=new", "--remote-debugging-port=0", "--user-data-dir=" + dir,
		"--proxy-server=http://" + proxy, "--proxy-bypass-list=<-loopback>", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
		"--disable-quic", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-default-apps",
		"--no-first-run", "--no-default-browser-check", "--no-pings", "--deny-permission-prompts", "--disable-gpu", "--disable-dev-shm-usage",
		"--hide-scrollbars", "--mute-audio", "--password-store=basic", "--use-mock-keychain"}
	if noSandbox {
		args = append(args, "--no-sandbox")
	}
	return append(args, "about:blank")
}

// await waits until the browser has written where its DevTools are.
func (b *browser) await(ctx context.Context) (string, error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case e := <-b.run.Done():
			b.run = nil
			if e.Err != nil {
				return "", &BrowserError{e.Err}
			}
			return "", &BrowserError{fmt.Errorf("it ended at once, with %d", e.Code)}
		case <-ctx.Done():
			return "", &BrowserError{context.Cause(ctx)}
		case <-tick.C:
		}
		data, err := os.ReadFile(filepath.Join(b.dir, "DevToolsActivePort"))
		port, path, ok := strings.Cut(strings.TrimSpace(string(data)), "\n")
		if err == nil && ok {
			return "ws://127.0.0.1:" + port + path, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", &BrowserError{err}
		}
	}
}

// close ends the browser and removes its folder.
func (b *browser) close() {
	if b.run != nil {
		process.End(b.run)
	}
	os.RemoveAll(b.dir)
}
