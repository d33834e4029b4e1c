package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"textskill/skill/internal/process"
	"textskill/skill/internal/refusal"
	"textskill/skill/internal/workspace/tree"
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

// A Browser takes a picture of a page with a running Chromium, to which it talks through
// devtools: messages of the DevTools protocol, each ended by a NUL. If that fails,
// Picture.URL is the last address that was reached. Failures of the browser itself are a
// [ErrBrowser].
type Browser interface {
	Picture(ctx context.Context, devtools io.ReadWriteCloser, p Page) (Picture, error)
}

// ErrBrowser reports a browser that is missing or failed.
var ErrBrowser = errors.New("the browser")

func browserError(err error) error { return fmt.Errorf("%w: %w", ErrBrowser, err) }

// browsers lists the programs that can take a picture, in order of preference.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
	"chrome-headless-shell", "headless_shell"}

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
		return pic, &refusal.ArgError{Arg: "width",
			Reason: fmt.Sprintf("and height are 1 to %d pixels", maxWindow)}
	}
	if page.Timeout <= 0 {
		page.Timeout = screenshotTimeout
	}
	ctx, cancel := withTimeout(ctx, page.Timeout)
	defer cancel()
	g := c.guard(nil)
	g.towards(page.URL, c.run)
	if _, err := g.parse(page.URL); err != nil {
		return pic, err
	}
	gate, err := c.openGate(g, "")
	if err != nil {
		return pic, err
	}
	defer gate.Close()
	b, err := c.startBrowser(gate)
	if err != nil {
		return pic, err
	}
	defer b.close()
	pic, err = c.cfg.Browser.Picture(ctx, b.devtools, page)
	if failed := gate.Failure(pic.URL); failed != nil {
		return pic, urlError(page.URL, failed)
	}
	return pic, b.explain(err)
}

// A browser is a running Chromium with its own profile directory.
type browser struct {
	devtools pipes // no other process reaches them
	run      process.Running
	profile  *tree.Temp
}

// pipes are two pipes, one to a program and one from it.
type pipes struct{ in, out *os.File }

func (p pipes) Read(b []byte) (int, error)  { return p.out.Read(b) }
func (p pipes) Write(b []byte) (int, error) { return p.in.Write(b) }
func (p pipes) Close() error                { return errors.Join(p.in.Close(), p.out.Close()) }

// startBrowser starts a Chromium that writes its own directory only, and reaches the
// network only through the gate.
func (c *Client) startBrowser(gate *Gate) (_ *browser, err error) {
	if os.Geteuid() == 0 && !c.cfg.NoSandbox {
		return nil, refusal.Off("a browser without its sandbox, which root cannot have,",
			"browser-no-sandbox = true in skill.toml")
	}
	program, err := c.run.FindProgram(browsers...)
	if spawn, ok := errors.AsType[*process.SpawnError](err); ok && spawn.PassedOver == "" {
		err = fmt.Errorf("none is installed: PATH has no %s", strings.Join(browsers, ", no "))
	}
	if err != nil {
		return nil, browserError(err)
	}
	profile, err := newProfile()
	if err != nil {
		return nil, err
	}
	b, dir := &browser{profile: profile}, profile.Path
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer theirOut.Close()
	b.devtools = pipes{in, out}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	spec := process.Spec{
		Path: program.Path, Args: browserArgs(program.Name, dir, gate.Addr, c.cfg.NoSandbox), Dir: dir,
		Files: []*os.File{theirIn, theirOut},
		Env: c.run.Environment([]string{"HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_CACHE_HOME=" + dir,
			"XDG_RUNTIME_DIR=" + dir, "TMPDIR=" + dir, "PATH=" + c.run.SafePath()}, dir),
		Needs: process.Needs{Write: []string{dir}, Gate: gate.Gate},
	}
	if !c.cfg.NoSandbox {
		spec.Needs.Write = append(spec.Needs.Write, "/proc") // the browser's own sandbox maps users there
	}
	if b.run, err = c.run.Start(spec, null, null); err != nil {
		return nil, browserError(err)
	}
	return b, nil
}

// newProfile makes a directory for a browser's files. Its name is short, for the browser
// makes a socket in it, whose path is 71 bytes longer than that of the folder for temporary
// files; macOS allows 103 and has long names for that folder.
func newProfile() (*tree.Temp, error) {
	temp := os.TempDir()
	if len(temp) > 103-71 && runtime.GOOS != "windows" {
		temp = "/tmp"
	}
	return tree.MakeTempIn(temp, "browser-")
}

// explain returns err, or how the browser ended if it ended by itself.
func (b *browser) explain(err error) error {
	if err == nil {
		return nil
	}
	select {
	case e := <-b.run.Done():
		b.run = nil
		if e.Err != nil {
			return browserError(e.Err)
		}
		return browserError(fmt.Errorf("it ended at once, with %d", e.ExitCode))
	case <-time.After(100 * time.Millisecond):
		return err
	}
}

// browserArgs returns the command line of the browser. Even loopback addresses go
// through the proxy, and no name resolves without it.
func browserArgs(path, dir, proxy string, noSandbox bool) []string {
	args := []string{path, "--headless=new", "--remote-debugging-pipe", "--user-data-dir=" + dir,
		"--proxy-server=http://" + proxy, "--proxy-bypass-list=<-loopback>",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
		"--disable-quic", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-extensions", "--disable-default-apps",
		"--no-first-run", "--no-default-browser-check", "--no-pings", "--deny-permission-prompts",
		"--disable-gpu", "--disable-dev-shm-usage",
		"--hide-scrollbars", "--mute-audio", "--password-store=basic", "--use-mock-keychain"}
	if noSandbox {
		args = append(args, "--no-sandbox")
	}
	return append(args, "about:blank")
}

// close ends the browser and removes its directory.
func (b *browser) close() {
	b.devtools.Close()
	if b.run != nil {
		process.End(b.run)
	}
	b.profile.Remove()
}
