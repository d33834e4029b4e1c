package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// An outcome is what one recorded row was answered and what it left, with the
// recorded names in place of what differs from run to run.
type outcome struct {
	stdout, stderr string
	exit           int
	tree           []string // a line for each file, sorted
}

// A replay judges the outcomes of the rows of one file, and is judged itself: each
// outcome is also judged with each mutation, which must not go unnoticed.
type replay struct {
	mu   sync.Mutex
	seen map[string]int // how many outcomes each mutation has changed
}

// judge reports what faults finds in an outcome. Where loose is set, the row does not
// pin all of its answer, and a mutation of the rest may go unnoticed.
func (r *replay) judge(t *testing.T, o outcome, loose bool, faults func(outcome) []string) {
	t.Helper()
	bad := faults(o)
	for _, fault := range bad {
		t.Error(fault)
	}
	if len(bad) > 0 {
		return
	}
	for name, mutate := range mutations {
		changed := o
		changed.tree = slices.Clone(o.tree)
		mutate(&changed)
		if changed.stdout == o.stdout && changed.stderr == o.stderr && changed.exit == o.exit &&
			slices.Equal(changed.tree, o.tree) {
			continue
		}
		noticed := len(faults(changed)) > 0
		if !noticed && !loose {
			t.Errorf("the replay does not notice: %s\n got %.3000s%s\nfrom %.3000s%s", name, changed.stdout,
				changed.stderr, o.stdout, o.stderr)
		}
		if noticed {
			r.mu.Lock()
			if r.seen == nil {
				r.seen = map[string]int{}
			}
			r.seen[name]++
			r.mu.Unlock()
		}
	}
}

// finish reports mutations that were noticed in no row.
func (r *replay) finish(t *testing.T, besides ...string) {
	for name := range mutations {
		if r.seen[name] == 0 && !slices.Contains(besides, name) {
			t.Errorf("no row notices: %s", name)
		}
	}
}

// mutations are ways in which a program may answer wrongly.
var mutations = map[string]func(*outcome){
	"every call ID is x":         eachValue(setKey("x", "tool_call_id", "toolCallId")),
	"every ID is x":              eachValue(setKey("x", "id", "tool_call_id")),
	"the exit status is 0":       func(o *outcome) { o.exit = 0 },
	"the exit status is 1":       func(o *outcome) { o.exit = 1 },
	"the exit status is 2":       func(o *outcome) { o.exit = 2 },
	"a dry run shows no diff":    eachText(func(s string) string { return diffOf.ReplaceAllString(s, "") }),
	"a diff has no hunks":        eachText(func(s string) string { return hunksOf.ReplaceAllString(s, "$1") }),
	"lines are reversed":         eachText(reversedLines),
	"lines are dropped":          eachText(func(s string) string { s, _, _ = strings.Cut(s, "\n"); return s }),
	"the last newline is lost":   eachText(func(s string) string { return strings.TrimSuffix(s, "\n") }),
	"a newline is added":         eachText(func(s string) string { return s + "\n" }),
	"line ends are CRLF":         eachText(func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }),
	"texts are in upper case":    eachText(strings.ToUpper),
	"texts are empty":            eachText(func(string) string { return "" }),
	"texts are cut":              eachText(func(s string) string { return s[:len(s)/2] }),
	"absolute paths are not":     eachText(func(s string) string { return strings.ReplaceAll(s, "${ROOT}/", "") }),
	"texts are null":             eachValue(ofKind(func(string) any { return nil })),
	"numbers are too large":      eachValue(ofKind(func(n json.Number) any { return json.Number("1" + strings.TrimPrefix(string(n), "-")) })),
	"numbers are texts":          eachValue(ofKind(func(n json.Number) any { return string(n) })),
	"true and false are swapped": eachValue(ofKind(func(b bool) any { return !b })),
	"lists are reversed":         eachValue(ofKind(func(l []any) any { l = slices.Clone(l); slices.Reverse(l); return l })),
	"lists lack their last":      eachValue(ofKind(func(l []any) any { return l[:max(0, len(l)-1)] })),
	"lists lack their first":     eachValue(ofKind(func(l []any) any { return l[min(1, len(l)):] })),
	"lists repeat their last":    eachValue(ofKind(func(l []any) any { return append(slices.Clone(l), l[max(0, len(l)-1):]...) })),
	"objects have one more key":  eachValue(ofKind(func(m map[string]any) any { m = maps.Clone(m); m["surplus"] = "1"; return m })),
	"objects lack a key":         eachValue(ofKind(func(m map[string]any) any { m = maps.Clone(m); delete(m, lastKey(m)); return m })),
	"nothing is printed":         func(o *outcome) { o.stdout = "" },
	"all is printed twice":       func(o *outcome) { o.stdout += o.stdout },
	"there is noise on stderr":   func(o *outcome) { o.stderr += "skill: warning\n" },
	"nothing is on stderr":       func(o *outcome) { o.stderr = "" },
	"the tree is empty":          func(o *outcome) { o.tree = nil },
	"a file is left over":        func(o *outcome) { o.tree = append(o.tree, `"zzz" 644 "tmp"`) },
	"files have mode 777":        eachFile(func(s string) string { return fileMode.ReplaceAllString(s, `${1}777 `) }),
	"files lack their newline":   eachFile(func(s string) string { return strings.ReplaceAll(s, `\n"`, `"`) }),
	"files are empty":            eachFile(func(s string) string { return contentOf.ReplaceAllString(s, ` ""`) }),
}

