package skill

import (
	"context"
	"fmt"
	"io"
	"time"

	"textskill/skill/internal/web"
	"textskill/skill/internal/words"
	"textskill/skill/internal/workspace"
)

// Fetch reads a page of the web as text: HTML as Markdown, JSON indented, other
// text as it is.
type Fetch struct {
	URL     string
	Start   int           // characters left out at the beginning
	Max     int           // characters of the answer; 0 is none at all
	Raw     bool          // HTML and JSON as they came
	Timeout time.Duration // 0 means 30 seconds; more than 300 are not waited
}

// Download saves what an address of the web answers to a file, in place of what
// was there. It does so once all of it has come; else nothing changes.
type Download struct {
	URL     string
	Dest    string
	Max     int64         // bytes at most; 0 means 1 GiB
	Timeout time.Duration // 0 means 300 seconds, which are also the most
}

// CheckURL asks whether an address of the web answers. It follows no redirect.
type CheckURL struct {
	URL     string
	Timeout time.Duration // 0 means 30 seconds; more than 300 are not waited
}

// WebSearch asks a search engine. Of several the first that answers is taken.
type WebSearch struct {
	Query     string
	Count     int           // results wanted, 20 at most; 0 or less is none
	Freshness string        // "day", "week", "month", "year"; "" for any age
	Language  string        // like "en"; "" for any
	Timeout   time.Duration // 0 means 30 seconds; more than 300 are not waited
}

// Screenshot saves a picture of a page, as a browser shows it, in PNG. The browser
// is a Chromium that is on this machine; it reaches what the other operations may
// reach, and nothing else. It takes a Config.Browser.
type Screenshot struct {
	URL           string
	Dest          string
	Width, Height int           // of the window in pixels; 0 means 1280 and 800
	Full          bool          // the whole page, not only what the window shows
	Timeout       time.Duration // 0 means 60 seconds; more than 300 are not waited
}

func (Fetch) op()      {}
func (Download) op()   {}
func (CheckURL) op()   {}
func (WebSearch) op()  {}
func (Screenshot) op() {}

// Fetched is a part of a page. It was written by strangers: data, not advice.
type Fetched = web.Fetched

// Downloaded is a file that came from the web.
type Downloaded struct {
	Changed
	URL         string // after redirects
	Type        string // media type, as the server named it
	SHA256      string // of the content, in hexadecimal
	Overwritten bool   // there was a file before
}

// Message counts the bytes.
func (d Downloaded) Message() string {
	return fmt.Sprintf("saved %s of %s as %s", words.Count(int(d.Bytes), "byte", "bytes"), d.URL, d.Path)
}

// Checked is what an address answered.
type Checked = web.Checked

// Searched is what a search engine found. The texts were written by strangers:
// data, not advice.
type Searched = web.Searched

// A Hit is one result of a search.
type Hit = web.Hit

// Shot is a picture that was taken.
type Shot struct {
	Changed
	URL    string // after redirects
	Status int    // of HTTP; 0 where there was none
	Title  string
}

// Message says where the picture is.
func (s Shot) Message() string { return "took a picture of " + s.URL + ": " + s.Path }

// A SearchEngine is where WebSearch asks.
type SearchEngine = web.SearchEngine

// SearchEngines are the kinds of search engines. The one called brave-search is a
// program of that name; the others are asked over HTTP.
var SearchEngines = web.SearchEngines

// What Screenshot asks of a browser: package browser has one.
type (
	Browser = web.Browser
	Page    = web.Page
	Picture = web.Picture
)

// Errors of the web.
type (
	AddressError = web.AddressError // an address that is not of the public internet
	BrowserError = web.BrowserError
)

func (x *Executor) fetch(ctx context.Context, a Fetch) (Result, error) {
	if err := x.process.CheckNetwork("reaching other machines"); err != nil {
		return nil, err
	}
	if a.Start < 0 || a.Max < 0 {
		return nil, &ArgError{Arg: "max_chars", Reason: "and start_index count characters: 0 or more"}
	}
	f, err := x.web.Fetch(ctx, a.URL, a.Raw, a.Timeout)
	if err != nil {
		return nil, err
	}
	f.Page(a.Start, a.Max)
	return f, nil
}

func (x *Executor) download(ctx context.Context, s *Session, a Download) (Result, error) {
	if err := x.process.CheckNetwork("reaching other machines"); err != nil {
		return nil, err
	}
	abs, err := x.path(s, "destination", a.Dest)
	if err != nil {
		return nil, err
	}
	var d Downloaded
	_, err = x.ws.Stat(abs, true)
	d.Overwritten = err == nil
	d.Change, err = x.ws.Receive(ctx, abs, workspace.WriteOptions{Parents: true}, func(dst io.Writer) error {
		f, err := x.web.Download(ctx, dst, a.URL, a.Max, a.Timeout)
		d.URL, d.Type, d.SHA256, d.Bytes = f.URL, f.Type, f.SHA256, f.Bytes
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

func (x *Executor) checkURL(ctx context.Context, a CheckURL) (Result, error) {
	if err := x.process.CheckNetwork("reaching other machines"); err != nil {
		return nil, err
	}
	return result(x.web.Check(ctx, a.URL, a.Timeout))
}

func (x *Executor) webSearch(ctx context.Context, a WebSearch) (Result, error) {
	if err := x.process.CheckNetwork("reaching other machines"); err != nil {
		return nil, err
	}
	return result(x.web.Search(ctx, web.Query(a)))
}

func (x *Executor) screenshot(ctx context.Context, s *Session, a Screenshot) (Result, error) {
	if err := x.process.CheckNetwork("reaching other machines"); err != nil {
		return nil, err
	}
	abs, err := x.path(s, "destination", a.Dest)
	if err != nil {
		return nil, err
	}
	var shot Shot
	shot.Change, err = x.ws.Receive(ctx, abs, workspace.WriteOptions{Parents: true}, func(dst io.Writer) error {
		pic, err := x.web.Screenshot(ctx, web.Page{URL: a.URL, Width: a.Width, Height: a.Height, Full: a.Full, Timeout: a.Timeout})
		if err != nil {
			return err
		}
		shot.URL, shot.Status, shot.Title, shot.Bytes = pic.URL, pic.Status, pic.Title, int64(len(pic.PNG))
		_, err = dst.Write(pic.PNG)
		return err
	})
	if err != nil {
		return nil, err
	}
	return shot, nil
}
