package llmfallback

import (
	"slices"
	"strings"
)

// A kind says what a noun phrase stands for.
type kind uint8

const (
	nothing   kind = iota
	someFile       // said to be a file, or shaped like one
	someDir        // said to be a folder
	somePath       // one or the other
	workspace      // the current folder
	mentioned      // it, that file: what was named before
)

// A noun is what a noun phrase names. Its name is "" where a noun stands alone:
// "a new folder".
type noun struct {
	kind   kind
	name   string
	quoted bool
	bare   bool  // one word or title that only its place makes a name
	fresh  bool  // "a folder" rather than "the folder"
	empty  bool  // "an empty file"
	head   class // of the noun, 0 where there is none
	into   bool  // "into" says that it is a folder
	extra  int   // adjectives that the lexicon does not have
}

// maxNounWords bounds the words of a noun phrase before its noun.
const maxNounWords = 8

// word returns word i; beyond the end an empty mark.
func (r *reader) word(i int) *word {
	if i < 0 || i >= len(r.list) {
		return &noWord
	}
	return &r.list[i]
}

var noWord = word{kind: mark}

// is reports whether word i has one of the classes.
func (r *reader) is(i int, c class) bool {
	w := r.word(i)
	return w.kind == plain && w.class&c != 0
}

// noun reads the noun phrase at word i: "my Projects folder", "the file called
// a.txt", "'a.txt'", "Projects/Alpha". It returns the word after it, -1 where
// there is none.
func (r *reader) noun(i int) (noun, int) {
	if next := r.here(i); next > i {
		return noun{kind: workspace}, next
	}
	n := noun{}
	k := i
	if next := wordAfter(r, labels(), i); next > 0 {
		if w := r.word(next); w.kind == quoted || w.path() || w.titled() || next > i+1 && w.bare() {
			k = next
			if r.has(i, k, folderNoun) {
				n.head = folderNoun
			}
		}
	}
	for r.is(k, determiner) || r.is(k, adverb) && !r.any(k, "over") {
		n.fresh = n.fresh || r.any(k, "a", "an")
		k++
	}
	if k == i {
		switch r.word(i).lower {
		case "it", "this", "that":
			return noun{kind: mentioned}, i + 1
		}
	} else if r.any(i, "its") && r.any(k, "contents", "content", "text") {
		return noun{kind: mentioned}, k + 1
	}
	from := k
	r.phraseStart = i
	for k-from < maxNounWords && r.word(k).kind == plain && r.word(k).class&function == 0 && !r.word(k).path() {
		k++
	}
	if w := r.word(k); w.kind == quoted || w.path() {
		return r.named(n, from, k)
	}
	return r.headed(n, from, k)
}

// named reads a noun phrase whose words from begin on are followed by a name at k.
func (r *reader) named(n noun, begin, k int) (noun, int) {
	head := begin
	for head < k && !r.is(head, folderNoun) {
		head++
	}
	folder := head < k
	name, next := "", -1
	if w := r.word(k); w.kind == quoted {
		if !quotedPath(w.text) {
			return n, -1
		}
		name, next, n.quoted = w.text, k+1, true
	} else {
		first := k // Night Shift.md: the words before belong to the name
		for first > begin && r.titledPair(first-1) && !r.acronym(first-1) {
			first--
		}
		name, next = r.title(first)
		k = first
	}
	if folder && r.skip(head+1, "structure", "hierarchy", "path", "tree") < k {
		return n, -1
	}
	if n.name = name; folder {
		r.describe(&n, begin, head)
		n.kind, n.head = someDir, folderNoun
		return n, next
	}
	r.describe(&n, begin, k)
	if n.extra > 0 && !n.quoted && begin == r.phraseStart {
		return n, -1 // open reading list.md
	}
	for j := begin; j < k; j++ {
		n.head |= r.word(j).class & (fileNoun | docNoun)
	}
	return r.tail(n, next)
}

// tail reads the noun after a name: "'drafts' folder".
func (r *reader) tail(n noun, k int) (noun, int) {
	switch {
	case r.is(k, folderNoun):
		n.kind, n.head = someDir, folderNoun
		return n, k + 1
	case r.is(k, fileNoun), r.is(k, docNoun) && n.fileLike():
		n.kind, n.head = someFile, n.head|r.word(k).class&(fileNoun|docNoun)
		return n, k + 1
	}
	n.kind = somePath
	switch {
	case n.head&folderNoun != 0:
		n.kind = someDir
	case n.fileLike() || n.head&(fileNoun|docNoun) != 0:
		n.kind = someFile
	case strings.HasSuffix(n.name, "/"):
		n.kind = someDir
	}
	return n, k
}

// fileLike reports whether the name looks like that of a file.
func (n *noun) fileLike() bool {
	return fileShaped(n.name) || n.quoted && strings.HasSuffix(n.name, "file") && !strings.Contains(n.name, " ")
}

