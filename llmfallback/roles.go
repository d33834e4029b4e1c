package llmfallback

import (
	"path"
	"strings"
)

// A way is a sense that the verb at some word may have, and the word after it.
type way struct {
	means sense
	next  int
}

// senses lists how the request at word i can begin.
func (r *reader) senses(i int, ing bool) (ways []way) {
	verb := r.list[i].lower
	if form := verbForm(verb); form != "" && ing == strings.HasSuffix(verb, "ing") {
		verb = form
	}
	for _, p := range verbs()[verb] {
		if next := r.along(p.slots, verb, i); next > i {
			ways = append(ways, way{p.means, next})
		}
	}
	if !ing {
		if wordAfter(r, doubts(), i) > 0 && verb != "for" {
			ways = append(ways, way{toCheck, i})
		}
		ways = append(ways, way{toAsk, i})
	}
	return ways
}

// operationOf has the operation of the senses that have one.
var operationOf = map[sense]string{
	toCheck: "fileExists", toWrite: "writeFile", toAppend: "appendFile", toReplace: "writeFile", toEnsure: "createDirectory",
	toDelete: "deleteFile", toCopy: "copyFile", toMove: "moveFile", toRename: "moveFile",
}

// object reads what the verb is about, which gives the operation.
func (r *reader) object(f *frame, i int) int {
	f.op = operationOf[f.sense]
	switch f.sense {
	case toRead, toShow, toList, toAsk:
		return r.looking(f, i)
	case toCheck:
		return r.checking(f, i)
	case toWant, toMake:
		if f.sense == toWant && wordAfter(r, parts(), i) > 0 {
			return r.looking(f, i)
		}
		return r.making(f, i)
	case toWrite, toAppend:
		return r.writing(f, i)
	case toReplace:
		return r.replacing(f, i)
	case toEnsure:
		return r.ensuring(f, i)
	case toDelete, toCopy, toMove, toRename:
		return r.affected(f, i)
	}
	return -1
}

// affected reads the file that is deleted, copied or moved.
func (r *reader) affected(f *frame, i int) int {
	whole := false
	if next := wordAfter(r, parts(), i); next > 0 && f.sense == toCopy && r.any(next-1, "of") {
		i, whole = next, true
	}
	if k := r.skip(i, "the", "file"); r.any(k, "from") && k != i+1 {
		i = k + 1 // move the file from a/x.txt to b/x.txt
	}
	n, next := r.noun(i)
	f.object = n
	switch {
	case f.sense == toDelete && n.kind == someDir:
		f.fail("a request in plain words deletes files, not folders")
		return -1
	case n.kind == mentioned && r.before.name != "" && f.sense != toDelete:
		f.object = r.before
	case f.sense == toDelete && (n.extra > 0 || n.bare),
		n.bare && n.head == 0 && !r.shellWord(f.at):
		return -1
	case n.name == "" && !r.any(next, "called") && !r.any(next, "named") && !r.namedLater(next), n.kind == workspace,
		n.kind == someDir && f.sense == toCopy, whole && n.kind != someFile, n.extra > 0 && n.head == 0, n.fresh && r.any(i-1, "of"): // a copy of a file
		return -1
	}
	if r.any(f.at, "update", "change", "modify") && f.at+1 == i { // my Drafts folder name
		if !r.any(next, "name", "filename", "name's") {
			return -1
		}
		next++
	}
	if second, after := r.noun(next); f.sense > toDelete && after == len(r.list) && second.name != "" && n.head == 0 && (!second.bare || r.shellWord(f.at)) {
		f.roles[toRole] = second // copy a.txt b.txt
		return after
	}
	return next
}

// chains are the folders of one path.
var chains = phrases(`multiple? nested directories|folders at / all|any|every? the? missing|intermediate|necessary|required|nested? directories|folders as? needed|required|necessary? in|of|along|for|at the? path`)

// shellWord reports whether word i is a command of a shell.
func (r *reader) shellWord(i int) bool {
	return r.any(i, "cp", "mv", "rm", "mkdir", "cat", "ls")
}

// making reads what is created: a folder, or a file.
func (r *reader) making(f *frame, i int) int {
	if k := r.parents(i); k > i && r.any(k-1, "and") && r.is(k, folderNoun) {
		i = k // intermediate directories as required and directory X
	}
	if next := wordAfter(r, chains(), i); next > 0 {
		n, after := r.noun(next)
		f.object, f.op = n, "createDirectory"
		return after
	}
	n, next := r.noun(i)
	f.object = n
	create := r.any(f.at, "create", "set", "creating", "creates")
	f.over = r.any(f.next-1, "overwrite", "replace")
	switch {
	case r.is(next, dirsNoun|folderNoun):
		return -1
	case n.kind == someDir && (n.head != 0 || create), r.shellWord(f.at) && n.kind == somePath && next == len(r.list),
		n.kind == somePath && (!n.bare && !n.quoted && strings.Contains(n.name, "/") && create || r.any(next, "as") && r.is(next+2, folderNoun)):
		f.op = "createDirectory"
	case n.kind == someFile && (n.extra == 0 || n.name == ""):
		f.op = "writeFile"
		if n.head == 0 && !create {
			f.object.head = docNoun // a file by its looks alone is made with a text
		}
	default:
		return -1
	}
	return next
}

