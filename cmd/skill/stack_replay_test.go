//go:build unix

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"textskill/parser/rawjson"
	"textskill/testdata/needs"
)

// A stackRow is what the original tools did in one workspace.
type stackRow struct {
	ID, Tool string
	Impl     string // "head", or the older revision that was recorded
	Verdict  string // "keep", or "fix": what must not be done again
	Setup    []stackStep
	Calls    []perstackCall

	Results   []json.RawMessage
	After     []stackFile
	AfterGit  map[string]stackGit `json:"after_git"`
	Unordered []string            // places of lists whose order does not count
	Loose     []string            // places of texts that only have to be there
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

// TestStackReplay replays what the original tools did, each row at a server of its
// own, run by a user who is not root. The wanted members have to be there, beside the
// keys that moreKeys lists. A row to be fixed needs a divergence, and must not be
// answered as it was.
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
	var r replay
	t.Cleanup(func() { r.finish(t, perstackBesides...) })
	program, tools := publicCopy(t, "skill"),
		publicLinks(t, "cat", "git", "head", "sh", "sleep", "sort", "stat")
	for i, row := range readRows[stackRow](t, "stack.jsonl") {
		row.decide()
		d, diverges := listed[row.ID]
		delete(listed, row.ID)
		if i%needs.Step(2) != 0 {
			continue
		}
		t.Run(row.ID, func(t *testing.T) {
			t.Parallel()
			row.needs(t)
			recorded := row.wanted(t, stackDivergence{}, row.Results)
			want := recorded
			if diverges {
				var results []json.RawMessage
				for _, text := range d.Results {
					results = append(results, json.RawMessage(text))
				}
				want = row.wanted(t, d, results)
				want.match.loose, want.match.exact = nil, true // all its keys are listed
			} else if row.Verdict == "fix" {
				t.Error("the row is to be fixed, and no divergence tells how")
			}
			o := newStackWorkspace(t, row, tools).replay(t, program, row)
			r.judge(t, o, want.loose(), want.faults)
			recorded.match.loose = nil
			if row.Verdict == "fix" && len(recorded.faults(o)) == 0 && unseen[row.ID] == "" {
				t.Error("the row is to be fixed, and was answered as recorded")
			}
			if t.Failed() {
				t.Logf("ours: %s %s%s", row.ID, o.stdout, strings.Join(o.tree, "\n"))
			}
		})
	}
	for id := range listed {
		t.Errorf("divergence %s names no row", id)
	}
}

// decide applies the rules by which the manual overrules what was recorded: check_url
// is answered as recorded (rule S7), and so is a search for \w (rule S8); context_load lists the names of files, and a plan is
// executing in its file too, and git_push names the branch (rule S10).
func (row *stackRow) decide() {
	switch row.Tool {
	case "check_url":
		row.Verdict = "keep"
	case "grep":
		if row.ID == "grep-016-unicode-word" {
			row.Verdict = "keep"
		}
	case "context_load":
		for i, text := range row.Results {
			for _, name := range []string{"agents", "soul", "tools"} {
				list := regexp.MustCompile(`("loaded": ?\[.*)"` + name + `"`)
				text = list.ReplaceAll(text, []byte(`$1"`+strings.ToUpper(name)+`.md"`))
			}
			row.Results[i] = text
		}
	case "git_push":
		if row.ID == "git_push-003-up-to-date" { // the branch that was pushed
			row.Results[0] = bytes.Replace(row.Results[0], []byte("null"), []byte(`"main"`), 1)
		}
	case "execute_plan":
		for i, f := range row.After {
			if f.Content != nil {
				text := strings.ReplaceAll(*f.Content, `"in_progress"`, `"executing"`)
				row.After[i].Content = &text
			}
		}
	}
}

// unseen are the rows to be fixed whose fault does not show in what was recorded.
var unseen = map[string]string{
	"download-004-missing-parent": "the parent is made; the row's address is one of a file, which is refused",
	"run-021-timeout-null":        "null is the default; the command ends at once either way",
	"run-023-stdin-null":          "standard input is empty; it was when the row was recorded",
	"server-006-foreground-fails": "the keys that were missing are there",
}

