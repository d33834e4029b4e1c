package llmfallback

import "strings"

// place reads where all of the request lies, when it begins by that: "In the
// docs folder, …", "Go into docs and …".
func (r *reader) place(i int) int {
	if r.base.kind != nothing {
		return -1
	}
	if how, after := match(r, verbs(), i); after > 0 && how == toGo {
		n, k := r.noun(after)
		if k < 0 || n.kind != someDir && (n.kind != somePath || n.bare) || !r.any(k, "and") {
			return -1
		}
		r.base = n
		return k + 1
	}
	n, next := r.placed(i)
	if after := wordAfter(r, ends(), i); after > 0 {
		n, next = r.noun(after)
		if n.kind != someFile || n.name == "" {
			return -1
		}
	}
	if next < 0 || n.kind == someFile && n.extra > 0 || n.bare && n.head == 0 && r.any(i, "at", "from") { // at noon, from Bob: create
		return -1
	}
	r.base = n
	return next
}

// statement reads a sentence before the request that asks for nothing: a
// reason, or the introduction of a file. It returns the word after it.
func (r *reader) statement(i int) int {
	end, names := i, 0
	for ; end < len(r.list); end++ {
		w := &r.list[end]
		if w.kind == mark && strings.Contains(".!;\n", w.text) || w.text == "," && (r.any(end+1, "so") || end > i+1 && r.before.name == "" && names == 0 && r.reason("", i, end)) {
			break
		}
		if w.kind == quoted || w.path() {
			names++
		}
	}
	if names == 1 {
		if !r.introduces(i, end) {
			return -1
		}
	} else if !r.reason("", i, end) || r.has(i, end, placing) {
		return -1
	}
	r.after = true
	return end + 1
}

// introduces reads a sentence like "there is a file called a.txt in docs".
func (r *reader) introduces(i, end int) bool {
	if w := r.word(i); !w.path() && (w.kind != quoted || strings.Contains(w.text, " ")) && !r.any(i, "i", "we", "there", "there's", "my", "our", "i'm", "i've", "we've", "i'd") || r.base.kind == someFile {
		return false
	}
	for j := i; j < end; j++ {
		if r.is(j, deny|condition) && !r.any(j, "before") || r.is(j, deed) && r.word(j).kind == plain && j <= i+2 && !r.any(j, "document", "record", "log") {
			return false
		}
	}
	var file noun
	for j := i; j < end; j++ {
		if place, next := r.placed(j); next > 0 && place.kind != workspace && file.name != "" {
			file.name = join(place.name, file.name)
			break
		}
		if n, next := r.noun(j); next > 0 && next <= end && n.kind == someFile && n.name != "" {
			file = n
			j = next - 1
		}
	}
	r.before = file
	return file.name != ""
}

// purpose reads why something is asked for, to the end of the sentence: "so I
// can review it", "for better organization".
func (r *reader) purpose(f *frame, i int) int {
	if f.op == "deleteFile" {
		return wordAfter(r, unneeded(), i)
	}
	end := i
	for end < len(r.list) && !(r.list[end].kind == mark && strings.Contains(".!?\n", r.list[end].text)) {
		if f.object.name == "" && end > i+1 && (r.calling(end) > 0 || r.word(end).text == ":") {
			break // a folder for my notes called x
		}
		end++
	}
	if end-i < 2 || !r.whole || !r.reason(f.op, i, end) {
		return -1
	}
	return end
}

