package llmfallback

import (
	"encoding/json"
	"strings"
)

// An intro says how the text after it may stand.
type intro uint8

const (
	inQuotes intro = iota + 1 // in quotes, or after a colon or a noun for texts
	anyText                   // as it stands to the end of the line, too
	ordered                   // after a verb of its own: "and write 'x' in it"
)

// intros come before a text to write.
var intros = newBook(
	line[intro]{inQuotes, `whose whole|entire|only? content|contents|text|body is|reads|says|should be|read|say? / with|containing|having|including / that|which contains|has|holds|includes / ,? and? the|its|it's? new|file? content|contents|text|body is|are|being|as? /
		,? and? the|its|it's? new|file? content|contents|text|body should|must|to be|read|say / ,? and? the file|it|document|note should|must only? contain|say|read|have|hold /
		so that? it contains|says|reads|holds / hold|contain|say|read / ,? and? contains|containing`},
	line[intro]{anyText, `saying|reading / that|which says|reads / ,? and? says|saying`},
	line[intro]{ordered, `,|.? and|then? then? put|write|add|insert|enter|type|save|place|include|store in|into|to|inside? it? / ,|.? and? fill it with /
		,|.? and? set its content|contents|text to`},
)

// textRole reads a text with what introduces it.
func (r *reader) textRole(f *frame, i int) int {
	if f.op != "writeFile" && f.op != "appendFile" || f.texted {
		return -1
	}
	if r.word(i).text == ":" && f.target() {
		return r.colon(f, i)
	}
	if f.sense == toReplace && f.object.name != "" && r.any(i, "to", "by") {
		if next := r.given(f, i+1, inQuotes); next > 0 {
			return next
		}
	}
	if f.awaits && f.target() && r.is(i, determiner|textNoun) {
		if next := r.given(f, i, ordered); next > 0 {
			return next
		}
	}
	how, next := match(r, intros(), i)
	if next < 0 || how == ordered && (f.sense > toReplace || f.object.name == "" && f.name == "") {
		return -1
	}
	return r.given(f, next, how)
}

// target reports whether the file is named.
func (f *frame) target() bool { return f.object.name != "" || f.name != "" }

// given reads a text after its introduction: in quotes, after a colon, or to
// the end of the line.
func (r *reader) given(f *frame, i int, how intro) int {
	noun := false
	for range 8 {
		switch w := r.word(i); {
		case r.is(i, textNoun):
			noun = true
			i++
			continue
		case r.any(i, "the", "this", "following", "only", "just", "a", "an", "single", "exact", "initial", "its", "new", "simple", "short") && r.word(i+1).text != "\n",
			noun && r.any(i, "is", "being", "as"):
			i++
			continue
		case w.kind == quoted:
			if !noun && fileShaped(w.text) {
				return -1 // overwrite a.txt with b.txt
			}
			f.text, f.texted = w.text, true
			return i + 1
		case w.text == ":":
			return r.colon(f, i)
		case w.kind == plain && strings.IndexByte("{[", w.text[0]) >= 0:
			if rest := strings.TrimSpace(r.prompt[w.start:]); json.Valid([]byte(rest)) {
				f.text, f.texted, f.ended = rest, true, true
				return len(r.list)
			}
		}
		break
	}
	if noun && how != ordered || how == anyText {
		return r.line(f, i)
	}
	return r.sample(f, i)
}

// sample reads a text without quotes of words that are nothing else: hello world, 42.
func (r *reader) sample(f *frame, i int) int {
	k := i
	for r.is(k, sample) || r.word(k).kind == plain && strings.Trim(r.word(k).text, "0123456789") == "" && !r.any(f.at, "add") {
		k++
	}
	if k == i || r.loose { // with 5 jokes
		return -1
	}
	f.text, f.texted, f.sample = r.prompt[r.list[i].start:r.list[k-1].end], true, true
	return k
}

// colon reads the text after a colon: one in quotes, or all the rest.
func (r *reader) colon(f *frame, i int) int {
	i++
	if r.word(i).kind == quoted {
		f.text, f.texted = r.word(i).text, true
		return i + 1
	}
	return r.literal(f, i)
}

// literal takes all that is left of the prompt as it stands. A fence around it
// is taken off.
func (r *reader) literal(f *frame, i int) int {
	for i < len(r.list) && r.list[i].text == "\n" {
		i++
	}
	if i >= len(r.list) || r.list[i].kind == quoted {
		return -1
	}
	rest, ok := unfenced(strings.TrimRight(r.prompt[r.list[i].start:], " \t\r\n"))
	if !ok || r.asksMore(i) || strings.IndexByte("\"'", r.prompt[r.list[i].start]) >= 0 {
		return -1
	}
	f.text, f.texted, f.ended = rest, true, true
	return len(r.list)
}

// unfenced takes off a fence that is around all of a text. It reports false for other back
// quotes at its beginning.
func unfenced(text string) (string, bool) {
	if !strings.HasPrefix(text, "`") {
		return text, true
	}
	_, body, _ := strings.Cut(text, "\n")
	body, closed := strings.CutSuffix(body, "```")
	return body, closed && strings.HasPrefix(text, "```") && !strings.Contains(body, "```")
}

