package skill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"

	"textskill/skill/internal/process"
	"textskill/skill/internal/workspace"
)

// Screenshot saves a picture of a page, as a browser shows it, in PNG. The browser
// is a Chromium that is on this machine; it reaches what the other operations may
// reach, and nothing else.
type Screenshot struct {
	URL           string
	Dest          string
	Width, Height int           // of the window in pixels; 0 means 1280 and 800
	Full          bool          // the whole page, not only what the window shows
	Timeout       time.Duration // 0 means 60 seconds; more than 300 are not waited
}

func (Screenshot) op() {}

// Shot is a picture that was taken.
type Shot struct {
	Changed
	URL    string // after redirects
	Status int    // of HTTP; 0 where there was none
	Title  string
}

// Message tells where the picture is.
func (s Shot) Message() string { return "took a picture of " + s.URL + ": " + s.Path }

// A BrowserError reports that a browser did not do what it was started for.
type BrowserError struct{ Err error }

func (e *BrowserError) Error() string { return "the browser: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *BrowserError) Unwrap() error { return e.Err }

// browsers are the programs that can take a picture, the first found is taken.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "chrome-headless-shell", "headless_shell"}

const (
	shotTimeout = 60 * time.Second
	shotSettle  = 500 * time.Millisecond // from the page's load to the picture
	maxWindow   = 8192                   // pixels of a window's side
)

func (x *Executor) screenshot(ctx context.Context, s *Session, a Screenshot) (Result, error) {
	if err := x.mayReach(); err != nil {
		return nil, err
	}
	if a.Width < 0 || a.Height < 0 || a.Width > maxWindow || a.Height > maxWindow {
		return nil, &ArgError{Arg: "width", Reason: fmt.Sprintf("and height are 1 to %d pixels", maxWindow)}
	}
	abs, err := x.path(s, "destination", a.Dest)
	if err != nil {
		return nil, err
	}
	if a.Timeout <= 0 {
		a.Timeout = shotTimeout
	}
	var shot Shot
	change, err := x.ws.Receive(ctx, abs, workspace.WriteOptions{Parents: true}, func(dst io.Writer) error {
		limited, cancel := deadline(ctx, a.Timeout)
		defer cancel()
		g := x.guard(nil)
		if _, err := g.parse(a.URL); err != nil {
			return err
		}
		taken, png, err := x.picture(limited, g, a)
		if err != nil {
			return err
		}
		shot = taken
		shot.Bytes = int64(len(png))
		_, err = dst.Write(png)
		return err
	})
	if err != nil {
		return nil, err
	}
	shot.Change = change
	return shot, nil
}

// picture starts a browser, lets it open the page, and takes the picture.
func (x *Executor) picture(ctx context.Context, g *guard, a Screenshot) (shot Shot, png []byte, err error) {
	proxy, err := startProxy(g)
	if err != nil {
		return shot, nil, err
	}
	defer proxy.close()
	b, err := x.startBrowser(ctx, proxy.addr)
	if err != nil {
		return shot, nil, err
	}
	defer b.close()
	at, cancel := remote.NewAllocator(ctx, b.endpoint, remote.NoModifyURL)
	defer cancel()
	tab, cancelTab := chromedp.NewContext(at)
	defer cancelTab()
	width, height := cmp.Or(a.Width, 1280), cmp.Or(a.Height, 800)
	if err = chromedp.Do(tab, chromedp.EmulateViewport(int64(width), int64(height))); err != nil {
		return shot, nil, &BrowserError{browserError(ctx, err)}
	}
	res, err := chromedp.Run(tab, chromedp.NavigateResponse(a.URL))
	shot.URL = a.URL
	if res != nil {
		shot.URL, shot.Status = res.URL, int(res.Status)
	}
	if failed := proxy.failure(shot.URL); failed != nil {
		return shot, nil, &URLError{a.URL, failed}
	}
	if err != nil {
		return shot, nil, &URLError{a.URL, browserError(ctx, err)}
	}
	take := chromedp.CaptureScreenshot()
	if a.Full {
		take = chromedp.FullScreenshot(100)
	}
	select {
	case <-time.After(shotSettle):
	case <-ctx.Done():
	}
	if shot.Title, err = chromedp.Run(tab, chromedp.Title()); err == nil {
		png, err = chromedp.Run(tab, take)
	}
	if err != nil {
		return shot, nil, &BrowserError{browserError(ctx, err)}
	}
	return shot, png, nil
}

func browserError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// browser is a Chromium that runs, with a folder of its own.
type browser struct {
	endpoint string // of its DevTools
	run      process.Running
	dir      string
}

// startBrowser starts a Chromium that knows no way out but the proxy.
func (x *Executor) startBrowser(ctx context.Context, proxy string) (_ *browser, err error) {
	if os.Geteuid() == 0 && !x.cfg.NoSandbox {
		return nil, &OffError{What: "a browser without its sandbox, which root cannot have,", Flag: "--browser-no-sandbox"}
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
	env := x.process.Environment([]string{"HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_CACHE_HOME=" + dir}, dir)
	path, err := lookBrowser(dir, env)
	if err != nil {
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	if b.run, err = x.process.Start(process.Spec{Path: path, Args: browserArgs(path, dir, proxy, x.cfg.NoSandbox), Env: env, Dir: dir}, null, null); err != nil {
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
