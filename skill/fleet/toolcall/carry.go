package toolcall

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"textskill/skill/fleet"
)

// A frame is one message: an operation, the ID of a call, and data. An answer is a result and
// data. A request or answer of more than maxPart bytes is sent in parts. The worker keeps the
// parts in memory until the request is complete, or the caller has fetched the answer.
const (
	opPart = 'p' // keep the data, a part of a request
	opCall = 'c' // make the call; the data is the number of parts before, and the last part
	opNext = 'n' // return the next part of the answer
	opStop = 's' // stop the call

	isMore    = 'm' // a part of an answer; more parts follow
	isLast    = 'l' // the last part of an answer
	isOK      = 'k'
	isUnknown = 'u' // there is no call with this ID
	isTooMuch = 't' // a limit is exceeded; the data is an error text
)

const (
	idSize   = 26
	maxPart  = fleet.MaxMessage - 2 - idSize
	maxKept  = 192 << 20        // bytes of all parts in the memory of a worker
	keepTime = 30 * time.Second // until a worker forgets a part
)

var errLost = errors.New("the worker was lost during the call, and may have made it; " +
	"call again when another worker holds the workspace")

// send sends a request to a name, and returns the answer.
func send(ctx context.Context, p fleet.Plane, name string, data []byte) ([]byte, error) {
	id, parts := rand.Text(), byte(0)
	for ; len(data) > maxPart; parts++ {
		if _, err := ask(ctx, p, name, opPart, id, data[:maxPart]); err != nil {
			return nil, err
		}
		data = data[maxPart:]
	}
	answer, err := ask(ctx, p, name, opCall, id, append([]byte{parts}, data...))
	if ctx.Err() != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, _ = ask(last, p, name, opStop, id, nil) // a lost worker does not need it
	}
	var whole []byte
	for err == nil && answer[0] == isMore {
		whole = append(whole, answer[1:]...)
		answer, err = ask(ctx, p, name, opNext, id, nil)
	}
	if err != nil {
		return nil, err
	}
	return append(whole, answer[1:]...), nil
}

// ask sends a frame, and returns its answer.
func ask(ctx context.Context, p fleet.Plane, name string, op byte, id string, data []byte) ([]byte, error) {
	answer, err := p.Call(ctx, name, append(append([]byte{op}, id...), data...))
	switch {
	case err != nil:
		return nil, err
	case len(answer) == 0 || answer[0] == isUnknown:
		return nil, errLost
	case answer[0] == isTooMuch:
		return nil, errors.New(string(answer[1:]))
	}
	return answer, nil
}

// A carrier receives frames, and passes whole requests to answer.
type carrier struct {
	answer func(ctx context.Context, request []byte) []byte
	ctx    context.Context
	close  func()

	mu    sync.Mutex
	calls map[string]*carried // by ID
	kept  int                 // bytes of all parts
}

// A carried is a call whose request or answer has several parts, or that is in progress.
type carried struct {
	parts [][]byte // of the request before the call, of the answer after it
	stop  func()   // ends the call; nil unless the call is in progress
	timer *time.Timer
}

func newCarrier(answer func(ctx context.Context, request []byte) []byte) *carrier {
	c := &carrier{answer: answer, calls: map[string]*carried{}}
	c.ctx, c.close = context.WithCancel(context.Background())
	return c
}

// receive answers a frame.
func (c *carrier) receive(_ context.Context, frame []byte) []byte {
	if len(frame) < 1+idSize || frame[0] == opCall && len(frame) == 1+idSize {
		return []byte{isUnknown}
	}
	op, id, rest := frame[0], string(frame[1:1+idSize]), frame[1+idSize:]
	switch op {
	case opPart:
		return c.part(id, rest)
	case opCall:
		return c.call(id, rest[0], rest[1:])
	case opNext:
		return c.next(id)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.calls[id]; call == nil || call.stop == nil {
		return []byte{isUnknown}
	} else if op == opStop {
		call.stop()
	}
	return []byte{isOK}
}

// part keeps a part of a request.
func (c *carrier) part(id string, data []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept+len(data) > maxKept {
		return fmt.Appendf([]byte{isTooMuch}, "the worker already receives %d MB of calls; try again later",
			maxKept>>20)
	}
	call := c.calls[id]
	if call == nil {
		call = &carried{}
		c.calls[id] = call
	}
	c.keepLocked(id, call, append(call.parts, bytes.Clone(data)))
	return []byte{isOK}
}

// call makes a call, and returns the first part of the answer.
func (c *carrier) call(id string, parts byte, data []byte) []byte {
	ctx, stop := context.WithCancel(c.ctx)
	defer stop()
	c.mu.Lock()
	call := c.calls[id]
	if call == nil {
		call = &carried{}
	}
	if byte(len(call.parts)) != parts || call.stop != nil {
		c.mu.Unlock()
		return []byte{isUnknown}
	}
	request := append(bytes.Join(call.parts, nil), data...)
	c.kept -= size(call.parts)
	call.parts, call.stop = nil, stop
	c.calls[id] = call
	c.mu.Unlock()

	answer := c.answer(ctx, request)

	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
	if len(answer) <= maxPart {
		return append([]byte{isLast}, answer...)
	}
	if c.kept+len(answer) > maxKept {
		return fmt.Appendf([]byte{isTooMuch},
			"the call was made; its answer has %d bytes, more than the worker can send now", len(answer))
	}
	var split [][]byte
	for len(answer) > maxPart {
		split, answer = append(split, answer[:maxPart]), answer[maxPart:]
	}
	c.calls[id] = &carried{}
	c.keepLocked(id, c.calls[id], append(split, answer))
	return c.nextLocked(id)
}

// next returns the next part of an answer.
func (c *carrier) next(id string) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.calls[id]; call == nil || call.stop != nil || len(call.parts) == 0 {
		return []byte{isUnknown}
	}
	return c.nextLocked(id)
}

func (c *carrier) nextLocked(id string) []byte {
	call := c.calls[id]
	part := call.parts[0]
	if len(call.parts) == 1 {
		c.dropLocked(id)
		return append([]byte{isLast}, part...)
	}
	c.keepLocked(id, call, call.parts[1:])
	return append([]byte{isMore}, part...)
}

// keepLocked sets the parts of a call, and forgets them after keepTime.
func (c *carrier) keepLocked(id string, call *carried, parts [][]byte) {
	c.kept += size(parts) - size(call.parts)
	call.parts = parts
	if call.timer == nil {
		call.timer = time.AfterFunc(keepTime, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.calls[id] == call && call.stop == nil {
				c.dropLocked(id)
			}
		})
		return
	}
	call.timer.Reset(keepTime)
}

// dropLocked forgets a call and its parts.
func (c *carrier) dropLocked(id string) {
	call := c.calls[id]
	c.kept -= size(call.parts)
	call.parts = nil
	delete(c.calls, id)
}

func size(parts [][]byte) (n int) {
	for _, p := range parts {
		n += len(p)
	}
	return n
}
