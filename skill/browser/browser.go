// Package browser takes pictures of web pages: New is what Config.Browser of package
// skill asks for. It is a package of its own because it links the browser's protocol,
// which programs that take no pictures can do without.
package browser

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"

	"textskill/skill"
)

// settle is the time from the page's load to the picture.
const settle = 500 * time.Millisecond

type chromium struct{}

// New returns what drives a Chromium by its DevTools protocol.
func New() skill.Browser { return chromium{} }

// Picture opens p in the browser that listens at endpoint, and takes a picture.
func (chromium) Picture(ctx context.Context, endpoint string, p skill.Page) (pic skill.Picture, err error) {
	pic.URL = p.URL
	at, cancel := remote.NewAllocator(ctx, endpoint, remote.NoModifyURL)
	defer cancel()
	tab, cancelTab := chromedp.NewContext(at)
	defer cancelTab()
	width, height := cmp.Or(p.Width, 1280), cmp.Or(p.Height, 800)
	if err = chromedp.Do(tab, chromedp.EmulateViewport(int64(width), int64(height))); err != nil {
		return pic, broken(ctx, err)
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
	case <-time.After(settle):
	case <-ctx.Done():
	}
	if pic.Title, err = chromedp.Run(tab, chromedp.Title()); err == nil {
		pic.PNG, err = chromedp.Run(tab, take)
	}
	if err != nil {
		return pic, broken(ctx, err)
	}
	return pic, nil
}

// broken is the error of a browser that did not do what it was told.
func broken(ctx context.Context, err error) error { return &skill.BrowserError{Err: cause(ctx, err)} }

// cause is why ctx ended, if it has, else err.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
