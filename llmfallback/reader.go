package llmfallback

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// A Reading is what a prompt in plain words asks for, as far as it was understood.
type Reading struct {
	Extraction        // zero unless Answered
	Answered   bool   // one request, every word of which is understood
	Clause     string // the request in the prompt, "" where there is none
	Verb       string // what it begins with, "" where that is not a verb: what is in a.txt?
	Roles      []Role // what was found out before the first word that is not understood
	Overwrites bool   // it says that what stands at the target may go
	Why        string // why it is not answered, and what to type instead
}

// A Role is a part of a request and what fills it.
type Role struct {
	Name  string `json:"name"` // "object", "to"
	Value string `json:"value"`
}

// Read reads a prompt. It answers only where one reading explains every word.
func Read(prompt string) Reading {
	r := newReader(prompt)
	return r.read()
}

// A reader reads one prompt.
type reader struct {
	words
	loose       bool // words that nothing explains are skipped, within limits
	base        noun // where the request begins by saying that all of it lies
	before      noun // the file that an earlier sentence introduces
	after       bool // a reason or another sentence came before the request
	phraseStart int  // of the noun phrase that is being read
	mayI        bool // it asks for leave, which only looking needs
	asked       bool // "can you": a question mark asks for the deed
	found       []frame
	best        frame // of the attempts that failed the one that explained most
}

func newReader(prompt string) *reader {
	return &reader{words: split(prompt)}
}

// A frame is a request in the making: who does what to which, where to, with
// which text.
type frame struct {
	sense  sense
	op     string
	at     int // the verb
	next   int // the word after it
	object noun
	things bool // items, notes: in a folder that is said to be one
	roles  [asRole + 1]noun
	name   string // the name that it gets: called X
	text   string
	texted bool // text was stated, possibly as the empty text
	sample bool // it is neither quoted nor introduced
	awaits bool // a text was announced: "the following line"
	lies   bool // the place before its name is its own: the file in docs called a.txt
	sort   string
	atEnd  bool // the text goes to the end of the file
	ended  bool // the text took the rest of the prompt
	past   int  // the word before which all is explained
	over   bool // it says that what stands at the target may go
	passed int  // words that a loose reader skipped
	e      Extraction
	why    string
}

// read tries the request at every place where it may begin: after courtesies,
// a place, a reason, an introduction.
func (r *reader) read() Reading {
	i := 0
	for i < len(r.list) && i >= 0 {
		start, ing := r.opened(i)
		if start >= len(r.list) {
			break
		}
		if e, ok := command(r.prompt[r.list[start].start:]); ok && !r.after && r.base.kind == nothing {
			return Reading{Extraction: e, Answered: true, Clause: r.prompt[r.list[start].start:], Verb: r.list[start].text}
		}
		r.request(start, ing)
		if len(r.found) > 0 {
			break
		}
		if i = r.place(start); i < 0 {
			i = r.statement(start)
		}
	}
	return r.result()
}

// result is the one reading that was found.
func (r *reader) result() Reading {
	if len(r.found) == 0 {
		return Reading{Why: r.best.explain(r), Verb: r.best.verb(r), Clause: r.best.clause(r), Roles: r.best.named(r)}
	}
	f := r.found[0]
	for _, other := range r.found[1:] {
		if other.e != f.e {
			return Reading{Verb: f.verb(r), Clause: f.clause(r), Roles: f.named(r), Why: "it can be read in two ways: " + f.e.short() + ", or " + other.e.short()}
		}
	}
	return Reading{Extraction: f.e, Answered: true, Overwrites: f.over, Verb: f.verb(r), Clause: f.clause(r), Roles: f.named(r)}
}

