package remote

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"time"
)

// A listener reports each sign of life of an endpoint.
type listener struct {
	io.ReadCloser
	heard func()
}

func (l *listener) Read(p []byte) (n int, err error) {
	n, err = l.ReadCloser.Read(p)
	if n > 0 {
		l.heard()
	}
	return n, err
}

// cut is the reason where an answer ends before it is complete.
const cut = "the answer broke off in the middle"

// Broken returns the error of a stream that failed, or ended, before the answer was
// complete. An *[Error] in err stays as it is, and a context that is done is final.
func Broken(ctx context.Context, err error) *Error { return (&Client{}).broken(ctx, cut, err) }

// events calls each with the data of every event of a stream. Once each says that the
// answer is complete, the stream may end, and is not waited for longer than drainTime.
func events(ctx context.Context, stream io.ReadCloser, each func(data []byte) (complete bool, err error)) error {
	lines := bufio.NewReader(stream)
	var data []byte
	done := false
	for {
		line, err := lines.ReadBytes('\n')
		ended := len(line) > 0 && err == nil || err == io.EOF
		line = bytes.TrimRight(line, "\r\n")
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
		}
		if ended && (len(line) == 0 || err == io.EOF) && len(data) > 0 {
			if string(data) != "[DONE]" {
				complete, failed := each(data)
				if failed != nil && !done {
					return failed
				}
				if complete && !done {
					done = true
					defer time.AfterFunc(drainTime, func() { stream.Close() }).Stop()
				}
			}
			data = nil
		}
		switch {
		case err != nil && done:
			return nil
		case errors.Is(err, io.EOF):
			return &Error{Reason: cut, Retry: true, Err: io.ErrUnexpectedEOF}
		case err != nil:
			return Broken(ctx, err)
		}
	}
}

// drainTime is how long the end of a stream is waited for after its last piece.
const drainTime = 250 * time.Millisecond

// Drain reads a stream to its end, without which its connection cannot be used again: 50
// streamed answers took 11 connections.
func Drain(stream io.ReadCloser) {
	late := time.AfterFunc(drainTime, func() { stream.Close() })
	defer late.Stop()
	io.CopyN(io.Discard, stream, 64<<10)
}
