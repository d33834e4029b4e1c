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

// A corpusRow is one line of natural-language.jsonl. A null operation means
// that the prompt must not be answered.
type corpusRow struct {
	ID, Prompt string
	Expect     struct {
		Operation, Path, Content, Destination *string
	}
	Accept struct {
		Path, Content, Destination []*string
	}
}

func corpus(t testing.TB) []corpusRow {
	f, err := os.Open("../testdata/conformance/natural-language.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []corpusRow
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var row corpusRow
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if in.Err() != nil || len(rows) < 250 {
		t.Fatalf("%d rows, %v", len(rows), in.Err())
	}
	return rows
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

// The rules were grown on the rows whose prompt has an even hash; the others
// show what they do with requests that nobody has looked at.
func TestCorpus(t *testing.T) {
	type count struct{ requests, answered, right, others int }
	var halves [2]count
	for _, row := range corpus(t) {
		n := &halves[sha256.Sum256([]byte(row.Prompt))[0]%2]
		e, ok := understand(row.Prompt)
		switch {
		case row.Expect.Operation == nil:
			n.others++
			if ok {
				t.Errorf("%s: %q must not be answered, got %+v", row.ID, row.Prompt, e)
			}
			continue
		case ok && row.right(e):
			n.right++
		case ok:
			t.Logf("%s: %q\n got %+v\nwant %+v", row.ID, row.Prompt, e, row.Expect)
		}
		n.requests++
		if ok {
			n.answered++
		}
	}
	var sum count
	for i, n := range halves {
		t.Logf("half %d: %d of %d requests answered (%.1f %%), %d of them right; none of %d others",
			i, n.answered, n.requests, 100*float64(n.answered)/float64(n.requests), n.right, n.others)
		sum.requests += n.requests
		sum.answered += n.answered
		sum.right += n.right
	}
	if sum.answered*100 < sum.requests*72 || sum.right*100 < sum.answered*99 {
		t.Errorf("%d of %d requests answered, %d right", sum.answered, sum.requests, sum.right)
	}
}
