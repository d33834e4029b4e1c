package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"

	"textskill/skill/internal/workspace"
)

// A File is what a download wrote.
type File struct {
	URL    string // after redirects
	Type   string // media type, as the server named it
	SHA256 string // of the content, in hexadecimal
	Bytes  int64
}

// maxDownload is how many bytes a download may have by default.
const maxDownload = 1 << 30

// Download writes what an address answers to dst. A max of 0 means 1 GiB, a timeout
// of 0 means 300 seconds, which are also the most.
func (c *Client) Download(ctx context.Context, dst io.Writer, address string, limit int64, timeout time.Duration) (f File, err error) {
	if timeout <= 0 {
		timeout = webLongest
	}
	if limit <= 0 {
		limit = maxDownload
	}
	ctx, cancel := deadline(ctx, timeout)
	defer cancel()
	res, err := c.send(ctx, webRequest{method: http.MethodGet, url: address})
	if err != nil {
		return f, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(io.LimitReader(res.Body, maxPage))
		return f, urlError(address, badStatus(res, data))
	}
	tooLarge := urlError(address, fmt.Errorf("it is larger than the %d bytes that a download may have", limit))
	if res.ContentLength > limit {
		return f, tooLarge
	}
	sum := sha256.New()
	total := max(res.ContentLength, 0)
	n, err := io.Copy(&progressWriter{ctx: ctx, w: io.MultiWriter(dst, sum), total: total, what: "downloading " + address}, io.LimitReader(res.Body, limit+1))
	switch {
	case err != nil:
		return f, urlError(address, webError(ctx, err))
	case n > limit:
		return f, tooLarge
	}
	f.Bytes, f.URL, f.Type = n, res.Request.URL.String(), res.Header.Get("Content-Type")
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return f, nil
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
