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

// A Page is a web page to take a picture of.
type Page struct {
	URL           string
	Width, Height int           // of the window, in pixels; 0 means 1280 and 800
	Full          bool          // the whole page, not only the part that the window shows
	Timeout       time.Duration // 0 means 60 seconds; the maximum is 300 seconds
}

// A Picture is a screenshot of a page.
type Picture struct {
	PNG    []byte
	URL    string // the last one, after redirects
	Status int    // HTTP status; 0 if there was no response
	Title  string
}

// A Browser takes a picture of a page with a running Chromium, whose DevTools listen at
// endpoint, a WebSocket address. If that fails, Picture.URL is the last address that was
// reached. Failures of the browser itself are [ErrBrowser].
type Browser interface {
	Picture(ctx context.Context, endpoint string, p Page) (Picture, error)
}

// ErrBrowser reports a browser that is missing or failed.
var ErrBrowser = errors.New("the browser")

func browserError(err error) error { return fmt.Errorf("%w: %w", ErrBrowser, err) }

// browsers lists the programs that can take a picture, in order of preference.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "chrome-headless-shell", "headless_shell"}

const (
	screenshotTimeout = 60 * time.Second
	maxWindow         = 8192 // pixels of width or height
)

// Screenshot takes a picture of a page with a Chromium that is installed on this machine.
// The browser connects only as the guard of c allows.
func (c *Client) Screenshot(ctx context.Context, page Page) (pic Picture, err error) {
	if c.cfg.Browser == nil {
		return pic, errors.New("this program has no browser to take pictures with; Config.Browser names one")
	}
	if page.Width < 0 || page.Height < 0 || page.Width > maxWindow || page.Height > maxWindow {
		return pic, &refusal.ArgError{Arg: "width", Reason: fmt.Sprintf("and height are 1 to %d pixels", maxWindow)}
	}
	if page.Timeout <= 0 {
		page.Timeout = screenshotTimeout
	}
	ctx, cancel := withTimeout(ctx, page.Timeout)
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

// A browser is a running Chromium with its own profile directory.
type browser struct {
	endpoint string // WebSocket address of its DevTools
	run      process.Running
	dir      string
}

// startBrowser starts a Chromium that reaches the network only through the proxy.
func (c *Client) startBrowser(ctx context.Context, proxy string) (_ *browser, err error) {
	if os.Geteuid() == 0 && !c.cfg.NoSandbox {
		return nil, refusal.Off("a browser without its sandbox, which root cannot have,", "--browser-no-sandbox")
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
		return nil, browserError(err)
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
	return "", fmt.Errorf("%w: none is installed: PATH has no %s", ErrBrowser, strings.Join(browsers, ", no "))
}

// browserArgs returns the command line of the browser. Even loopback addresses go
// through the proxy, and no name resolves without it.
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

// await waits until the browser has written the address of its DevTools to a file.
func (b *browser) await(ctx context.Context) (string, error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case e := <-b.run.Done():
			b.run = nil
			if e.Err != nil {
				return "", browserError(e.Err)
			}
			return "", fmt.Errorf("%w: it ended at once, with %d", ErrBrowser, e.Code)
		case <-ctx.Done():
			return "", browserError(context.Cause(ctx))
		case <-tick.C:
		}
		data, err := os.ReadFile(filepath.Join(b.dir, "DevToolsActivePort"))
		port, path, ok := strings.Cut(strings.TrimSpace(string(data)), "\n")
		if err == nil && ok {
			return "ws://127.0.0.1:" + port + path, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", browserError(err)
		}
	}
}

// close ends the browser and removes its directory.
func (b *browser) close() {
	if b.run != nil {
		process.End(b.run)
	}
	os.RemoveAll(b.dir)
}
