package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"textskill/skill/internal/workspace"
)

// A File describes a downloaded file.
type File struct {
	URL    string // the last one, after redirects
	Type   string // Content-Type of the response
	SHA256 string // of the content, in lower-case hexadecimal
	Bytes  int64
}

// maxDownload is the default limit of a download, in bytes.
const maxDownload = 1 << 30

// Download writes the content of an address to dst. Content of more than limit bytes is
// an error; a limit of 0 means 1 GiB. A timeout of 0 means 300 seconds, the maximum.
func (c *Client) Download(ctx context.Context, dst io.Writer, address string, limit int64,
	timeout time.Duration) (f File, err error) {
	if timeout <= 0 {
		timeout = maxTimeout
	}
	if limit <= 0 {
		limit = maxDownload
	}
	limit = min(limit, math.MaxInt64-1) // one byte more is read, to see whether there is more
	ctx, cancel := withTimeout(ctx, timeout)
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
	tooLarge := urlError(address,
		fmt.Errorf("it is larger than the %d bytes that a download may have", limit))
	if res.ContentLength > limit {
		return f, tooLarge
	}
	sum := sha256.New()
	total := max(res.ContentLength, 0)
	n, err := io.Copy(&progressWriter{ctx: ctx, w: io.MultiWriter(dst, sum), total: total,
		what: "downloading " + address}, io.LimitReader(res.Body, limit+1))
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

// A progressWriter reports how many bytes have been written.
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
