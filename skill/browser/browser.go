// Package browser takes screenshots of web pages: New returns a value for Config.Browser
// of package skill. It is a separate package so that programs without screenshots do not
// link the DevTools protocol.
package browser

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/chromedp/chromedp"

	"textskill/skill"
)

// settleTime is the delay between loading the page and taking the picture.
const settleTime = 500 * time.Millisecond

type chromium struct{}

// New returns a Browser that controls Chromium with the DevTools protocol.
func New() skill.Browser { return chromium{} }

// A running browser is an Allocator of one browser, which runs already.
type running struct{ devtools io.ReadWriteCloser }

// Allocate connects to the browser.
func (r running) Allocate(ctx context.Context, opts ...chromedp.BrowserOption) (*chromedp.Browser, error) {
	return chromedp.NewBrowserTransport(ctx, chromedp.NewPipeConn(r.devtools, r.devtools), opts...)
}

// Wait returns at once: who started the browser ends it.
func (running) Wait() {}

// Attaches says that the browser runs already.
func (running) Attaches() bool { return true }

// Picture opens a page in the browser at the other end of devtools, and takes a picture.
func (chromium) Picture(ctx context.Context, devtools io.ReadWriteCloser, p skill.Page) (pic skill.Picture,
	err error) {
	pic.URL = p.URL
	at, cancel := chromedp.NewAllocatorContext(ctx, running{devtools})
	defer cancel()
	tab, cancelTab := chromedp.NewContext(at)
	defer cancelTab()
	width, height := cmp.Or(p.Width, 1280), cmp.Or(p.Height, 800)
	if err = chromedp.Do(tab, chromedp.EmulateViewport(int64(width), int64(height))); err != nil {
		return pic, browserError(ctx, err)
	}
	res, err := chromedp.Run(tab, chromedp.NavigateResponse(p.URL))
	if res != nil {
		pic.URL, pic.Status = res.URL, int(res.Status)
	}
	if err != nil {
		return pic, fmt.Errorf("%s: %w", p.URL, cause(ctx, err))
	}
	take := chromedp.CaptureScreenshot()
	if p.Full {
		take = chromedp.FullScreenshot(100)
	}
	select {
	case <-time.After(settleTime):
	case <-ctx.Done():
	}
	if pic.Title, err = chromedp.Run(tab, chromedp.Title()); err == nil {
		pic.PNG, err = chromedp.Run(tab, take)
	}
	if err != nil {
		return pic, browserError(ctx, err)
	}
	return pic, nil
}

// browserError returns a skill.ErrBrowser for err, or for the cause of ctx's end.
func browserError(ctx context.Context, err error) error {
	return fmt.Errorf("%w: %w", skill.ErrBrowser, cause(ctx, err))
}

// cause returns the cause of ctx's end, or err if ctx has not ended.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