var (
	diffOf    = regexp.MustCompile(`(?s)\n--- .*`)
	hunksOf   = regexp.MustCompile(`(?s)(\n--- [^\n]*\n\+\+\+ [^\n]*\n)@@.*`)
	fileMode  = regexp.MustCompile(`^("(?:[^"\\]|\\.)*" )(?:0o)?[0-7]+ `)
	contentOf = regexp.MustCompile(` "(?:[^"\\]|\\.)*"$`)
)

func eachFile(change func(string) string) func(*outcome) {
	return func(o *outcome) {
		for i, line := range o.tree {
			o.tree[i] = change(line)
		}
	}
}

func reversedLines(s string) string {
	body, end := strings.TrimSuffix(s, "\n"), ""
	if len(body) < len(s) {
		end = "\n"
	}
	lines := strings.Split(body, "\n")
	slices.Reverse(lines)
	return strings.Join(lines, "\n") + end
}

func lastKey(m map[string]any) (last string) {
	for key := range m {
		last = max(last, key)
	}
	return last
}

// setKey gives the members of these names the value text.
func setKey(text string, names ...string) func(any) any {
	return ofKind(func(m map[string]any) any {
		m = maps.Clone(m)
		for _, name := range names {
			if _, ok := m[name]; ok {
				m[name] = text
			}
		}
		return m
	})
}

// ofKind changes the values of one kind.
func ofKind[T any](change func(T) any) func(any) any {
	return func(v any) any {
		if v, ok := v.(T); ok {
			return change(v)
		}
		return v
	}
}

// eachText changes all strings of what was printed, or all of it where it is no JSON.
func eachText(change func(string) string) func(*outcome) {
	inJSON := eachValue(ofKind(func(s string) any { return change(s) }))
	return func(o *outcome) {
		if json.Valid([]byte(firstLine(o.stdout))) {
			inJSON(o)
			return
		}
		o.stdout = change(o.stdout)
		if o.stdout == "" && o.stderr != "" {
			o.stderr = change(o.stderr)
		}
	}
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// eachValue changes all values of the JSON lines that were printed, keys aside, and of
// the objects that their strings hold.
func eachValue(change func(any) any) func(*outcome) {
	return func(o *outcome) {
		var b strings.Builder
		for line := range strings.Lines(o.stdout) {
			b.WriteString(mutated(line, inTexts(change)))
		}
		o.stdout = b.String()
	}
}

// mutated returns a JSON text with changed values, without the order of its keys, or the
// text itself if nothing in it changes.
func mutated(text string, change func(any) any) string {
	v, ok := decoded(text)
	if !ok {
		return text
	}
	before, after := encoded(v), encoded(deep(v, change))
	if before == after {
		return text
	}
	return after + text[len(strings.TrimSuffix(text, "\n")):]
}

func deep(v any, change func(any) any) any {
	switch inner := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for key, v := range inner {
			m[key] = deep(v, change)
		}
		v = m
	case []any:
		list := make([]any, len(inner))
		for i, v := range inner {
			list[i] = deep(v, change)
		}
		v = list
	}
	return change(v)
}

// inTexts also changes the values of objects that strings hold.
func inTexts(change func(any) any) func(any) any {
	return func(v any) any {
		if text, ok := v.(string); ok && strings.HasPrefix(text, "{") {
			if inner := mutated(text, inTexts(change)); inner != text {
				return inner
			}
		}
		return change(v)
	}
}

func decoded(text string) (v any, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return v, d.Decode(&v) == nil
}

func encoded(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
