package llmfallback

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A Reading is what a prompt in plain words asks for, as far as it was understood.
type Reading struct {
	Extraction        // zero unless Answered
	Answered   bool   // one request, every word of which is understood
	Rule       string // of the grammar by which it was read: "moveFile 2", the second way
	Roles      []Role // what was found out
	Lines      bool   // the text is whole lines of the file
	Overwrites bool   // it says that what stands at the target may go

	// Where it is not answered:
	Understood string     // the part that was understood, "" if no request is
	Missed     string     // what follows it, "" if nothing does
	Why        string     // why it is not answered, in words
	Nearest    Extraction // with words in capitals for what is missing
	Subcommand string     // that does what is asked, where no operation does
}

// A Role is a part of a request and what fills it.
type Role struct {
	Name  string `json:"name"` // "object", "to"
	Value string `json:"value"`
}

// Read reads a prompt. It answers only where one reading explains every word.
func Read(prompt string) Reading { return compiled().Read(prompt) }

// Read reads a prompt by the grammar g.
func (g *grammar) Read(prompt string) (found Reading) {
	m := &matcher{grammar: g, words: split(prompt)}
	m.prepare()
	return m.result()
}

// prepare numbers the words. After "mind" and "by" a verb in -ing is read as its plain form, and so is
// the first word of the prompt in -s.
func (m *matcher) prepare() {
	m.memo, m.done = make([][][]reading, len(m.list)+1), make([][]bool, len(m.list)+1)
	for i := range m.list {
		w := &m.list[i]
		w.number = m.grammar.words[w.lower]
		if ing, ok := strings.CutSuffix(w.lower, "ing"); ok && i > 0 && (m.word(i-1).lower == "mind" || m.word(i-1).lower == "by") {
			m.plain(w, ing, ing+"e", ing[:max(len(ing)-1, 0)])
		} else if s, ok := strings.CutSuffix(w.lower, "s"); ok && i == 0 {
			m.plain(w, s, strings.TrimSuffix(s, "e"))
		}
	}
}

// plain reads a word as the first of some forms that is a verb.
func (m *matcher) plain(w *word, forms ...string) {
	for _, form := range forms {
		if n := m.grammar.words[form]; m.listed("deed", n) {
			w.number = n
			return
		}
	}
}

// result is the one reading that was found.
func (m *matcher) result() (found Reading) {
	if e, ok := command(m.prompt); ok {
		return Reading{Extraction: e, Answered: true, Rule: "command"}
	}
	why := ""
	for _, r := range m.read(m.named["request"], 0) {
		if r.end < len(m.list) || !m.whole && !r.bound.has("text") {
			continue
		}
		f := m.frame(r.bound)
		switch ok := f.settle(m); {
		case !ok:
			why = cmp.Or(why, f.why)
		case found.Answered && found.Extraction != f.e:
			return Reading{Why: "it can be read in two ways: " + found.short() + ", or " + f.e.short(), Understood: m.prompt}
		default:
			found = Reading{
				Extraction: f.e, Answered: true, Overwrites: f.over || found.Overwrites, Lines: f.lines && (f.op == "appendFile" || f.shell) || found.Lines,
				Roles: f.roles(), Rule: fmt.Sprintf("%s %d", f.op, f.way),
			}
		}
	}
	if m.lost || !found.Answered {
		return m.partial(why)
	}
	return found
}

// partial says how far a prompt was understood that is not answered.
func (m *matcher) partial(why string) (r Reading) {
	far := &m.far
	if far.to > far.from {
		f := m.frame(far.bound)
		f.op = strings.TrimPrefix(m.heads[far.rule], "op:")
		r.Roles, r.Nearest = f.roles(), f.nearest()
		r.Understood = m.prompt[m.list[far.from].start:m.list[far.to-1].end]
		if far.to < len(m.list) {
			r.Missed = strings.TrimSpace(m.prompt[m.list[far.to].start:])
		}
	}
	for i := 0; i < len(m.list) && !(far.to-far.from > 1); i++ { // what other subcommands do
		for list, words := range m.lists {
			if name, ok := strings.CutPrefix(list, "near:"); ok && slices.Contains(words, m.list[i].lower) {
				return Reading{Subcommand: name}
			}
		}
	}
	switch missed, _, more := strings.Cut(r.Missed, "\n"); {
	case r.Understood == "":
	case why != "":
		r.Why, r.Missed = fmt.Sprintf("I understood %q, but %s", r.Understood, why), ""
	case r.Missed == "":
		r.Why = fmt.Sprintf("I understood %q, but something is missing", r.Understood)
	default:
		if len(missed) > 60 || more {
			missed = strings.ToValidUTF8(missed[:min(len(missed), 60)], "") + " …"
		}
		r.Why = fmt.Sprintf("I understood %q, but not %q", r.Understood, missed)
	}
	return r
}

