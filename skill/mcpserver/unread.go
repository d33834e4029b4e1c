package mcpserver

import (
	"fmt"
	"sync"
	"time"
)

const (
	// bytes of answers that may wait for one client before calls that read wait too
	maxUnread  = 32 << 20
	unreadTime = 10 * time.Second // for a client to take something while its calls wait
)

// unread bounds the answers that one client has not read. Calls that read begin only
// while there is room for their answers, so a client that reads slowly is served at its
// own speed; one that takes nothing while its calls wait is closed.
type unread struct {
	// bytes: calls that read wait from here on, and at 8 times as much the client is closed at once
	limit    int64
	patience time.Duration
	hangUp   func(why error) // closes the client; called at most once

	mu      sync.Mutex
	running int64         // answers that room is reserved for, each 1/32 of the limit
	waiting int64         // bytes of answers that are being written, or wait for that
	taken   int64         // bytes that the client has taken
	freed   chan struct{} // closed when there may be room; nil if no call waits
	closed  bool
}

// reserve waits for room for one answer, until done is closed. When the answer has been
// written, or none is made, release must follow.
func (u *unread) reserve(done <-chan struct{}) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for ended := false; u.fullLocked() && !u.closed && !ended; {
		ended = u.await(done)
	}
	u.running++
}

// tryReserve is reserve if that need not wait; else it returns false.
func (u *unread) tryReserve() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.fullLocked() {
		return false
	}
	u.running++
	return true
}

func (u *unread) fullLocked() bool { return u.running*u.limit/32+u.waiting >= u.limit }

// await waits until there may be room, or reports that done is closed. u.mu is held, but not
// while it waits.
func (u *unread) await(done <-chan struct{}) (ended bool) {
	if u.freed == nil {
		u.freed = make(chan struct{})
	}
	freed, taken := u.freed, u.taken
	u.mu.Unlock()
	late := time.NewTimer(u.patience)
	select {
	case <-freed:
	case <-done:
		ended = true
	case <-late.C:
	}
	timedOut := !late.Stop()
	u.mu.Lock()
	if timedOut && u.waiting > 0 && u.taken == taken {
		u.close(fmt.Errorf("%d bytes of answers wait for it, and it took none for %v", u.waiting, u.patience))
	}
	return ended
}

// release gives back the room of a call.
func (u *unread) release() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running--
	u.wake()
}

// add counts an answer of n bytes that is about to be written. It returns false if the
// client is closed.
func (u *unread) add(n int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.waiting += int64(n); u.waiting > 8*u.limit && u.waiting > int64(n) {
		u.close(fmt.Errorf("%d bytes of answers wait for it", u.waiting))
	}
	return !u.closed
}

// take records that n bytes have been written.
func (u *unread) take(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting -= int64(n)
	u.taken += int64(n)
	u.wake()
}

// wake lets calls that wait look for room. u.mu is held.
func (u *unread) wake() {
	if u.freed != nil {
		close(u.freed)
		u.freed = nil
	}
}

// close closes the client without waiting for it. u.mu is held.
func (u *unread) close(why error) {
	if !u.closed {
		u.closed = true
		u.wake()
		go u.hangUp(why)
	}
}
