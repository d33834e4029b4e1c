package llmfallback

import "strings"

// A part is what of a noun is to be seen.
type part uint8

const (
	noPart part = iota
	names       // a list of what lies there
	whole       // all of its text, or of its names
)

// parts come before the noun of which something is to be seen.
var parts = newBook(
	line[part]{names, `a|the|my? complete|full|quick|simple|short|detailed|current? directory|folder|file|files? list|listing|overview|inventory|rundown of|for / a|the|my? directory|folder|file? listing / the|my? directory|folder contents|content of|in|for|inside /
		all? the? names of / all? the? file|folder|entry names|filenames of|in|inside|from`},
	line[part]{whole, `the|a|its|my|all|this? full|complete|entire|whole|current|raw|exact|actual|present|existing|updated? file|directory|folder? contents|content|text|data|body|code|source stored|saved|kept? of|from|in|inside|within|for /
		the|all? source code of|from|in|inside|within|for / all|everything of? the? contents|content of|in / all of / the whole of / all? the? visible and hidden contents of / all the? lines of|in / every line of|in /
		all|everything in|inside|from / everything that is in|inside / everything that's in|inside / everything i have in|inside / the? contents|content /
		what's|whats all? currently|left|stored|there|kept|saved|written|contained|recorded|sitting? in|inside|within|of of? /
		what is|are|was|has|else all? currently|left|stored|there|kept|saved|written|contained|recorded|been? stored|saved|written|kept? in|inside|within|of /
		what's there / what is there / what's been stored|saved|written|kept|put in|inside / what all is in|inside / what's|what|whats is? the contents|content|text of|in|inside /
		what are all? the full|complete|entire? contents of|in|inside / everything that's in|inside /
		what all? do|did|does|have i|we currently? have|got|keep|store|write? stored|saved|left|written? in|inside|within|under /
		what i|we have|keep|got|store|wrote|put? stored|saved? in|inside|under|within / what i've|we've got|stored|saved|put|kept? in|inside|under / what is the content of`},
)

// andMore follow a noun for entries: files and folders.
var andMore = phrases(`and|or|&|,|and/or and|or? all? the|any|of? files|folders|directories|subfolders|subdirectories|sub-folders|sub-directories|dirs|entries|items /
		and|or all? the|of? hidden files|folders|ones / , including hidden ones|files ,?`)

// lyings stand between entries and their place, and lives after "what files".
var (
	lyings = phrases(`that|which are|is|exist|exists currently|presently? stored|located|contained|present|available|found|saved|kept? /
		currently|presently? stored|located|contained|present|available|found|saved|kept|existing / currently|presently|directly / that|which? i|we have|keep|got stored|saved? /
		there are|is`)
	lives = phrases(`are|exist|exists|is|live|lie there? currently|stored|located|present|left|available|contained|found|saved? / do|did|does|have i|we have|keep|got|store? stored|saved? /
		can be found / there are|is / i|we have|keep|got|store stored|saved?`)
)

// holdings end a question for what something holds.
var holdings = phrases(`say|contain|have|hold|include|says|contains|has|holds|includes / have in it / look|looks like`)

// looking reads what is to be seen: a file, or what lies in a folder.
func (r *reader) looking(f *frame, i int) int {
	for r.is(i, adverb) && r.here(i) < 0 {
		i++
	}
	if next := r.asking(f, i); next > 0 {
		return next
	}
	of, next := match(r, parts(), i)
	listed := f.sense == toList || of == names
	if of == names {
		i = next
	}
	if f.sense == toAsk && !listed && of != whole {
		return -1
	}
	if k := r.entries(f, i); k > 0 && (f.sense != toRead || listed) && (!f.things || !r.fileAt(k)) {
		f.op = "listDirectory"
		return k
	}
	if of == whole {
		i = next
	}
	n, next := r.noun(i)
	switch {
	case of == whole && r.any(i-1, "there", "inside") && next < 0 && r.base.kind != nothing && r.base.kind != someFile:
		f.op = "listDirectory"
		return i
	case next > 0:
		return r.seen(f, n, i, next, listed, of == whole)
	case f.sense == toList && i >= len(r.list) && r.any(f.at, "ls", "dir"):
		f.op = "listDirectory"
		return i
	}
	return -1
}