// opened returns the first word of the request itself, and whether its verb
// ends in -ing.
func (r *reader) opened(i int) (start int, ing bool) {
	for i < len(r.list) {
		o, next := match(r, openings(), i)
		switch {
		case next < 0 && (i == 0 && r.list[i].text == "\n" || i > 0 && r.list[i].kind == mark && strings.Contains(",:!.-\n", r.list[i].text)):
			next = i + 1
		case next < 0:
			return i, ing
		}
		ing = ing || o == gerund
		r.mayI = r.mayI || o == leave
		r.asked = r.asked || o == asks || o == gerund
		i = next
	}
	return i, ing
}

// request reads the request that begins at word i in every way it can be, and
// keeps those that explain all.
func (r *reader) request(i int, ing bool) {
	for _, a := range r.senses(i, ing) {
		f := frame{sense: a.means, at: i, next: a.next, past: i}
		if r.mayI && f.sense > toCheck && f.sense != toAsk || f.sense == toDelete && r.doubted() {
			continue
		}
		next := r.object(&f, a.next)
		if next > 0 && r.rest(&f, next) && f.settle(r) {
			r.found = append(r.found, f)
			continue
		}
		if f.past > r.best.past || r.best.sense == noSense {
			r.best = f
		}
	}
}

// doubted reports whether the prompt asks whether something should be done: delete a.txt?
func (r *reader) doubted() bool {
	return !r.asked && strings.HasSuffix(strings.TrimRight(r.prompt, " \t\r\n!."), "?")
}

// rest explains what follows the object, word by word.
func (r *reader) rest(f *frame, i int) bool {
	for i < len(r.list) && !f.ended {
		f.past = max(f.past, i)
		next := r.step(f, i)
		if next <= i {
			if next = r.pass(f, i); next < 0 {
				return false
			}
		}
		i = next
	}
	f.past = max(f.past, i)
	return f.ended || r.whole
}

// step explains the words at i by one thing that may follow a request.
func (r *reader) step(f *frame, i int) int {
	for _, explained := range [...]func(*frame, int) int{r.closing, r.modifier, r.calls, r.textRole, r.role, r.purpose} {
		if next := explained(f, i); next > 0 {
			return next
		}
	}
	if next := wordAfter(r, closings(), i); next > 0 {
		return next
	}
	if r.is(i, adverb) {
		return i + 1
	}
	return -1
}

// closing reads what may follow one operation only.
func (r *reader) closing(f *frame, i int) int {
	b, ok := closingsOf[f.op]
	if !ok {
		return -1
	}
	next := wordAfter(r, b(), i)
	if f.op == "listDirectory" && f.object.kind == nothing && f.roles[inRole].kind == nothing && r.any(next-1, "it") {
		return -1
	}
	return next
}

// settle makes the operation of what was found. It reports false where the
// parts do not fit each other.
func (f *frame) settle(r *reader) bool {
	e := Extraction{Operation: f.op, Path: f.object.name}
	in, from := &f.roles[inRole], &f.roles[fromRole]
	if from.kind != nothing && (in.kind == nothing || in.kind == workspace) {
		in = from
	}
	switch {
	case r.base.kind == someFile && f.object.name != r.base.name:
		return f.fail("it is not clear what is to be done with " + r.base.name)
	case from.kind != nothing && from.kind != workspace && in != from && (f.op != "copyFile" && f.op != "moveFile" || f.roles[toRole].kind != nothing || f.lies):
		return f.fail("two places")
	case r.base.kind == someFile:
	case in.kind == nothing:
		in = &r.base
	case r.base.kind != nothing && r.base.kind != workspace:
		return f.fail("two places")
	}
	switch f.op {
	case "listDirectory":
		return f.list(in, e)
	case "writeFile", "appendFile":
		e.Content, e.HasContent = f.text, f.texted
		if f.sample && !slices.Contains(proseEndings[:], lower(path.Ext(f.object.name))) {
			return f.fail("it is not clear that this is the text itself; put it in quotes: " + f.text)
		}
		if !f.texted {
			if f.awaits || f.passed > 0 || f.op == "appendFile" || !(f.object.empty || f.object.head&docNoun == 0) {
				return f.fail("it does not say what to write")
			}
			e.HasContent = true
		}
		if f.op == "appendFile" && !f.atEnd && !r.any(f.at, "append", "attach", "add", "tack", "appending", "adding", "appends", "adds") {
			return f.fail("it does not say to append")
		}
	case "copyFile", "moveFile":
		return f.transfer(in, e)
	}
	if e.Path == "" {
		return f.fail("it does not say which")
	}
	var ok bool
	if e.Path, ok = below(in, e.Path); !ok {
		return f.fail("the name and the place do not fit")
	}
	f.e = e
	return f.op != "deleteFile" || !r.after && fileShaped(e.Path) && f.object.kind == someFile
}