// moreKeys are what we answer besides the keys of the original, by tool.
var moreKeys = map[string]string{
	"read": "truncated next_offset", "edit": "more_occurrences", "search": "excluded",
	"git_status": "branch states detached state unmerged", "git_branch": "current",
	"run": ranKeys + " signal error returncode stdout stderr command", "test": toolKeys, "lint": toolKeys,
	"format": toolKeys, "typecheck": toolKeys, "install": toolKeys,
	"server": ranKeys + " id cwd command started log running ready returncode output errors port message error",
	"fetch":  "status_code final_url content_type total_length truncated next_index", "download": "error",
	"check_url":  "ok latency_ms error location",
	"screenshot": "reason", "memory_recall": "skipped", "memory_list": "content_preview truncated",
	"context_load": "files",
}

const (
	ranKeys  = "timed_out duration_ms truncated fence"
	toolKeys = ranKeys + " runner command cwd returncode error hint"
)

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

// wantedObjects is what the calls of a row have to be answered and to leave.
type wantedObjects struct {
	calls   []perstackCall
	results any
	tree    []string
	match   stackMatch
}

// wanted returns the row's answers, and the divergence's tree where it has one.
func (row stackRow) wanted(t *testing.T, d stackDivergence, results []json.RawMessage) wantedObjects {
	after, git := row.After, row.AfterGit
	if d.After != nil {
		after = d.After
	}
	if d.AfterGit != nil {
		git = d.AfterGit
	}
	for i := range after {
		for _, s := range row.Setup { // where a row sets a file's mode, it is to be kept
			if !strings.Contains(s.Path, ".git/") {
				after[i].Mode = cmp.Or(s.Mode, after[i].Mode)
			}
		}
	}
	w := wantedObjects{row.Calls, plain(results), stackTree(t, after),
		stackMatch{unordered: row.Unordered, loose: row.Loose}}
	for _, repo := range slices.Sorted(maps.Keys(git)) {
		w.tree = append(w.tree, repositoryLine(repo, git[repo]))
	}
	return w
}

// loose reports whether a part of the answer is not pinned.
func (w wantedObjects) loose() bool {
	return w.match.loose != nil ||
		strings.Contains(string(rawjson.Encode(w.results))+strings.Join(w.tree, ""), volatile)
}

func (w wantedObjects) faults(o outcome) (bad []string) {
	bad = append(bad, differs("stderr", o.stderr, "")...)
	bad = append(bad, differs("exit", o.exit, 0)...)
	if len(o.tree) != len(w.tree) || slices.ContainsFunc(w.tree, func(line string) bool {
		return !slices.ContainsFunc(o.tree, func(got string) bool { return sameText(line, got) })
	}) {
		bad = append(bad, treeFaults(o.tree, w.tree)...)
	}
	lines := strings.SplitAfter(o.stdout, "\n")
	if len(lines) != len(w.calls)+1 {
		return append(bad, fmt.Sprintf("%d answers to %d calls", len(lines)-1, len(w.calls)))
	}
	for i, c := range w.calls {
		object, err := stackObject(lines[i], i+1)
		if err != nil {
			return append(bad, err.Error())
		}
		if !w.match.exact {
			w.match.more = strings.Fields(moreKeys[c.Name])
		}
		w.match.compare("/results/"+strconv.Itoa(i), w.results.([]any)[i], object, &bad)
	}
	return bad
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
	more             []string // keys that need not be wanted
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
			if _, wanted := want[key]; !wanted && !slices.Contains(m.more, key) {
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
			if !slices.IsSortedFunc(given, byPlace) {
				*bad = append(*bad, at+" is not sorted: "+string(rawjson.Encode(given)))
			}
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

// byPlace is our order of lists whose order the original leaves open: by name or by
// file and line.
func byPlace(a, b any) int {
	place := func(v any) (string, float64) {
		if m, ok := v.(map[string]any); ok {
			file, _ := m["file"].(string)
			line, _ := m["line"].(float64)
			return file, line
		}
		name, _ := v.(string)
		return name, 0
	}
	fileA, lineA := place(a)
	fileB, lineB := place(b)
	return cmp.Or(strings.Compare(fileA, fileB), cmp.Compare(lineA, lineB))
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