// nearest returns what a request comes to, with words in capitals for what is missing.
func (f *frame) nearest() Extraction {
	e := Extraction{Operation: f.op, Path: cmp.Or(f.obj.name, f.called.name, "PATH")}
	switch f.op {
	case "writeFile", "appendFile":
		e.Content, e.HasContent = cmp.Or(f.text, "TEXT"), true
	case "copyFile", "moveFile":
		e.Destination = cmp.Or(f.to.name, "PATH")
	}
	return e
}

func (b *binding) has(slot string) bool {
	found := false
	b.each(func(b *binding) { found = found || b.slot == slot })
	return found
}

// A noun is what a noun phrase names. Its name is "" where it names nothing: "a new folder".
type noun struct {
	is, quoted                           bool
	name                                 string
	dir, file, doc, here, it, bare, into bool
	empty, fresh                         bool
}

// A frame is a request whose parts are known: what happens to which, where to, with which text.
type frame struct {
	op                                        string
	way                                       int
	obj, in, from, to, base, called, dat, ref noun
	sort                                      noun // of the files: all python files
	text                                      string
	texted, over, blank, rename, lies         bool
	asked, here, sample, lines, shell         bool
	twice                                     bool // two things fill one role
	e                                         Extraction
	why                                       string
}

// frame sorts what was bound.
func (m *matcher) frame(b *binding) *frame {
	f := &frame{}
	nouns := map[string]*noun{"obj": &f.obj, "in": &f.in, "from": &f.from, "to": &f.to, "base": &f.base, "called": &f.called, "dat": &f.dat, "ref": &f.ref, "sort": &f.sort}
	marks := map[string]*bool{"over": &f.over, "blank": &f.blank, "rename": &f.rename, "asked": &f.asked, "here": &f.here, "lies": &f.lies, "sample": &f.sample, "lines": &f.lines, "shell": &f.shell}
	b.each(func(b *binding) {
		switch n := nouns[b.slot]; {
		case n != nil:
			next := b.noun()
			f.twice = f.twice || n.is && !(b.slot == "in" && (n.here || next.here))
			if !n.is || n.here {
				*n = next
			}
		case b.slot == "op":
			f.op, f.way = b.text, b.way
		case b.slot == "text":
			f.twice = f.twice || f.texted
			f.text, f.texted = b.text, true
		case marks[b.slot] != nil:
			*marks[b.slot] = true
		}
	})
	return f
}

// noun returns the noun that is bound in a slot.
func (b *binding) noun() noun {
	n := noun{is: true}
	marks := map[string]*bool{
		"dir": &n.dir, "file": &n.file, "doc": &n.doc, "here": &n.here, "it": &n.it, "bare": &n.bare, "into": &n.into,
		"empty": &n.empty, "fresh": &n.fresh,
	}
	b.within.each(func(b *binding) {
		switch {
		case b.slot == "name":
			n.name, n.quoted = b.text, b.quoted
		case marks[b.slot] != nil:
			*marks[b.slot] = true
		}
	})
	return n
}

// roles lists the roles that are filled.
func (f *frame) roles() []Role {
	roles := []Role{{"operation", f.op}}
	for _, part := range [...]struct {
		name string
		n    *noun
	}{{"object", &f.obj}, {"called", &f.called}, {"in", &f.in}, {"to", &f.to}, {"from", &f.from}, {"before", &f.base}} {
		if part.n.here {
			part.n.name = "."
		}
		roles = append(roles, Role{part.name, part.n.name})
	}
	roles = append(roles, Role{"text", f.text})
	return slices.DeleteFunc(roles, func(role Role) bool { return role.Value == "" })
}

// fail keeps the first reason why a request cannot be carried out.
func (f *frame) fail(why string) bool {
	f.why = cmp.Or(f.why, why)
	return false
}