// reason reports whether the words from i to end say why op is asked for or,
// with op "", why something will be. A reason holds no path, no quote and no
// word that binds a condition, a filter or a further request.
func (r *reader) reason(op string, i, end int) bool {
	harmless := Extraction{Operation: op}.harmless()
	for j := i; j < end; j++ {
		w := &r.list[j]
		switch {
		case w.kind == mark && w.text != ",", w.kind == quoted, w.lower == "", w.kind == plain && (slashed(w.text) || fileShaped(w.text)),
			strings.ContainsAny(w.text, "*$<>|&;{}[]="):
			return false
		case w.lower == "and" || w.lower == "or" || w.text == ",":
			if r.is(j+1, deed) || r.any(j+2, "said", "says", "asked") || !harmless && op != "" && w.lower != "," {
				return false
			}
		case harmless && r.is(j, binding) && j > i+1 && !r.any(j, "then", "except", "recursive", "recursively", "instead", "but", "unless"):
		case r.any(j, "no") && r.any(j+1, "longer"), r.any(j, "all") && r.any(j-1, "it", "them", "these"):
		case r.is(j, binding), strings.HasSuffix(w.lower, "n't") && !r.is(j-1, subject):
			return false
		}
	}
	if wordAfter(r, becauses(), i) > 0 {
		return true
	}
	first, second := r.word(i).lower, r.word(i+1).lower
	switch first {
	case "so":
		return op != ""
	case "before":
		return op != "" || !r.orders(i, end)
	case "for":
		return !r.any(i+1, "example", "instance") && (op == "" || strings.HasPrefix(op, "c") || op == "moveFile" && !r.is(end-1, timed) || op == "writeFile")
	case "to":
		return r.is(i+1, aim)
	case "i'm", "we're", "i've", "we've", "i'll", "we'll", "it's":
		return !r.orders(i, end)
	case "i", "we", "it":
		return !r.orders(i, end) && (r.is(i+1, stating) || second == "no" && r.any(i+2, "longer") || r.is(i+1, wanting) && end-i > 3 && (r.any(i+2, "to") || r.any(i+2, "it")))
	case "my", "our":
		return op == "" && !r.orders(i, end)
	}
	return op == "" && r.any(end+1, "so") && !r.orders(i, end)
}

// becauses begin a reason.
var becauses = phrases(`because|since / now that / as|where i|we|part / in order / in case i|we|it|they|he|she|you|something`)

// orders reports whether a word from i to end may be an order: one for a deed that is not a noun
// (the log) and says of nobody that he does it (are adding).
func (r *reader) orders(i, end int) bool {
	for ; i < end; i++ {
		if r.is(i, deed) && !(r.is(i, docNoun) && r.is(i-1, determiner)) && !(r.any(i, "needs") && r.is(i+1, determiner)) && !strings.HasSuffix(r.word(i).lower, "ing") {
			return true
		}
	}
	return false
}

// has reports whether a word from i to end has one of the classes.
func (r *reader) has(i, end int, c class) bool {
	for ; i < end; i++ {
		if r.is(i, c) {
			return true
		}
	}
	return false
}

// modifier reads what an operation does anyway: with its parents, if it does
// not exist, including hidden files.
func (r *reader) modifier(f *frame, i int) int {
	switch f.op {
	case "createDirectory":
		if next := r.parents(i); next > i {
			return next
		}
		return r.unlessThere(i)
	case "listDirectory":
		return r.bag(i, listWord, listKey)
	case "writeFile", "copyFile", "moveFile":
		next := wordAfter(r, overwriting(), i)
		f.over = f.over || next > 0
		return next
	}
	return -1
}

// bag takes the longest run of words of one class, one of which is of class key.
func (r *reader) bag(i int, c, key class) int {
	k := i
	for r.is(k, c|key) {
		k++
	}
	if !r.has(i, k, key) {
		return -1
	}
	return k
}

func (r *reader) parents(i int) int { return r.bag(i, parentWord, parentKey) }

// unlessThere reads a condition under which creating a folder does nothing anyway.
func (r *reader) unlessThere(i int) int {
	next := r.bag(i, thereWord|missing, thereKey)
	for next > i && !r.is(next-1, missing) && !r.any(next-1, "already", "yet") {
		next-- // but not yet
	}
	if !r.has(i, next, missing) || !r.any(i, "if", "only", "unless", "as", "no", "and", "but", "without", "do", "don't", "never", "creating", "not") {
		return -1
	}
	return next
}