// seen decides between the text of a file and the names in a folder.
func (r *reader) seen(f *frame, n noun, from, next int, listed, all bool) int {
	for r.any(next, "contents", "content", "listing") || r.is(next, entryNoun) && (n.kind == someDir || n.kind == workspace) {
		listed = listed || n.kind == someDir || n.kind == workspace
		all = true
		next++
	}
	path := n.kind == somePath && !n.bare && n.oneName()
	known := n.kind == someFile && (n.extra == 0 || n.head != 0 && n.extra < maxNounWords)
	f.object, f.op = n, "readFile"
	switch {
	case !all && f.at+1 == from && r.any(f.at, "check", "know", "learn", "scan", "update") && !(n.kind == someDir && r.any(next, "and")):
		return -1
	case n.kind == mentioned && r.base.kind != nothing && r.before.name == "" && f.sense != toRead:
		f.object, f.op = noun{}, "listDirectory"
	case (n.kind == mentioned || n.kind == someFile && n.name == "" && !n.fresh) && r.before.name != "":
		f.object = r.before
	case n.kind == workspace && (listed || all || f.sense == toShow), n.kind == someDir && n.name != "" && !n.fresh && f.sense != toRead,
		path && (listed || all && !n.quoted) && strings.Contains(n.name, "/"),
		n.kind == somePath && listed && (all || n.head != 0 || r.any(from-1, "of", "for") || r.any(f.at, "dir", "ls")):
		f.op = "listDirectory"
	case listed:
		return -1
	case n.kind == someFile && n.name == "" && !n.fresh && (r.fileAt(next) || r.namedLater(next)): // the notes in a.md
	case known && n.name != "", path && f.sense == toRead:
	default:
		return -1
	}
	return next
}

// oneName tells a name in quotes from a phrase in quotes.
func (n *noun) oneName() bool {
	return !n.quoted || fileShaped(n.name) || !strings.Contains(n.name, " ") || strings.Contains(n.name, "/")
}

// fileAt reports whether a preposition and a file follow.
func (r *reader) fileAt(i int) bool {
	n, next := r.placed(i)
	return next > 0 && n.kind == someFile
}

// asking reads a question for entries, or for what something holds: what files
// are in src, what does a.txt say.
func (r *reader) asking(f *frame, i int) int {
	k := i + 1
	switch {
	case !r.any(i, "what", "which"):
		return -1
	case r.any(k, "does", "do"):
		return r.holding(f, k+1)
	case r.any(k, "are"):
		f.op = "listDirectory"
		return r.entries(f, k+1)
	}
	if next := r.entries(f, k); next > 0 {
		f.op = "listDirectory"
		if after := wordAfter(r, lives(), next); after > 0 {
			return after
		}
		if r.any(next, "does", "do") {
			return r.holding(f, next+1)
		}
	}
	return r.holding(f, k) // tell me what a.txt says
}

// holding reads the end of "what does a.txt say".
func (r *reader) holding(f *frame, i int) int {
	n, next := r.noun(i)
	after := wordAfter(r, holdings(), next)
	files := f.op == "listDirectory" // which files does it hold
	if next < 0 || after < 0 || n.name == "" && n.kind != workspace ||
		files && n.kind == someFile || n.kind == somePath && !strings.Contains(n.name, "/") {
		return -1
	}
	f.object, f.op = n, "listDirectory"
	if n.kind == someFile {
		f.op = "readFile"
	}
	return after
}

// entries reads a noun for what lies in a folder: all the files and folders. Of
// one sort it is only if the folder has that name: the report files in Reports.
func (r *reader) entries(f *frame, i int) int {
	k := r.skip(i, "all", "of", "the", "my", "our", "these", "its", "those", "any", "available", "existing", "current", "visible", "hidden", "regular", "and", "top-level", "complete", "full")
	if r.any(k, "everything") {
		f.things = true
		return max(k+1, r.past(lyings(), k+1))
	}
	begin := k
	if r.is(k, ^function) && r.word(k).class&(function|folderNoun|entryNoun|dirsNoun|thingNoun) == 0 && !r.word(k).path() {
		k++
	}
	files := r.is(k, entryNoun) || r.any(k, "files/directories", "files/folders", "directories/files")
	switch {
	case k > i && r.any(k-1, "hidden", "regular") && !r.any(k-2, "and"), r.is(k+1, folderNoun), !files && !r.is(k, thingNoun) && !(r.is(k, dirsNoun) && r.any(k+1, "and", "or", "&")):
		return -1
	case k > begin && (files || !r.any(k, "artifacts", "assets", "stuff", "things", "materials", "resources")):
		f.sort = r.word(k - 1).lower
	case k == begin && !files && r.is(k, thingNoun):
		f.things = true
	}
	next := r.past(lyings(), r.past(andMore(), k+1))
	placed := r.base.kind != nothing || wordAfter(r, prepositions(), next) > 0 || wordAfter(r, lives(), next) > 0 || r.here(next) > 0
	if f.things && !placed { // list Notes
		return -1
	}
	return next
}
