package page

import (
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"strings"
	"time"

	"textskill/skill/internal/door"
)

const (
	maxStreams = 64
	quiet      = 15 * time.Second // an unchanged stream sends a comment after this time
	pause      = 10               // the stream waits at least so many times the time to write a view
)

// stream sends the view as a server-sent event each time it has changed.
func (p *page) stream(w http.ResponseWriter, r *http.Request, q query) {
	select {
	case p.streams <- struct{}{}:
		defer func() { <-p.streams }()
	default:
		door.Busy(w, "too many pages are open", 5*time.Second)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	c := http.NewResponseController(w)
	c.SetReadDeadline(time.Time{}) // the whole request was read
	defer context.AfterFunc(r.Context(), func() { c.SetWriteDeadline(time.Now()) })()
	var sent [sha256.Size]byte
	var last time.Time
	for {
		began := time.Now()
		v := p.view(r.Context(), q)
		if r.Context().Err() != nil {
			return
		}
		if v.Live == "" {
			http.Error(w, "this view never changes", http.StatusNotFound)
			return
		}
		main := string(v.Main)
		if sum := sha256.Sum256([]byte(main)); sum != sent || time.Since(last) > quiet {
			last = time.Now()
			c.SetWriteDeadline(last.Add(writeTime)) // gives up on a slow browser
			if sum != sent {
				sent = sum
				for line := range strings.Lines(main) { // saves a copy, which may have megabytes
					io.WriteString(w, "data: ")
					io.WriteString(w, line)
				}
			}
			io.WriteString(w, "\n:\n\n")
			if c.Flush() != nil {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(max(v.every, pause*time.Since(began))):
		}
	}
}
