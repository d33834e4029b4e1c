package llmfallback

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
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

var corpora = [...]string{"../testdata/conformance/natural-language.jsonl",
	"../testdata/conformance/natural-language-more.jsonl", own}

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
		tidy(e.Destination) == tidy(text(row.Expect.Destination))+"/"+
			tidy(e.Path)[strings.LastIndexByte(tidy(e.Path), '/')+1:]
	return e.Operation == text(row.Expect.Operation) && dest &&
		same(e.Path, row.Expect.Path, row.Accept.Path, tidy) &&
		same(e.Content, row.Expect.Content, row.Accept.Content, plain)
}

// A tally counts what became of rows.
type tally struct{ requests, answered, right, others int }

func (n *tally) add(row *corpusRow, g *grammar) (e Extraction, ok bool) {
	r := g.Read(row.Prompt)
	e, ok = r.Extraction, r.Answered
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
		e, ok := all.add(&row, compiled())
		switch {
		case row.Expect.Operation == nil && ok:
			t.Errorf("%s: %q must not be answered, got %+v", row.ID, row.Prompt, e)
		case ok && !row.right(e) && row.Expect.Operation != nil:
			t.Logf("%s: %q\n got %+v", row.ID, row.Prompt, e)
		}
		if row.source() != "own" {
			recorded.add(&row, compiled())
			if row.heldOut() {
				held.add(&row, compiled())
			} else {
				grown.add(&row, compiled())
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

// The grammar has words that only the rows of one source have. Without them it shows what it
// does with a source that nobody has looked at.
func TestLeaveOneSourceOut(t *testing.T) {
	rows := corpus(t, corpora[:2]...)
	used := map[string]map[string]bool{} // sources by word
	for _, row := range rows {
		if row.Expect.Operation == nil {
			continue
		}
		ws := split(row.Prompt)
		for _, w := range ws.list {
			if used[w.lower] == nil {
				used[w.lower] = map[string]bool{}
			}
			used[w.lower][row.source()] = true
		}
	}
	for _, s := range answered { // a source of its own
		ws := split(s.prompt)
		for _, w := range ws.list {
			if used[w.lower] == nil {
				used[w.lower] = map[string]bool{}
			}
			used[w.lower]["sentences"] = true
		}
	}
	var sum tally
	for _, source := range []string{"toolset", "nl2bash", "bfcl", "mcptb", "ultratool", "eabench"} {
		g := compile(rules, func(w string) bool { return len(used[w]) != 1 || !used[w][source] })
		var n tally
		for _, row := range rows {
			if row.source() == source {
				n.add(&row, g)
				sum.add(&row, g)
			}
		}
		n.log(t, source)
	}
	sum.log(t, "all, each left out")
	if sum.answered*100 < sum.requests*70 {
		t.Error("too few answered")
	}
}

// The right answers of a model to the recorded requests pass the guard.
func TestRightRepliesPass(t *testing.T) {
	passed, all := 0, 0
	for _, row := range corpus(t, corpora[:]...) {
		if row.Expect.Operation == nil || strings.HasPrefix(text(row.Expect.Path), "~") {
			continue // the home folder is refused to everybody
		}
		all++
		if slices.ContainsFunc(row.answers(), func(e Extraction) bool {
			return within(row.Prompt, e) == nil && confirm(row.Prompt, e, Ask, having()) == nil
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
				list = append(list, Extraction{text(row.Expect.Operation), text(p), text(c),
					text(d), c != nil})
			}
		}
	}
	return list
}
