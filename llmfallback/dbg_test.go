package llmfallback

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestDbg(t *testing.T) {
	p := os.Getenv("P")
	if p == "" {
		return
	}
	for _, p := range strings.Split(p, "|") {
		l := english()
		words, whole := split(p)
		for i := range words {
			if words[i].kind != quoted {
				words[i].id = l.vocabulary[words[i].lower]
			}
		}
		m := &matcher{prompt: p, words: words, whole: whole, lang: l}
		st := m.opened(0)
		for i := range l.rules {
			n := len(m.found)
			m.walk(l.rules[i].start, st, nil)
			if len(m.found) > n {
				fmt.Println("   ", l.rules[i].op, l.rules[i].pattern)
			}
		}
		if i := m.preamble(); i > st {
			m.try(m.opened(i), false)
		}
		fmt.Printf("%q start %d steps %d: %+v\n", p, st, m.steps, m.found)
	}
}
