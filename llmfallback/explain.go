package llmfallback

import (
	"fmt"
	"slices"
	"strings"
)

// fail keeps the first reason why a request cannot be carried out.
func (f *frame) fail(why string) bool {
	if f.why == "" {
		f.why = why
	}
	return false
}

// verb returns the words that the request begins with.
func (f *frame) verb(r *reader) string {
	if f.next <= f.at || f.at >= len(r.list) {
		return ""
	}
	return r.prompt[r.list[f.at].start:r.list[f.next-1].end]
}

// clause returns the request in the prompt, as far as it was understood.
func (f *frame) clause(r *reader) string {
	if f.sense == noSense || f.at >= len(r.list) {
		return ""
	}
	end := len(r.prompt)
	if !f.ended && f.past > f.at {
		end = r.list[f.past-1].end
	}
	return r.prompt[r.list[f.at].start:end]
}

// named lists the roles that are filled.
func (f *frame) named(r *reader) []Role {
	roles := []Role{{"operation", f.op}, {"object", f.object.name}, {"called", f.name}}
	for i, name := range [...]string{inRole: "in", toRole: "to", fromRole: "from", asRole: "as"} {
		n := &f.roles[i]
		if n.kind == workspace {
			n.name = "."
		}
		roles = append(roles, Role{name, n.name})
	}
	roles = append(roles, Role{"before", r.base.name}, Role{"text", f.text})
	return slices.DeleteFunc(roles, func(role Role) bool { return role.Value == "" })
}

// explain returns why a request is not carried out, and what to type instead.
func (f *frame) explain(r *reader) string {
	w, k := r.word(f.past), r.skip(f.past, "and", "then", "also", ",", ".", ";", "¶", "please")
	switch {
	case f.sense == noSense || f.verb(r) == "" && f.past <= f.at:
		return ""
	case f.why != "":
		return f.why
	case f.past == f.at:
		return fmt.Sprintf("it is not clear what to %s", lower(f.verb(r)))
	case k > f.past && r.verbAt(k):
		both := ""
		if first, second := newReader(f.clause(r)).read(), newReader(r.prompt[r.list[k].start:]).read(); first.Answered && second.Answered {
			both = fmt.Sprintf(": %s, and %s", first.short(), second.short())
		}
		return "it asks for two things; type them apart" + both
	case k > f.past && r.namesAt(k) && f.object.name != "":
		return fmt.Sprintf("it names %s and %s; type one command for each: %s %[1]s", f.object.name, r.word(k).text, f.op)
	case r.is(f.past, deny):
		return fmt.Sprintf("it has a negation: %s", w.text)
	case r.is(f.past, condition):
		return fmt.Sprintf("it has a condition: %s", w.text)
	case r.is(f.past, universal):
		return fmt.Sprintf("it is about more than one file: %s", w.text)
	case w.lower == "" && w.kind == mark:
		return ""
	}
	return fmt.Sprintf("it is not clear what %q adds", strings.TrimSpace(w.text))
}

func (r *reader) verbAt(i int) bool {
	return wordAfter(r, verbs(), i) > 0 || r.is(i, deed)
}

func (r *reader) namesAt(i int) bool { return r.word(i).kind == quoted || r.word(i).path() }

// pass skips a word that nothing explains, if the reader is loose and the word
// cannot change what is asked.
func (r *reader) pass(f *frame, i int) int {
	w := r.word(i)
	text := wordAfter(r, intros(), i)
	role, place := match(r, prepositions(), i)
	switch {
	case !r.loose, f.op == "deleteFile", f.passed >= maxPassed, r.namesAt(i), w.kind == mark && w.text != ",", w.kind == plain && w.lower == "",
		r.is(i, deny|condition|universal|timed), strings.HasSuffix(w.lower, "n't"), r.any(i, asserting[:]...),
		r.any(i-1, "and", "then", "also", "nor", "plus") || r.any(i-1, ",") && r.is(i, deed), r.any(i, "next", "close") && r.any(i+1, "to"),
		slices.ContainsFunc(r.list[f.at:i], func(w word) bool { return w.kind == mark && strings.Contains(".!?;\n", w.text) }),
		text > 0 && !f.texted, place > 0 && role != ofRole:
		return -1
	}
	f.passed++
	return i + 1
}

// asserting are words that make a statement, or another request, of what was read: …, she said.
var asserting = [...]string{"said", "says", "asked", "told", "was", "were", "is", "are", "would", "does", "means", "etc", "everywhere", "on", "or"}

// maxPassed bounds the words that a loose reader skips.
const maxPassed = 24
