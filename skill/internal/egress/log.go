package egress

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Refused is the error of a host that may not be reached.
type Refused struct {
	Host string
	Port int // 0 for a name that was looked up
	Why  string
}

func (r *Refused) Error() string { return "refused: " + r.At() + ": " + r.Why }

// At names the host and the port.
func (r *Refused) At() string {
	if r.Port == 0 {
		return r.Host
	}
	return net.JoinHostPort(r.Host, strconv.Itoa(r.Port))
}

// hint begins the reason of a host that a person can allow.
const hint = "allow it with --allow-domain "

// Told names the host for an answer, with the reason if no person can allow it.
func (r *Refused) Told() string {
	if r.Why == "" || strings.HasPrefix(r.Why, hint) {
		return r.At()
	}
	return r.At() + " (" + r.Why + ")"
}

// A Log holds what was refused since it was last taken, each host and port once. The zero Log is
// ready for use. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	list []Refused
}

// maxRefused is how many hosts a Log holds.
const maxRefused = 32

func (l *Log) add(r Refused) {
	l.mu.Lock()
	defer l.mu.Unlock()
	same := func(o Refused) bool { return o.Host == r.Host && (o.Port == r.Port || r.Port == 0) }
	if slices.ContainsFunc(l.list, same) {
		return
	}
	l.list = slices.DeleteFunc(l.list, func(o Refused) bool { return o.Host == r.Host && o.Port == 0 })
	if len(l.list) < maxRefused {
		l.list = append(l.list, r)
	}
}

// Take returns what was refused.
func (l *Log) Take() []Refused {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.list
	l.list = nil
	return list
}
