package process

import "testing"

// The log of a command shows no secret, wherever the stream is cut, and holds nothing else back.
func TestHide(t *testing.T) {
	const text = "a topsecret1 b topsecret12topsecret topsecret topsecret1 and tops"
	const want = "a [redacted] b [redacted]topsecret topsecret [redacted] and tops"
	for size := 1; size <= len(text); size++ {
		got, passed := "", 0
		h := hider{secrets: []string{"topsecret1", "other secret", "topsecret12"}, pass: func(p []byte) { got += string(p) }}
		for at := 0; at < len(text); at += size {
			h.write([]byte(text[at:min(at+size, len(text))]))
			passed = max(passed, len(h.held))
		}
		if h.end(); got != want || passed > len("topsecret12") {
			t.Errorf("in pieces of %d: %q, held %d", size, got, passed)
		}
	}
	h := hider{secrets: []string{"topsecret1"}, pass: func([]byte) {}}
	if h.write([]byte("ready\n")); len(h.held) > 0 {
		t.Errorf("held %q", h.held)
	}
}