// ensuring reads the folder that is to exist.
func (r *reader) ensuring(f *frame, i int) int {
	k := r.skip(i, "there", "there's", "is", "exists", "i", "we", "have", "that")
	n, next := r.noun(k)
	dir := n.kind == someDir || n.kind == somePath && strings.Contains(n.name, "/") && r.any(next, "exists", "exist") && r.any(next+1, "as")
	if next < 0 || !dir {
		return -1
	}
	f.object = n
	if n.name != "" && (k > i || r.any(i-1, "of")) {
		return next
	}
	if place, after := r.placed(next); after > 0 {
		f.roles[inRole], next = place, after
	}
	return wordAfter(r, ensured(), next)
}

// ensured says of a folder that it is to exist.
var ensured = phrases(`exists|exist / exists|exist|is as a directory|folder / is|are present|there|created or? already? exists? / is in place`)

// placed reads a place: in the docs folder, from docs, here.
func (r *reader) placed(i int) (noun, int) {
	role, next := match(r, prepositions(), i)
	if next < 0 || role != inRole && role != fromRole {
		return noun{}, -1
	}
	n, after := r.noun(next)
	if after < 0 || n.kind == mentioned || n.kind != workspace && n.name == "" {
		return noun{}, -1
	}
	return n, after
}

// namedLater reports whether a place and then a name follow: the file in docs called a.txt.
func (r *reader) namedLater(i int) bool {
	_, next := r.placed(i)
	return r.calling(next) > 0
}

// role reads a preposition and its noun.
func (r *reader) role(f *frame, i int) int {
	role, next := match(r, prepositions(), i)
	if role == ofRole && f.op == "listDirectory" && f.object.kind == nothing {
		role = inRole
	}
	if next < 0 || role == ofRole {
		return -1
	}
	how := r.word(next - 1).lower
	n, after := r.noun(next)
	if after < 0 || n.kind == mentioned || n.name == "" && n.kind != workspace {
		return -1
	}
	if n.kind == someDir && r.is(after, namer) && f.object.name != "" {
		return -1 // copy a.txt to the docs folder called b.txt
	}
	if how == "at" && n.bare { // delete a.txt at noon
		return -1
	}
	n.into = how != "to" && how != "onto" && how != "as" && n.kind == somePath || role == toRole && f.roles[fromRole].kind != nothing && n.kind == somePath && n.bare
	return r.assign(f, role, n, i, after)
}

// assign gives a noun its role, if the sense has one for it.
func (r *reader) assign(f *frame, role role, n noun, i, after int) int {
	slot := &f.roles[role]
	switch {
	case f.sense == toWrite || f.sense == toAppend || f.sense == toReplace && f.object.kind == nothing:
		return r.target(f, role, n, after)
	case role == asRole && f.sense != toCopy && f.sense != toRename && f.sense != toMove,
		role == toRole && (f.sense < toDelete || f.sense == toEnsure) && !(f.op == "createDirectory" && r.any(f.at, "add")),
		role != inRole && f.sense == toCheck,
		role == fromRole && n.bare && n.head == 0 && f.op == "readFile",
		f.op == "readFile" && n.kind == someFile && (f.object.name != "" && f.object.name != path.Base(n.name) || f.object.extra >= maxNounWords):
		return -1
	case f.op == "readFile" && f.object.name == "" && n.kind == someFile:
		f.object.name, f.object.kind = n.name, someFile // the notes in a.md
		return after
	case role == inRole && f.object.name == "" && (n.kind == somePath || n.kind == someFile) && !n.bare && f.op != "listDirectory" && f.name == "" && r.any(i, "at"):
		f.object.name = n.name
		return after
	case role == toRole && f.op == "createDirectory":
		slot = &f.roles[inRole]
	case role == inRole && f.roles[toRole].kind == someDir && f.roles[inRole].kind == nothing && n.kind != workspace:
		to := &f.roles[toRole] // to the archives folder within research
		to.name = join(n.name, to.name)
		return after
	}
	if slot.kind != nothing && role == inRole && n.kind == workspace {
		return after // in docs in the current folder
	}
	if slot.kind != nothing && slot.kind != workspace {
		return -1
	}
	*slot = n
	return after
}

// target gives the file that a text is written to, or the folder it is in.
func (r *reader) target(f *frame, role role, n noun, after int) int {
	switch {
	case role == fromRole:
		return -1
	case f.object.name == "" && f.name == "" && (n.kind == someFile || n.kind == somePath && (n.quoted || strings.Contains(n.name, "/"))):
		if f.op == "appendFile" && n.extra > 0 {
			return -1
		}
		n.head |= f.object.head
		f.object = n
		return after
	case (role == inRole || n.kind == someDir && f.object.name != "") && (n.kind == someDir || n.kind == workspace || n.kind == somePath && !n.fileLike()) && f.roles[inRole].kind == nothing:
		f.roles[inRole] = n
		return after
	}
	return -1
}

// calling returns the word after "called", "with the name" and the like, -1
// where they do not stand.
func (r *reader) calling(i int) int { return wordAfter(r, callings(), i) }

// calls reads the name that something gets.
func (r *reader) calls(f *frame, i int) int {
	next := r.calling(i)
	if w := r.word(i + 1); r.word(i).text == ":" && f.object.name == "" && f.op != "readFile" && f.op != "listDirectory" && (w.kind == quoted || w.path()) {
		next = i + 1
	}
	if next < 0 || f.name != "" || f.sense < toCheck && f.object.name != "" {
		return -1
	}
	name, _, after := r.givenName(next, f.object.kind)
	switch {
	case f.object.name == "":
		f.object.name, f.lies = name, f.roles[inRole].kind != nothing
	case f.sense == toCopy || f.sense == toMove || f.sense == toRename:
		f.name = name
	default:
		return -1
	}
	return after
}
