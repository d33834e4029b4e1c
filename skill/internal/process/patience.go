package process

import "time"

// patienceStep is the most that one call of over takes from a [patience]. Code that waits calls
// over at least twice in that time.
const patienceStep = 200 * time.Millisecond

// A patience is a time for which something is waited for. It does not run out while the
// machine, or this process, is stopped: what is waited for may have been stopped as well, and
// what has come meanwhile has not been read.
type patience struct {
	left time.Duration
	last time.Time
}

func patient(d time.Duration) *patience { return &patience{d, time.Now()} }

// over looks at the patience, and reports whether it has run out.
func (p *patience) over() bool {
	now := time.Now()
	p.left -= min(now.Sub(p.last), patienceStep)
	p.last = now
	return p.left <= 0
}

// step returns how long to wait before the next call of over.
func (p *patience) step() time.Duration { return max(0, min(p.left, patienceStep/2)) }

// within receives from c, waiting at most d. If d is not positive, it only takes what is there.
func within[T any](c <-chan T, d time.Duration) (v T, ok bool) {
	p := patient(d)
	for over := d <= 0; ; over = p.over() {
		select {
		case v = <-c:
			return v, true
		default:
		}
		if over {
			return v, false
		}
		select {
		case v = <-c:
			return v, true
		case <-time.After(p.step()):
		}
	}
}
