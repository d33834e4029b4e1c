//go:build unix

package main

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	rawjson "textskill/parser/json"
	"textskill/testdata/needs"
)

// A stackRow is what the original tools did in one workspace.
type stackRow struct {
	ID, Tool string
	Impl     string // "head", or the older revision that was recorded
	Verdict  string // "keep", or "fix": what must not be done again
	Setup    []stackStep
	Calls    []perstackCall
	stackAnswer
	Unordered []string // places of lists whose order does not count
	Loose     []string // places of texts that only have to be there
}

// A stackAnswer is what a row answers and leaves.
type stackAnswer struct {
	Results  []json.RawMessage   `json:"results"`
	After    []stackFile         `json:"after,omitempty"`
	AfterGit map[string]stackGit `json:"after_git,omitempty"`
}

// A stackDivergence is a row that is answered differently on purpose: by which
// rule, and what is answered instead, all its keys. Without After or AfterGit the
// row's own hold.
type stackDivergence struct {
	File string `json:"file"`
	ID   string `json:"id"`
	Rule string `json:"rule"`
	// Results are the objects, as texts.
	Results  []string            `json:"results"`
	After    []stackFile         `json:"after,omitempty"`
	AfterGit map[string]stackGit `json:"after_git,omitempty"`
}

func (d stackDivergence) answer() stackAnswer {
	a := stackAnswer{After: d.After, AfterGit: d.AfterGit}
	for _, text := range d.Results {
		a.Results = append(a.Results, json.RawMessage(text))
	}
	return a
}

// TestStackReplay replays what the original tools did, each row at a server of its
// own, run by a user who is not root. What a row wants has to be there, more keys
// may be. A row to be fixed needs a divergence, and must not be answered as it was.
func TestStackReplay(t *testing.T) {
	listed := map[string]stackDivergence{}
	for _, d := range readRows[stackDivergence](t, "divergences.jsonl") {
		if d.File != "stack" {
			continue
		}
		if _, twice := listed[d.ID]; twice {
			t.Errorf("row %s has two divergences", d.ID)
		}
		listed[d.ID] = d
	}
	program, tools := publicCopy(t, "skill"), publicLinks(t, "cat", "git", "head", "sh", "sleep", "sort", "stat")
	for _, row := range readRows[stackRow](t, "stack.jsonl") {
		d, diverges := listed[row.ID]
		delete(listed, row.ID)
		t.Run(row.ID, func(t *testing.T) {
			t.Parallel()
			row.needs(t)
			w := newStackWorkspace(t, row, tools)
			got := w.replay(t, program, row)
			var bad []string
			switch {
			case diverges:
				bad = row.differs(d.answer(), got, true)
			case row.Verdict == "fix":
				bad = []string{"the row is to be fixed, and no divergence tells how"}
			default:
				bad = row.differs(row.stackAnswer, got, false)
			}
			if row.Verdict == "fix" && row.sameAs(got) {
				bad = append(bad, "the row is to be fixed, and was answered as recorded")
			}
			if len(bad) > 0 {
				t.Errorf("%s\nours: %s %s", strings.Join(bad, "\n"), row.ID, rawjson.Encode(got))
			}
		})
	}
	for id := range listed {
		t.Errorf("divergence %s names no row", id)
	}
}

// needs skips the test where a program is missing that the row starts.
func (row stackRow) needs(t *testing.T) {
	t.Helper()
	for _, s := range row.Setup {
		switch s.Op {
		case "git":
			needs.Program(t, "git")
		case "bin":
			needs.Shell(t)
		}
	}
	for _, c := range row.Calls {
		switch {
		case c.Name == "run", c.Name == "server":
			needs.Shell(t)
		case strings.HasPrefix(c.Name, "git_"):
			needs.Program(t, "git")
		}
	}
}

// sameAs tells whether the answer is the recorded one, to the key.
func (row stackRow) sameAs(got stackAnswer) bool {
	row.Loose = nil
	return len(row.differs(row.stackAnswer, got, true)) == 0
}

// differs tells where got is not what was wanted. Where it has to be exact, no
// object has more keys.
func (row stackRow) differs(want, got stackAnswer, exact bool) (bad []string) {
	m := stackMatch{row.Unordered, row.Loose, exact}
	if exact {
		m.loose = nil
	}
	m.compare("/results", plain(want.Results), plain(got.Results), &bad)
	if want.After == nil {
		want.After = row.After
	}
	m.compare("/after", plain(byPath(want.After)), plain(byPath(got.After)), &bad)
	if want.AfterGit == nil {
		want.AfterGit = row.AfterGit
	}
	for _, repo := range slices.Sorted(maps.Keys(want.AfterGit)) {
		m.compare("/after_git/"+repo, plain(want.AfterGit[repo]), plain(got.AfterGit[repo]), &bad)
	}
	return bad
}

func byPath(files []stackFile) map[string]stackFile {
	m := map[string]stackFile{}
	for _, f := range files {
		m[f.Path] = f
	}
	return m
}

// plain is v as JSON has it.
func plain(v any) (p any) {
	if err := json.Unmarshal(rawjson.Encode(v), &p); err != nil {
		panic(err)
	}
	return p
}

// stackMatch compares answers, by their places.
type stackMatch struct {
	unordered, loose []string
	exact            bool
}

const volatile = "${VOLATILE}"

// compare tells in bad where got is not what was wanted.
func (m stackMatch) compare(at string, want, got any, bad *[]string) {
	fails := func() {
		*bad = append(*bad, at+"\n got "+string(rawjson.Encode(got))+"\nwant "+string(rawjson.Encode(want)))
	}
	switch want := want.(type) {
	case string:
		text, ok := got.(string)
		switch {
		case want == volatile:
		case !ok || slices.Contains(m.loose, at) && text == "":
			fails()
		case !slices.Contains(m.loose, at) && !sameText(want, text):
			fails()
		}
	case map[string]any:
		given, ok := got.(map[string]any)
		if !ok {
			fails()
			return
		}
		for key, v := range given {
			if _, wanted := want[key]; !wanted && (m.exact || strings.HasPrefix(at, "/after")) {
				*bad = append(*bad, at+"/"+key+"\n got "+string(rawjson.Encode(v))+"\nwant nothing")
			}
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			m.compare(at+"/"+key, want[key], given[key], bad)
		}
	case []any:
		given, ok := got.([]any)
		if !ok || len(given) != len(want) {
			fails()
			return
		}
		if slices.Contains(m.unordered, at) {
			given = m.paired(at, want, given)
		}
		for i := range want {
			m.compare(at+"/"+strconv.Itoa(i), want[i], given[i], bad)
		}
	default:
		if want != got {
			fails()
		}
	}
}

// sameText compares a text in which something may be volatile.
func sameText(want, got string) bool {
	if !strings.Contains(want, volatile) {
		return want == got
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), regexp.QuoteMeta(volatile), ".*")
	return regexp.MustCompile("^(?s:" + pattern + ")$").MatchString(got)
}

// paired sorts got as the values of want are that each of them matches.
func (m stackMatch) paired(at string, want, got []any) []any {
	got = slices.Clone(got)
	for i := range want {
		for j := i; j < len(got); j++ {
			var bad []string
			if m.compare(at+"/"+strconv.Itoa(i), want[i], got[j], &bad); bad == nil {
				got[i], got[j] = got[j], got[i]
				break
			}
		}
	}
	return got
}
