package page

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"html/template"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"textskill/skill/internal/door"
)

//go:embed assets
var assets embed.FS

// types are the content types of the assets. The tables of the system may differ.
var types = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml"}

const (
	readTime  = 10 * time.Second // for a browser to send the body of a request
	writeTime = 30 * time.Second // for a browser to receive one write
	maxViews  = 4                // views written at a time; a view may have megabytes
)

// CheckAddress checks whether [Serve] accepts an address. It opens no connection.
func CheckAddress(addr string) error {
	_, err := door.Address(addr)
	return err
}

// Serve serves a page at an address, HOST:PORT or a port, until ctx is done. Without a host it
// listens on the loopback interface. It calls ready with a link that opens the page on this
// machine.
func Serve(ctx context.Context, c Config, addr string, ready func(link string)) error {
	if c.Token == "" {
		return errors.New("a page needs a token")
	}
	tcp, err := door.Address(addr)
	if err != nil {
		return err
	}
	listener, err := door.Listen(tcp)
	if err != nil {
		return err
	}
	link := *listener.Addr().(*net.TCPAddr)
	switch {
	case link.IP.Equal(net.IPv4zero):
		link.IP = net.IPv4(127, 0, 0, 1)
	case link.IP.IsUnspecified():
		link.IP = net.IPv6loopback
	}
	c.Program, c.Begin = cmp.Or(c.Program, "skill"), cmp.Or(c.Begin, `run EXPERT "QUERY"`)
	p := &page{Config: c, guard: newGuard(door.New(listener.Addr(), addr, c.Hosts), c.Token, c.Program),
		streams: make(chan struct{}, maxStreams), views: make(chan struct{}, maxViews)}
	if p.templates, err = p.parse(); err != nil {
		listener.Close()
		return err
	}
	server := door.NewServer(ctx, p) // which ends streams
	ready("http://" + link.String() + "/?" + tokenInLink + "=" + c.Token)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	return server.End()
}

// A page answers requests.
type page struct {
	Config
	guard     *guard
	templates *template.Template
	streams   chan struct{} // limits open streams
	views     chan struct{} // limits views that are being written
}

// ServeHTTP implements [http.Handler].
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The deadlines give up on a slow browser.
	if r.ContentLength != 0 {
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTime))
	}
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
	if !p.guard.admits(w, r) {
		return
	}
	at, below := strings.CutPrefix(r.URL.Path, p.guard.base+"/")
	if !below {
		http.Redirect(w, r, p.guard.base+"/", http.StatusSeeOther)
		return
	}
	if data, err := assets.ReadFile("assets/" + at); err == nil {
		w.Header().Set("Content-Type", types[path.Ext(at)])
		w.Write(data)
		return
	}
	q := query{path: at, more: r.URL.Query().Has("more"), done: r.URL.Query().Has("done"),
		find: strings.TrimSpace(r.URL.Query().Get("find"))}
	if stream, ok := strings.CutPrefix(at, "live/"); ok && r.Method == http.MethodGet {
		q.path, q.stream = stream, true
		p.stream(w, r, q)
		return
	}
	if r.Method == http.MethodPost {
		p.post(w, r, q)
		return
	}
	p.write(w, p.view(r.Context(), q))
}

// post undoes a change, and redirects to the undo.
func (p *page) post(w http.ResponseWriter, r *http.Request, q query) {
	section, id, _ := strings.Cut(q.path, "/")
	if section != "changes" && section != "runs" ||
		id == "" || p.Changes == nil || p.ReadOnly {
		p.write(w, p.missing())
		return
	}
	if since := r.PostFormValue("since") != ""; since || section == "runs" {
		p.undoAll(w, r, q, id, since)
		return
	}
	undo, err := p.Changes.Undo(r.Context(), id, r.PostFormValue("force") != "")
	if err != nil {
		q.refused = err
		v := p.view(r.Context(), q)
		v.status = http.StatusConflict
		p.write(w, v)
		return
	}
	to := p.guard.base + "/changes/" + escape(id)
	if undo != "" {
		to = p.guard.base + "/changes/" + escape(undo) + "?done"
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// undoAll undoes a run, or a change and all later changes. It redirects to the page of the form.
func (p *page) undoAll(w http.ResponseWriter, r *http.Request, q query, id string, since bool) {
	run := id
	if since {
		id, run = run, ""
	} else {
		id = ""
	}
	if q.refused = p.Changes.UndoAll(r.Context(), id, run); q.refused != nil {
		v := p.view(r.Context(), q)
		v.status = http.StatusConflict
		p.write(w, v)
		return
	}
	http.Redirect(w, r, p.guard.base+"/"+(&url.URL{Path: q.path}).EscapedPath()+"?done", http.StatusSeeOther)
}

// write writes a view with its frame.
func (p *page) write(w http.ResponseWriter, v view) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(v.status)
	io.WriteString(w, string(p.frame(v)))
}
