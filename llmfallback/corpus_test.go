package llmfallback

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// A corpusRow is one line of the recorded prompts. A null operation means that
// the prompt must not be answered.
type corpusRow struct {
	ID, Prompt string
	Expect     struct {
		Operation, Path, Content, Destination *string
	}
	Accept struct {
		Path, Content, Destination []*string
	}
}

const own = "testdata/sentences.jsonl" // written for the reader; the others were recorded

var corpora = [...]string{"../testdata/conformance/natural-language.jsonl", "../testdata/conformance/natural-language-more.jsonl", own}

func corpus(t testing.TB, names ...string) []corpusRow {
	var rows []corpusRow
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		in := bufio.NewScanner(f)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			var row corpusRow
			if err := json.Unmarshal(in.Bytes(), &row); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		}
		if in.Err() != nil {
			t.Fatal(in.Err())
		}
	}
	return rows
}

func (row *corpusRow) source() string {
	source, _, _ := strings.Cut(row.ID, ":")
	return source
}

// heldOut reports whether nobody looked at the row when the reader was written.
func (row *corpusRow) heldOut() bool {
	return row.source() != "own" && sha256.Sum256([]byte(row.Prompt))[0]%4 == 3
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// tidy is a path as answers are compared: without ./ before and / after it.
func tidy(p string) string { return strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/") }

func (row *corpusRow) right(e Extraction) bool {
	same := func(got string, want *string, accept []*string, form func(string) string) bool {
		return form(got) == form(text(want)) ||
			slices.ContainsFunc(accept, func(a *string) bool { return form(got) == form(text(a)) })
	}
	plain := func(s string) string { return s }
	dest := same(e.Destination, row.Expect.Destination, row.Accept.Destination, tidy) ||
		tidy(e.Destination) == tidy(text(row.Expect.Destination))+"/"+tidy(e.Path)[strings.LastIndexByte(tidy(e.Path), '/')+1:]
	return e.Operation == text(row.Expect.Operation) && dest &&
		same(e.Path, row.Expect.Path, row.Accept.Path, tidy) &&
		same(e.Content, row.Expect.Content, row.Accept.Content, plain)
}

// A tally counts what became of rows.
type tally struct{ requests, answered, right, others int }

func (n *tally) add(row *corpusRow) (e Extraction, ok bool) {
	e, ok = understand(row.Prompt)
	if row.Expect.Operation == nil {
		n.others++
		return e, ok
	}
	n.requests++
	if ok {
		n.answered++
		if row.right(e) {
			n.right++
		}
	}
	return e, ok
}

func (n *tally) log(t *testing.T, name string) {
	t.Logf("%-20s %3d of %3d requests answered (%.1f %%), %d of them right; %d others", name,
		n.answered, n.requests, 100*float64(n.answered)/float64(max(n.requests, 1)), n.right, n.others)
}

func TestCorpus(t *testing.T) {
	var all, held, grown, recorded tally
	for _, row := range corpus(t, corpora[:]...) {
		e, ok := all.add(&row)
		switch {
		case row.Expect.Operation == nil && ok:
			t.Errorf("%s: %q must not be answered, got %+v", row.ID, row.Prompt, e)
		case ok && !row.right(e) && !row.heldOut():
			t.Logf("%s: %q\n got %+v", row.ID, row.Prompt, e)
		}
		if row.source() != "own" {
			recorded.add(&row)
			if row.heldOut() {
				held.add(&row)
			} else {
				grown.add(&row)
			}
		}
	}
	all.log(t, "all")
	recorded.log(t, "recorded")
	grown.log(t, "looked at")
	held.log(t, "held out")
	if recorded.answered*100 < recorded.requests*85 || all.right*100 < all.answered*99 {
		t.Errorf("too few answered, or right")
	}
}

// The reader has words that only the rows of one source have. Without them it
// shows what it does with a source that nobody has looked at.
func TestLeaveOneSourceOut(t *testing.T) {
	rows := corpus(t, corpora[:2]...)
	used := map[string]map[string]bool{} // words by source
	use := func(source, prompt string) {
		if used[source] == nil {
			used[source] = map[string]bool{}
		}
		ws := split(prompt)
		for _, w := range ws.list {
			used[source][w.lower] = true
		}
	}
	for _, row := range rows {
		if row.Expect.Operation != nil {
			use(row.source(), row.Prompt)
		}
	}
	for _, s := range answered {
		use("sentences", s.prompt)
	}
	full := maps.Clone(lexicon())
	var sum tally
	for _, source := range slices.Sorted(maps.Keys(used)) {
		elsewhere := func(w string) bool {
			for other, words := range used {
				if other != source && words[w] {
					return true
				}
			}
			return false
		}
		gone := map[string]bool{}
		for w := range used[source] {
			gone[w] = !elsewhere(w)
		}
		maps.DeleteFunc(lexicon(), func(w string, _ class) bool { return gone[w] })
		restore := []func(){
			forget(verbs(), gone), forget(openings(), gone), forget(closings(), gone), forget(prepositions(), gone), forget(callings(), gone),
			forget(intros(), gone), forget(parts(), gone), forget(doubts(), gone), forget(endings(), gone), forget(heres(), gone), forget(labels(), gone),
			forget(atPaths(), gone), forget(andMore(), gone), forget(lyings(), gone), forget(lives(), gone), forget(holdings(), gone),
			forget(ends(), gone), forget(chains(), gone), forget(overwriting(), gone), forget(unneeded(), gone),
		}
		for _, b := range closingsOf {
			restore = append(restore, forget(b(), gone))
		}
		var n tally
		for _, row := range rows {
			if row.source() == source {
				n.add(&row)
				sum.add(&row)
			}
		}
		maps.Copy(lexicon(), full)
		for _, undo := range restore {
			undo()
		}
		if n.requests > 0 {
			n.log(t, source)
		}
	}
	sum.log(t, "all, each left out")
	if sum.answered*100 < sum.requests*75 {
		t.Error("too few answered")
	}
}

// forget takes the words that are gone out of the phrases of b, and returns what
// puts them back.
func forget[T any](b book[T], gone map[string]bool) (restore func()) {
	full := maps.Clone(b)
	for first, list := range full {
		var left []phrase[T]
		for _, p := range list {
			fits := true
			slots := make([]slot, len(p.slots))
			for i, s := range p.slots {
				slots[i] = slot{slices.DeleteFunc(slices.Clone(s.words), func(w string) bool { return gone[w] }), s.optional}
				fits = fits && (s.optional || len(slots[i].words) > 0)
			}
			if fits {
				left = append(left, phrase[T]{slots, p.means})
			}
		}
		b[first] = left
	}
	return func() { maps.Copy(b, full) }
}

// What a model rightly answers to the recorded requests passes the guard.
func TestRightRepliesPass(t *testing.T) {
	passed, all := 0, 0
	for _, row := range corpus(t, corpora[:]...) {
		if row.Expect.Operation == nil || strings.HasPrefix(text(row.Expect.Path), "~") {
			continue // the home folder is refused to everybody
		}
		all++
		if slices.ContainsFunc(row.answers(), func(e Extraction) bool {
			return within(row.Prompt, e) == nil && confirm(row.Prompt, e, TwoKeys, having()) == nil
		}) {
			passed++
		} else if !row.heldOut() {
			t.Logf("%s: %q", row.ID, row.Prompt)
		}
	}
	t.Logf("%d of %d", passed, all)
	if passed*100 < all*97 {
		t.Error("too few pass")
	}
}

// answers lists the right answers to a request.
func (row *corpusRow) answers() (list []Extraction) {
	for _, p := range append(row.Accept.Path, row.Expect.Path) {
		for _, c := range append(row.Accept.Content, row.Expect.Content) {
			for _, d := range append(row.Accept.Destination, row.Expect.Destination) {
				list = append(list, Extraction{text(row.Expect.Operation), text(p), text(c), text(d), c != nil})
			}
		}
	}
	return list
}
