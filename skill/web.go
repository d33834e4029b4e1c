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

// Fetch reads a web page as text: HTML as Markdown, JSON indented, other text as it is. It
// returns a [Fetched].
type Fetch struct {
	URL     string
	Start   int           // number of characters to skip
	Max     int           // maximum number of characters; 0 means none
	Raw     bool          // do not convert HTML and JSON
	Timeout time.Duration // 0 means 30 seconds; the maximum is 300 seconds
}

// Download saves the content of a web address to a file. A file at Dest is replaced, but
// only after the download is complete. It returns a [Downloaded].
type Download struct {
	URL     string
	Dest    string
	Max     int64         // maximum number of bytes; 0 means 1 GiB
	Timeout time.Duration // 0 means 300 seconds, the maximum
}

// CheckURL requests a web address, without following redirects. It returns a [Checked].
type CheckURL struct {
	URL     string
	Timeout time.Duration // 0 means 30 seconds; the maximum is 300 seconds
}

// WebSearch returns the results of the first search engine that answers, as a [Searched].
type WebSearch struct {
	Query     string
	Count     int           // maximum number of results, at most 20; 0 or less means no search
	Freshness string        // "day", "week", "month", "year"; "" for any age
	Language  string        // such as "en"; "" for any
	Timeout   time.Duration // 0 means 30 seconds; the maximum is 300 seconds
}

// Screenshot saves a PNG picture of a web page, taken by a Chromium that is installed on
// this machine. The browser connects only to addresses that the configuration allows.
// Screenshot needs a Config.Browser. It returns a [Shot].
type Screenshot struct {
	URL           string
	Dest          string
	Width, Height int           // of the window, in pixels; 0 means 1280 and 800
	Full          bool          // the whole page, not only the part that the window shows
	Timeout       time.Duration // 0 means 60 seconds; the maximum is 300 seconds
}

func (Fetch) op()      {}
func (Download) op()   {}
func (CheckURL) op()   {}
func (WebSearch) op()  {}
func (Screenshot) op() {}

// Fetched is the result of [Fetch]. Callers treat its content as untrusted data.
type Fetched = web.Fetched

// Downloaded is the result of [Download].
type Downloaded struct {
	Changed
	URL         string // after redirects
	Type        string // media type, as the server named it
	SHA256      string // of the content, in lower-case hexadecimal
	Overwritten bool   // a file was replaced
}

// Message says how many bytes were saved.
func (d Downloaded) Message() string {
	return fmt.Sprintf("saved %s of %s as %s", words.Count(int(d.Bytes), "byte", "bytes"), d.URL, d.Path)
}

// Checked is the result of [CheckURL].
type Checked = web.Checked

// Searched is the result of [WebSearch]. Callers treat its texts as untrusted data.
type Searched = web.Searched

// A Hit is one result of a search.
type Hit = web.Hit

// Shot is the result of [Screenshot].
type Shot struct {
	Changed
	URL    string // after redirects
	Status int    // HTTP status; 0 if there was no response
	Title  string
}

// Message says where the picture was saved.
func (s Shot) Message() string { return "took a picture of " + s.URL + ": " + s.Path }

// A SearchEngine is a service that [WebSearch] can use.
type SearchEngine = web.SearchEngine

// SearchEngines lists the kinds of search engines. brave-search is a program of that
// name; the others are HTTP services.
var SearchEngines = web.SearchEngines

// A Browser takes a Picture of a Page for [Screenshot]: see package browser.
type (
	Browser = web.Browser
	Page    = web.Page
	Picture = web.Picture
)

// ErrBrowser reports a browser that is missing or failed.
var ErrBrowser = web.ErrBrowser

// checkReach returns an error if a web address may not be reached: neither other machines nor the
// localhost of commands.
func (x *Executor) checkReach(address string) error {
	if web.Local(address) && x.process.Apart() {
		return x.process.CheckAllowed("reaching other machines")
	}
	return x.process.CheckNetwork("reaching other machines")
}

func (x *Executor) Fetch(ctx context.Context, _ *Session, a Fetch) (Fetched, error) {
	if err := x.checkReach(a.URL); err != nil {
		return Fetched{}, err
	}
	if a.Start < 0 || a.Max < 0 {
		return Fetched{}, &ArgError{Arg: "max_chars", Reason: "and start_index count characters: 0 or more"}
	}
	f, err := x.web.Fetch(ctx, a.URL, a.Raw, a.Timeout)
	if err != nil {
		return Fetched{}, err
	}
	f.Page(a.Start, a.Max)
	return f, nil
}

func (x *Executor) Download(ctx context.Context, s *Session, a Download) (Downloaded, error) {
	defer x.followed(s, "", nil)()
	if err := x.process.CheckNetwork("reaching other machines"); err != nil {
		return Downloaded{}, err
	}
	abs, err := x.path(s, "destination", a.Dest)
	if err != nil {
		return Downloaded{}, err
	}
	var d Downloaded
	_, err = x.ws.Stat(abs, true)
	d.Overwritten = err == nil
	d.Change, err = x.ws.Receive(ctx, abs, workspace.WriteOptions{Parents: true}, func(dst io.Writer) error {
		f, err := x.web.Download(ctx, dst, a.URL, a.Max, a.Timeout)
		d.URL, d.Type, d.SHA256, d.Bytes = f.URL, f.Type, f.SHA256, f.Bytes
		return err
	})
	return d, err
}

func (x *Executor) CheckURL(ctx context.Context, _ *Session, a CheckURL) (Checked, error) {
	if err := x.checkReach(a.URL); err != nil {
		return Checked{}, err
	}
	return x.web.Check(ctx, a.URL, a.Timeout)
}

func (x *Executor) WebSearch(ctx context.Context, _ *Session, a WebSearch) (Searched, error) {
	if err := x.process.CheckNetwork("reaching other machines"); err != nil {
		return Searched{}, err
	}
	return x.web.Search(ctx, web.Query(a))
}

func (x *Executor) Screenshot(ctx context.Context, s *Session, a Screenshot) (Shot, error) {
	defer x.followed(s, "", nil)()
	if err := x.checkReach(a.URL); err != nil {
		return Shot{}, err
	}
	abs, err := x.path(s, "destination", a.Dest)
	if err != nil {
		return Shot{}, err
	}
	var shot Shot
	shot.Change, err = x.ws.Receive(ctx, abs, workspace.WriteOptions{Parents: true},
		func(dst io.Writer) error {
			pic, err := x.web.Screenshot(ctx,
				web.Page{URL: a.URL, Width: a.Width, Height: a.Height, Full: a.Full, Timeout: a.Timeout})
			if err != nil {
				return err
			}
			shot.URL, shot.Status, shot.Title, shot.Bytes = pic.URL, pic.Status, pic.Title,
				int64(len(pic.PNG))
			_, err = dst.Write(pic.PNG)
			return err
		})
	return shot, err
}