// headed reads a noun phrase of the plain words begin to end, whose noun is
// among them, or which is a bare name.
func (r *reader) headed(n noun, begin, end int) (noun, int) {
	for head := begin; head < end; head++ {
		if !r.is(head, folderNoun) {
			continue
		}
		first := begin
		for first < head && r.is(first, adjective) && (r.word(first).text == r.word(first).lower || !r.titledPair(first)) {
			first++
		}
		n.kind, n.head = someDir, folderNoun
		before := first+1 == head && (slashed(r.word(first).text) || r.word(first).precedes())
		switch next := r.afterNoun(&n, head+1); {
		case next > 0 && n.name != "" && !(before && n.bare):
			r.describe(&n, first, head)
			if n.extra == 0 || n.fresh {
				return n, next
			}
			if !before { // the name of something else: in the docs folder called a.txt
				return n, -1
			}
			n.name, n.quoted, n.bare, n.extra = r.word(first).text, false, false, 0
			return n, head + 1
		case first == head:
			return n, max(next, head+1)
		case before:
			n.name, n.bare = r.word(first).text, false
			return n, head + 1
		}
		if name, next := r.title(first); next == head && next > first+1 {
			n.name = name
			return n, head + 1
		}
		return n, -1
	}
	head := -1
	for j := begin; j < end; j++ {
		if r.is(j, fileNoun|docNoun) {
			head = j
		}
	}
	if head == begin && end == begin+1 && begin == r.phraseStart && r.word(head).bare() {
		return r.bareName(n, begin) // in data
	}
	if head >= 0 {
		n.kind, n.head = someFile, r.word(head).class&(fileNoun|docNoun)
		r.describe(&n, begin, head)
		if next := r.afterNoun(&n, head+1); next > 0 {
			return n, next
		}
		return n, -1
	}
	return r.bareName(n, begin)
}

// bareName reads a name that nothing but its place says is one: "Literature",
// "Knowledge Base".
func (r *reader) bareName(n noun, i int) (noun, int) {
	name, next := r.title(i)
	if w := r.word(i); next == i+1 && !w.bare() && !(w.given() && w.text != w.lower && r.any(i-1, "to", "as")) {
		return n, -1
	}
	if i > r.phraseStart && !r.word(i).titled() && !r.any(r.phraseStart, "the") {
		return n, -1 // a copy, my desk
	}
	n.kind, n.name, n.bare = somePath, name, true
	return r.tail(n, next)
}

// any reports whether word i is one of these.
func (r *reader) any(i int, words ...string) bool {
	w := r.word(i)
	return w.lower != "" && slices.Contains(words, w.lower)
}

// skip returns the first word from i on that is none of these.
func (r *reader) skip(i int, words ...string) int {
	for r.any(i, words...) {
		i++
	}
	return i
}

// past returns the word after the longest phrase of b at i, i where there is none.
func (r *reader) past(b book[bool], i int) int { return max(wordAfter(r, b, i), i) }

// describe notes what the words from i to end, before a noun, say about it.
func (r *reader) describe(n *noun, i, end int) {
	for ; i < end; i++ {
		n.empty = n.empty || r.any(i, "empty", "blank")
		switch {
		case r.is(i, adjective|adverb|kindNoun|fileNoun|docNoun|determiner):
		case r.is(i, pointing|vague|topic|describes):
			n.extra += maxNounWords // the last note
		default:
			n.extra++
		}
	}
}

// afterNoun reads the name after a noun: called X, at the path X, or X itself.
// With no name it returns i, and -1 where what follows spoils the phrase.
func (r *reader) afterNoun(n *noun, i int) int {
	if n.kind == someDir {
		i = r.skip(i, "structure", "hierarchy", "path", "tree")
		if k := r.parents(i); k > 0 && r.word(k).kind == quoted {
			i = k
		}
		if w := r.word(i); r.is(i, folderNoun) && i+1 == len(r.list) && !n.fresh {
			n.name, n.bare = w.text, true
			return i + 1
		}
	}
	if next := r.calling(i); next > i {
		if name, quoted, after := r.givenName(next, n.kind); after > 0 {
			n.name, n.quoted = name, quoted
			return after
		}
		return -1
	}
	k := i
	if r.word(k).text == ":" {
		k++
	}
	if next := wordAfter(r, atPaths(), k); next > 0 {
		k = next
		if w := r.word(k); w.kind != quoted && !w.path() {
			return i
		}
	}
	w := r.word(k)
	switch {
	case w.kind == quoted && quotedPath(w.text):
		n.name, n.quoted = w.text, true
		return k + 1
	case w.path():
		name, next := r.title(k)
		n.name = name
		return next
	case !w.follows() || w.class&adverb != 0 || n.kind == someFile && (r.phraseStart != i-1 || k != i) ||
		!w.titled() && r.is(r.phraseStart, determiner) && !r.any(r.phraseStart, "the", "a", "an"):
		return i
	}
	name, next := r.title(k)
	n.name, n.bare = name, true
	return next
}

// givenName reads the name after "called".
func (r *reader) givenName(i int, k kind) (name string, quoted_ bool, next int) {
	w := r.word(i)
	switch {
	case w.kind == quoted && quotedPath(w.text):
		return w.text, true, i + 1
	case w.kind != plain || w.class&function != 0 || !slashed(w.text) && !w.given() || k == someFile && strings.HasSuffix(w.text, "/"):
		return "", false, -1
	}
	name, next = r.title(i)
	return name, false, next
}

// here reads a phrase for the workspace itself.
func (r *reader) here(i int) int {
	next := wordAfter(r, heres(), i)
	if next < 0 || r.word(next).kind == quoted || r.calling(next) > 0 || r.is(next-1, folderNoun) && r.word(next).path() {
		return -1
	}
	return next
}

// labels come before a path and say that it is one.
var labels = phrases(`the|a? new|following|specified|exact|given|full? file|directory|folder? path|location|filepath|destination :? / the? new? name|filename|title :? /
		the? new? file name :?`)

// atPaths come before the path of what was just named by a noun.
var atPaths = phrases(`at|located? at the? following|specified|exact|given|full? file|directory? path|location|filepath? :? /
		found|stored|saved|placed|situated|located|kept at|in|under the? path|location? :? /
		in|under|with|using the? following|specified|exact|given|full? file|directory? path|location|filepath :? / whose path is / with|and? the file? path is|of|being /
		that's|that|which is? located|found|stored|saved|placed? at`)
