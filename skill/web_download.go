package skill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"

	"textskill/skill/internal/words"
	"textskill/skill/internal/workspace"
)

// Download saves what an address of the web answers to a file, in place of what
// was there. It does so once all of it has come; else nothing changes.
type Download struct {
	URL     string
	Dest    string
	Max     int64         // bytes at most; 0 means 1 GiB
	Timeout time.Duration // 0 means 300 seconds, which are also the most
}

func (Download) op() {}

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

// maxDownload is how many bytes a download may have by default.
const maxDownload = 1 << 30

func (x *Executor) download(ctx context.Context, s *Session, a Download) (Result, error) {
	if err := x.mayReach(); err != nil {
		return nil, err
	}
	abs, err := x.path(s, "destination", a.Dest)
	if err != nil {
		return nil, err
	}
	if a.Timeout <= 0 {
		a.Timeout = webLongest
	}
	if a.Max <= 0 {
		a.Max = maxDownload
	}
	limited, cancel := deadline(ctx, a.Timeout)
	defer cancel()
	var d Downloaded
	_, err = x.ws.Stat(abs, true)
	d.Overwritten = err == nil
	d.Change, err = x.ws.Receive(ctx, abs, workspace.WriteOptions{Parents: true}, func(dst io.Writer) error {
		return x.receive(limited, a, &d, dst)
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// receive writes the answer to dst and notes in d what it was.
func (x *Executor) receive(ctx context.Context, a Download, d *Downloaded, dst io.Writer) error {
	res, err := x.send(ctx, webRequest{method: http.MethodGet, url: a.URL})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(io.LimitReader(res.Body, maxPage))
		return &URLError{a.URL, statusError(res, data)}
	}
	tooLarge := &URLError{a.URL, fmt.Errorf("it is larger than the %d bytes that a download may have", a.Max)}
	if res.ContentLength > a.Max {
		return tooLarge
	}
	sum := sha256.New()
	total := max(res.ContentLength, 0)
	n, err := io.Copy(&progressWriter{ctx: ctx, w: io.MultiWriter(dst, sum), total: total, what: "downloading " + a.URL}, io.LimitReader(res.Body, a.Max+1))
	switch {
	case err != nil:
		return &URLError{a.URL, webError(ctx, err)}
	case n > a.Max:
		return tooLarge
	}
	d.Bytes, d.URL, d.Type = n, res.Request.URL.String(), res.Header.Get("Content-Type")
	d.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// progressWriter reports how much went through it.
type progressWriter struct {
	ctx         context.Context
	w           io.Writer
	done, total int64
	what        string
}

func (p *progressWriter) Write(data []byte) (int, error) {
	n, err := p.w.Write(data)
	p.done += int64(n)
	workspace.Report(p.ctx, p.done, p.total, p.what)
	return n, err
}