// below puts a name into the folder that in names.
func below(in *noun, name string) (string, bool) {
	if in.kind == nothing || in.kind == workspace {
		return name, true
	}
	if in.kind == someFile && path.Base(in.name) == name {
		return in.name, true
	}
	if in.name == "" || in.kind == someFile || rooted(name) || strings.HasPrefix(name, strings.TrimSuffix(in.name, "/")+"/") {
		return name, false
	}
	return join(in.name, name), true
}

// list settles on the folder that a listing is of.
func (f *frame) list(in *noun, e Extraction) bool {
	of := &f.object
	if f.things && in.kind == somePath && in.bare {
		return f.fail("it does not say that " + in.name + " is a folder")
	}
	switch {
	case of.kind == nothing:
		of = in
	case in.kind != nothing && in.kind != workspace && of.kind != workspace:
		var ok bool
		if e.Path, ok = below(in, of.name); !ok {
			return f.fail("the name and the place do not fit")
		}
	}
	switch {
	case of.kind == workspace, of.kind == nothing:
		e.Path = "."
	case e.Path == "":
		e.Path = of.name
	}
	// "the report files in Reports" are all of them
	if f.sort != "" && !strings.HasPrefix(lower(path.Base(e.Path)), strings.TrimSuffix(f.sort, "s")) {
		return f.fail("it lists all names, not those of one sort (" + f.sort + ")")
	}
	f.e = e
	return e.Path != "" && (of.kind != someFile)
}

// transfer settles on where a copy or a move goes.
func (f *frame) transfer(in *noun, e Extraction) bool {
	to, as := &f.roles[toRole], &f.roles[asRole]
	if f.sense == toRename && to.kind != nothing { // renaming keeps the folder
		f.name, to = to.name, &noun{}
	}
	if as.kind != nothing {
		if f.name != "" {
			return f.fail("two names")
		}
		f.name = as.name
	}
	if to.kind == nothing && f.sense != toRename && in == &f.roles[inRole] && in.kind != nothing && !f.lies {
		to, in = in, &f.roles[fromRole] // copy a.txt in docs
	}
	var ok bool
	if e.Path, ok = below(in, e.Path); !ok || e.Path == "" {
		return f.fail("it does not say which file")
	}
	base := path.Base(e.Path)
	switch {
	case to.kind == nothing && f.name == "":
		return f.fail("it does not say where to")
	case to.kind == nothing && strings.Contains(f.name, "/"):
		e.Destination = f.name
	case to.kind == nothing:
		e.Destination = join(strings.TrimSuffix(strings.TrimSuffix(e.Path, base), "/"), f.name)
	case f.name != "" && (strings.Contains(f.name, "/") || to.kind == someFile):
		return f.fail("two destinations")
	case f.name == "" && to.kind != workspace && to.kind != someDir && !to.into:
		e.Destination = to.name
	default:
		e.Destination = join(to.name, cmp.Or(f.name, base))
	}
	f.e = e
	return e.Destination != "" && e.Destination != e.Path && e.Destination != "/"
}

func rooted(p string) bool { return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") }

// join puts name below dir; the current folder is left out.
func join(dir, name string) string {
	if dir == "" || dir == "." || dir == "./" {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}