// line takes the rest of a single line after "with the text" and its like,
// unless it describes a text rather than being one.
func (r *reader) line(f *frame, i int) int {
	if i >= len(r.list) || !r.whole || r.list[i].kind == mark || r.word(i+1).kind == plain && r.list[i].text == r.list[i].lower && r.is(i, describes) {
		return -1
	}
	for j := i; j < len(r.list) && !r.loose; j++ {
		w := &r.list[j]
		if w.kind == quoted || w.lower == "" || w.text == "\n" || w.lower == "and" || w.kind == plain && fileShaped(w.text) {
			return -1
		}
		if place, next := r.placed(j); next > 0 && (place.kind == workspace || place.kind == someDir) {
			f.fail("it is not clear where the text ends; put it in quotes")
			return -1
		}
	}
	return r.literal(f, i)
}

// asksMore reports whether the line goes on to ask for another operation:
// "… and then delete b.txt".
func (r *reader) asksMore(i int) bool {
	bound := false // a connecting word stands before this one
	for ; i < len(r.list); i++ {
		switch w := &r.list[i]; w.lower {
		case "¶":
			return false
		case "and", "then", "also", ",", ".", ";", "!", "afterwards", "finally", "next", "please":
			bound = true
		default:
			if bound && (r.is(i, deed) || r.any(i, "thanks", "thank", "let")) {
				return true
			}
			bound = false
		}
	}
	return false
}

// writing reads what comes after write or append: a text, the file, or the file
// with a noun for the text.
func (r *reader) writing(f *frame, i int) int {
	verb := r.word(f.at).lower
	k := i
	for r.is(k, determiner) || r.any(k, "following", "new", "another", "extra", "additional", "final", "last", "more", "one", "exact") {
		k++
	}
	begin := k
	for r.is(k, textNoun) || r.is(k, kindNoun|adjective) && r.is(k+1, textNoun) {
		k++
	}
	if k > begin {
		k = r.skip(k, "saying", "says", "reading", "with", "containing", "that", "which", "reads", "text", "the", "content")
	}
	if r.word(k).text == ":" && r.word(k+1).kind == quoted {
		k++
	}
	if next := r.sample(f, k); next > 0 && r.any(next, "in", "into", "inside", "to", "at") {
		return r.toFile(f, next)
	}
	announced := k > i
	switch w := r.word(k); {
	case w.kind == quoted:
		if k == begin && fileShaped(w.text) && verb != "add" {
			f.fail("it is not clear whether " + w.text + " is a file or the text itself; for the text, write: the text '" + w.text + "'")
			return -1 // save a.txt as b.txt
		}
		f.text, f.texted = w.text, true
		next := k + 1
		if after := r.closing(f, next); after > 0 && r.any(next, "as", "a", "an", "one", "another", "new") {
			next = after
		}
		return r.toFile(f, next)
	case announced && k > begin, announced && r.any(begin, "to", "into", "in"):
		f.awaits = true
		return r.toFile(f, k)
	case verb == "write" && r.is(i, determiner|fileNoun):
		if n, next := r.noun(i); next > 0 && n.kind == someFile && n.name != "" {
			f.object, f.awaits = n, true
			return next
		}
		return -1
	case verb == "write" || verb == "append" || verb == "add" || verb == "save" || verb == "attach":
		f.awaits = true
		return r.toFile(f, i)
	}
	f.fail("it is not clear which is the text; put it in quotes")
	return -1
}

// toFile reads the file that a text goes to, if it comes next.
func (r *reader) toFile(f *frame, i int) int {
	if next := wordAfter(r, ends(), i); next > 0 {
		f.op = "appendFile"
		n, after := r.noun(next)
		f.atEnd = true
		return r.target(f, toRole, n, after)
	}
	if f.roles[toRole].kind == nothing && r.base.kind == someFile {
		f.object = r.base
		return i
	}
	return r.role(f, i)
}

// ends are the places where a text is appended.
var ends = phrases(`on? to|at|on|onto the very? end|bottom of / as the new|very|final? last? line|entry of|in|to / at|to end of`)

// replacing reads the file whose text is replaced.
func (r *reader) replacing(f *frame, i int) int {
	all := r.any(i-1, "overwrite", "fill", "populate", "in", "of")
	if next := wordAfter(r, parts(), i); next > 0 {
		i, all = next, true
	}
	n, next := r.noun(i)
	if next < 0 || n.kind == someDir || n.kind == workspace || n.bare || n.extra > 0 {
		return -1
	}
	if n.kind == mentioned {
		n = r.before
	}
	k := r.skip(next, ",", "and", "with", "the", "its")
	all = all || r.any(k, "new", "updated") && r.any(k+1, "content", "contents", "text")
	if n.kind != someFile && !strings.Contains(n.name, "/") || !all && n.name != "" {
		return -1
	}
	f.object, f.awaits, f.over = n, true, true
	return next
}
