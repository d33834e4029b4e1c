package workspace

import (
	"path"
	"strings"
	"testing"

	"textskill/skill/internal/state"
	"textskill/testdata/needs"

	"pgregory.net/rapid"
)

// A record that is about the names or the state asked for is never left undecoded, whatever JSON makes of them.
func TestNotDecoded(t *testing.T) {
	needs.SameDraws(t)
	s, err := state.Open(state.Options{Root: t.TempDir(), Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	part := rapid.SampledFrom([]string{"a", "a", "aa", "b", "a b", `"`, `\`, `\"a`, "<", "\xff", "a\xff", "\x01", "\n", "\u2028", "ä", "path", "{"})
	names := rapid.Custom(func(t *rapid.T) state.Name {
		name := path.Join(rapid.SliceOfN(part, 1, 3).Draw(t, "parts")...)
		return state.Name(strings.Repeat("/", rapid.IntRange(0, 1).Draw(t, "absolute")) + name)
	})
	sum := rapid.SampledFrom([]string{"", strings.Repeat("ab", 16), strings.Repeat("ab", 32), strings.Repeat("cd", 16), strings.Repeat("cd", 32)})
	states := rapid.Custom(func(t *rapid.T) state.State {
		n := rapid.Int64Range(0, 2)
		return state.State{Kind: rapid.SampledFrom([]string{"", kindFile, kindFolder, kindLink}).Draw(t, "kind"), Size: n.Draw(t, "size"), MTime: n.Draw(t, "mtime"),
			Sum: sum.Draw(t, "sum"), Target: names.Draw(t, "target"), Stamp: state.Stamp{Ino: uint64(n.Draw(t, "ino"))}}
	})
	rapid.Check(t, func(t *rapid.T) {
		step := state.Step{Path: names.Draw(t, "path"), Before: states.Draw(t, "before"), After: states.Draw(t, "after")}
		if rapid.Bool().Draw(t, "move") {
			step.From = names.Draw(t, "from")
		}
		c, err := s.Add(t.Context(), &state.Record{Steps: []state.Step{step}})
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		var entry state.Entry
		for entry, err = range s.Newest(t.Context(), 0) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			got, name, is := &change{Entry: entry}, names.Draw(t, "name"), states.Draw(t, "state")
			if !got.mayHold(is) && (same(step.Before, is) || same(step.After, is)) {
				t.Fatalf("%+v is not found", is)
			}
			if want := overlap(step.Path, name) || overlap(step.From, name); got.touches(state.Step{Path: name}) != want {
				t.Fatalf("that it touches %q is not reported as %v", name, want)
			}
		}
	})
}