// settle makes the operation of what was found. It reports false where the parts do not fit
// each other.
func (f *frame) settle(m *matcher) bool {
	in := &f.in
	if f.from.is && (!in.is || in.here) {
		in = &f.from
	}
	switch {
	case f.twice:
		return f.fail("it says one thing twice")
	case f.base.is && f.base.file && (f.obj.it || f.obj.name == f.base.name):
		f.obj = f.base
	case f.base.is && f.base.file:
		return f.fail("it is not clear what is to be done with " + f.base.name)
	case !in.is || f.op == "listDirectory" && in.it:
		in = &f.base
	case f.base.is && !f.base.here:
		return f.fail("it names two places")
	}
	if f.obj.it && f.ref.is {
		f.obj = f.ref
	} else if f.ref.is {
		return f.fail("it is not clear what is to be done with " + f.ref.name)
	}
	if f.obj.it && !(f.op == "listDirectory" && f.base.is) {
		if f.base.name == "" || f.base.dir {
			return f.fail("it does not say which")
		}
	}
	f.e = Extraction{Operation: f.op, Path: f.obj.name}
	switch {
	case f.called.is && f.obj.name != "" && f.op != "copyFile" && f.op != "moveFile":
		return f.fail("it gives two names")
	case f.e.Path == "":
		f.e.Path = f.called.name
	}
	switch {
	case f.dat.is && f.e.Path == "":
		f.e.Path = f.dat.name
	case f.dat.is && in.is && !in.here:
		return f.fail("it names two places")
	case f.dat.is:
		in = &f.dat
	}
	switch f.op {
	case "listDirectory":
		return f.list(in)
	case "copyFile", "moveFile":
		return f.transfer(in)
	case "writeFile", "appendFile":
		f.e.Content, f.e.HasContent = f.text, f.texted || f.blank
		if f.sample && !slices.Contains([]string{".txt", ".md", ".log"}, lower(path.Ext(f.e.Path+f.called.name))) {
			return f.fail("it is not clear that this is the text itself; put it in quotes: " + f.text)
		}
		if !f.e.HasContent {
			return f.fail("it does not say what to write")
		}
	}
	if f.from.is && in != &f.from {
		return f.fail("it names two places")
	}
	if f.e.Path == "" {
		return f.fail("it does not say which")
	}
	var ok bool
	if f.e.Path, ok = below(in, f.e.Path); !ok {
		return f.fail("the name and the place do not fit")
	}
	return f.op != "deleteFile" || fileShaped(f.e.Path) && (f.asked || !strings.HasSuffix(strings.TrimRight(m.prompt, " \t\r\n!."), "?"))
}

// below puts a name into the folder that in names.
func below(in *noun, name string) (string, bool) {
	switch {
	case !in.is || in.here:
		return name, true
	case path.Base(in.name) == name && fileShaped(in.name):
		return in.name, true
	case in.name == "" || fileShaped(in.name) && !in.dir || rooted(name) || strings.HasPrefix(name, strings.TrimSuffix(in.name, "/")+"/"):
		return name, false
	}
	return join(in.name, name), true
}

// list settles on the folder that a listing is of.
func (f *frame) list(in *noun) bool {
	of := &f.obj
	if !of.is || of.it {
		of = in
	} else if in.is && !in.here && !of.here {
		name, ok := below(in, of.name)
		if !ok {
			return f.fail("the name and the place do not fit")
		}
		of.name = name
	}
	if !of.is && !f.here {
		return f.fail("it does not say which folder")
	}
	f.e.Path = of.name
	if of.here || !of.is {
		f.e.Path = "."
	}
	if of.file || fileShaped(f.e.Path) && !of.dir {
		return f.fail(f.e.Path + " is not a folder")
	}
	if s := f.sort.name; s != "" && !strings.HasPrefix(lower(path.Base(f.e.Path)), strings.TrimSuffix(s, "s")) {
		return f.fail("it lists all names, not those of one sort (" + s + ")") // "the report files in Reports" are all
	}
	return f.e.Path != ""
}

// transfer settles on where a copy or a move goes.
func (f *frame) transfer(in *noun) bool {
	to, called := f.to, f.called.name
	if f.rename && to.is { // renaming keeps the folder
		called, to = to.name, noun{}
	}
	if f.obj.name == "" {
		return f.fail("it does not say which file")
	}
	if !to.is && !f.rename && in == &f.in && in.is && called == "" && !f.lies { // copy a.txt in docs
		to, in = *in, &f.from
		to.into = !to.dir
	} else if f.from.is && in != &f.from && to.is {
		return f.fail("it names two places")
	}
	var ok bool
	if f.e.Path, ok = below(in, f.obj.name); !ok {
		return f.fail("the name and the place do not fit")
	}
	base := path.Base(f.e.Path)
	switch {
	case !to.is && called == "":
		return f.fail("it does not say where to")
	case !to.is && strings.Contains(called, "/"):
		f.e.Destination = called
	case !to.is:
		f.e.Destination = join(strings.TrimSuffix(strings.TrimSuffix(f.e.Path, base), "/"), called)
	case called != "" && (strings.Contains(called, "/") || to.file):
		return f.fail("it names two destinations")
	case called == "" && !to.here && !to.dir && !(to.into && !fileShaped(to.name)) && !strings.HasSuffix(to.name, "/") && !(f.from.is && to.bare):
		f.e.Destination = to.name
	default:
		f.e.Destination = join(to.name, cmp.Or(called, base))
	}
	return f.e.Destination != "" && f.e.Destination != f.e.Path && f.e.Destination != "/"
}

func rooted(p string) bool { return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") }

// join puts name below dir; the current folder is left out.
func join(dir, name string) string {
	if dir == "" || dir == "." || dir == "./" {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}
