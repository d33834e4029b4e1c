package llmfallback

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A Reading is the meaning of a prompt in plain English, or the part that the rules understood.
type Reading struct {
	Extraction        // zero unless Answered
	Answered   bool   // the rules understood every word, as one request
	Rule       string // grammar rule that read it: "moveFile 2" is the second rule of moveFile
	Roles      []Role // the parts of the request
	Lines      bool   // the text is whole lines of the file
	Overwrites bool   // the request says that the target may be overwritten

	// If not Answered:
	Understood string     // the first part, which the rules understood; "" if they understood nothing
	Missed     string     // the rest of the prompt
	Why        string     // why it is not answered, in words
	Nearest    Extraction // the most similar operation; words in capitals mark missing parts
	Subcommand string     // the subcommand that does this, if no operation does
}

// A Role is a part of a request, such as its object, and the text of that part.
type Role struct {
	Name  string `json:"name"` // "object", "to"
	Value string `json:"value"`
}

// Read reads a prompt. It answers only if exactly one reading explains every word.
func Read(prompt string) Reading { return compiled().Read(prompt) }

// Read reads a prompt by the grammar g. After "mind" and "by" a verb in -ing is read as its plain
// form, and so is the first word of the prompt in -s.
func (g *grammar) Read(prompt string) Reading {
	if e, ok := command(prompt); ok {
		return Reading{Extraction: e, Answered: true, Rule: "command"}
	}
	m := &matcher{grammar: g, words: split(prompt)}
	m.memo, m.done = make([][][]reading, len(m.list)+1), make([][]bool, len(m.list)+1)
	for i := range m.list {
		w := &m.list[i]
		w.number = g.words[w.lower]
		forms := []string{}
		before := m.word(i - 1).lower
		if stem, ok := strings.CutSuffix(w.lower, "ing"); ok && (before == "mind" || before == "by") {
			forms = []string{stem, stem + "e", stem[:max(len(stem)-1, 0)]}
		} else if stem, ok := strings.CutSuffix(w.lower, "s"); ok && i == 0 {
			forms = []string{stem, strings.TrimSuffix(stem, "e")}
		}
		if k := slices.IndexFunc(forms,
			func(form string) bool { return g.listed("deed", g.words[form]) }); k >= 0 {
			w.number = g.words[forms[k]]
		}
	}
	return m.result()
}

// result is the one reading that was found.
func (m *matcher) result() (found Reading) {
	why := ""
	for _, r := range m.read(m.named["request"], 0) {
		f := newFrame(r.bound)
		switch e, ok := f.settle(m.prompt); {
		case r.end < len(m.list) || !m.whole && !f.texted:
		case !ok:
			why = cmp.Or(why, f.why)
		case found.Answered && found.Extraction != e:
			why := "it can be read in two ways: " + found.short() + ", or " + e.short()
			return Reading{Why: why, Nearest: e}
		default:
			found.Extraction, found.Answered = e, true
			found.Roles, found.Rule = f.roles(), fmt.Sprintf("%s %d", f.op, f.way)
			found.Overwrites = found.Overwrites || f.marks["over"]
			found.Lines = found.Lines || f.marks["lines"] && (f.op == "appendFile" || f.marks["shell"])
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
	for i := 0; i < len(m.list) && far.to-far.from < 2; i++ { // what other subcommands do
		for list, words := range m.lists {
			if name, ok := strings.CutPrefix(list, "near:"); ok && slices.Contains(words, m.list[i].lower) {
				return Reading{Subcommand: name}
			}
		}
	}
	if far.to == far.from {
		return r
	}
	f := newFrame(far.bound)
	f.op = strings.TrimPrefix(m.heads[far.rule], "op:")
	r.Roles, r.Nearest = f.roles(), f.nearest()
	end := m.list[far.to-1].end
	r.Understood, r.Missed = m.prompt[m.list[far.from].start:end], strings.TrimSpace(m.prompt[end:])
	missed, _, more := strings.Cut(r.Missed, "\n")
	if len(missed) > 60 || more {
		missed = strings.ToValidUTF8(missed[:min(len(missed), 60)], "") + " …"
	}
	if missed != "" {
		missed = fmt.Sprintf("not %q", missed)
	}
	r.Why = fmt.Sprintf("I understood %q, but %s", r.Understood, cmp.Or(why, missed, "something is missing"))
	return r
}

// A noun is what a noun phrase names, with its marks. Its name is "" where it names nothing: "a
// new folder".
type noun struct {
	is    bool
	name  string
	marks map[string]bool
}

// A frame is a request whose parts are known: what happens to which, where to, with which text.
type frame struct {
	op, text, why string
	way           int // of the rule of op
	nouns         map[string]noun
	marks         map[string]bool
	texted, twice bool // there is a text; two things fill one role
}

// newFrame sorts what was bound.
func newFrame(b *binding) *frame {
	f := &frame{nouns: map[string]noun{}, marks: map[string]bool{}}
	b.each(func(b *binding) {
		switch {
		case b.within != nil:
			n := noun{is: true, marks: map[string]bool{}}
			b.within.each(func(b *binding) {
				if n.marks[b.slot] = true; b.slot == "name" {
					n.name = b.text
				}
			})
			old := f.nouns[b.slot]
			f.twice = f.twice || old.is &&
				!(b.slot == "in" && (old.marks["here"] || n.marks["here"]))
			if !old.is || old.marks["here"] {
				f.nouns[b.slot] = n
			}
		case b.slot == "op":
			f.op, f.way = b.text, b.way
		case b.slot == "text":
			f.text, f.texted, f.twice = b.text, true, f.twice || f.texted
		default:
			f.marks[b.slot] = true
		}
	})
	return f
}

// roles lists the roles that are filled.
func (f *frame) roles() []Role {
	roles := []Role{{"operation", f.op}}
	for _, slot := range [...]string{"object", "called", "in", "to", "from", "before"} {
		n := f.nouns[map[string]string{"object": "obj", "before": "base"}[slot]]
		if !n.is {
			n = f.nouns[slot]
		}
		if n.marks["here"] {
			n.name = "."
		}
		roles = append(roles, Role{slot, n.name})
	}
	roles = append(roles, Role{"text", f.text})
	return slices.DeleteFunc(roles, func(role Role) bool { return role.Value == "" })
}

// nearest returns what a request comes to, with words in capitals for what is missing.
func (f *frame) nearest() Extraction {
	e := Extraction{Operation: f.op, Path: cmp.Or(f.nouns["obj"].name, f.nouns["called"].name, "PATH")}
	switch f.op {
	case "writeFile", "appendFile":
		e.Content, e.HasContent = cmp.Or(f.text, "TEXT"), true
	case "copyFile", "moveFile":
		e.Destination = cmp.Or(f.nouns["to"].name, "PATH")
	}
	return e
}

// settle makes the operation of what was found. It reports false, and why, where the parts do not
// fit each other.
func (f *frame) settle(prompt string) (e Extraction, ok bool) {
	obj, in := f.object(), f.place()
	if f.twice {
		f.blame("it says one thing twice")
	}
	e = Extraction{Operation: f.op, Path: obj.name}
	switch {
	case f.why != "":
	case f.op == "listDirectory":
		f.list(&e, obj, in)
	case f.op == "copyFile", f.op == "moveFile":
		f.transfer(&e, obj, in)
	default:
		f.lies(&e, obj, in)
		f.writes(&e)
		asks := strings.HasSuffix(strings.TrimRight(prompt, " \t\r\n!."), "?")
		if f.op == "deleteFile" && (asks && !f.marks["asked"] || !fileShaped(e.Path)) {
			f.blame("it does not order to delete a file")
		}
	}
	return e, f.why == ""
}

// blame keeps the first reason why a request cannot be carried out.
func (f *frame) blame(why string) { f.why = cmp.Or(f.why, why) }

// object returns what the request is about: what it names, or the file that was named before.
func (f *frame) object() noun {
	obj, ref := f.nouns["obj"], cmp.Or(f.nouns["ref"].name, f.fileBefore())
	if ref == "" { // "there is a file a.txt. Read it."
		return obj
	}
	if obj.name != ref && !obj.marks["it"] {
		f.blame("it is not clear what is to be done with " + ref)
	}
	return noun{is: true, name: ref}
}

// lies settles on the path of what is read, made, written or deleted.
func (f *frame) lies(e *Extraction, obj, in noun) {
	called, dat, given := f.nouns["called"].name, f.nouns["dat"], f.nouns["in"]
	if obj.name != "" && called != "" {
		f.blame("it gives two names")
	}
	e.Path = cmp.Or(e.Path, called)
	switch {
	case !dat.is:
	case e.Path == "":
		e.Path = dat.name
	case in.is && !in.marks["here"]:
		f.blame("it names two places")
	default:
		in = dat
	}
	if obj.marks["it"] || e.Path == "" {
		f.blame("it does not say which")
	}
	if f.nouns["from"].is && given.is && !given.marks["here"] {
		f.blame("it names two places")
	}
	var ok bool
	if e.Path, ok = below(in, e.Path); !ok {
		f.blame("the name and the place do not fit")
	}
}

// writes settles on the text to write.
func (f *frame) writes(e *Extraction) {
	if f.op != "writeFile" && f.op != "appendFile" {
		return
	}
	e.Content, e.HasContent = f.text, f.texted || f.marks["blank"]
	switch prose := slices.Contains([]string{".txt", ".md", ".log"}, lower(path.Ext(e.Path))); {
	case f.marks["sample"] && !prose:
		f.blame("it is not clear that this is the text itself; put it in quotes: " + f.text)
	case !e.HasContent:
		f.blame("it does not say what to write")
	}
}

// fileBefore returns the file that the request begins with: "In a.txt, …".
func (f *frame) fileBefore() string {
	if base := f.nouns["base"]; fileShaped(base.name) && !base.marks["dir"] {
		return base.name
	}
	return ""
}

// place returns where it lies what the request is about.
func (f *frame) place() noun {
	in, from, base := f.nouns["in"], f.nouns["from"], f.nouns["base"]
	if from.is && (!in.is || in.marks["here"]) {
		in = from
	}
	switch {
	case f.fileBefore() != "":
	case !in.is || f.op == "listDirectory" && in.marks["it"]:
		return base
	case base.is && !base.marks["here"]:
		f.why = "it names two places"
	}
	return in
}

// below puts a name into the folder that in names.
func below(in noun, name string) (string, bool) {
	switch {
	case !in.is || in.marks["here"]:
		return name, true
	case path.Base(in.name) == name && fileShaped(in.name):
		return in.name, true
	case in.name == "" || fileShaped(in.name) && !in.marks["dir"]:
		return name, false
	case rooted(name) || strings.HasPrefix(name, strings.TrimSuffix(in.name, "/")+"/"):
		return name, false
	}
	return join(in.name, name), true
}

// list settles on the folder that a listing is of.
func (f *frame) list(e *Extraction, of, in noun) {
	ok := true
	switch {
	case !of.is || of.marks["it"]:
		of = in
	case in.is && !in.marks["here"] && !of.marks["here"]:
		of.name, ok = below(in, of.name)
	}
	e.Path = of.name
	if of.marks["here"] || !of.is && f.marks["here"] {
		e.Path = "."
	}
	sort := f.nouns["sort"].name
	switch {
	case !ok:
		f.blame("the name and the place do not fit")
	case e.Path == "":
		f.blame("it does not say which folder")
	case of.marks["file"] || fileShaped(e.Path) && !of.marks["dir"]:
		f.blame(e.Path + " is not a folder")
	case !strings.HasPrefix(lower(path.Base(e.Path)), strings.TrimSuffix(sort, "s")):
		// of Reports, "report files" are all
		f.blame("it lists all names, not those of one sort (" + sort + ")")
	}
}

// transfer settles on where a copy or a move goes.
func (f *frame) transfer(e *Extraction, obj, in noun) {
	to, called, in := f.goal(in)
	var ok bool
	if e.Path, ok = below(in, obj.name); !ok || e.Path == "" || obj.marks["it"] {
		f.blame("it does not say which file")
	}
	e.Destination = f.destination(e.Path, to, called)
	if e.Destination == "" || e.Destination == e.Path || e.Destination == "/" {
		f.blame("it does not say where to")
	}
}

// goal returns the place and the name that something is copied or moved to, and the
// place that it comes from.
func (f *frame) goal(in noun) (to noun, called string, source noun) {
	to, called = f.nouns["to"], f.nouns["called"].name
	from, given := f.nouns["from"], f.nouns["in"]
	placed := given.is && !given.marks["here"]
	switch {
	case f.marks["rename"]: // which keeps the folder
		return noun{}, cmp.Or(to.name, called), in
	case !to.is && placed && called == "" && !f.marks["lies"]: // copy a.txt in docs
		given.marks["into"] = true
		return given, "", from
	case from.is && placed && to.is:
		f.blame("it names two places")
	}
	return to, called, in
}

// destination returns the path to which p is copied or moved; "" if it is not clear.
func (f *frame) destination(p string, to noun, called string) string {
	base, slashed := path.Base(p), strings.Contains(called, "/")
	switch {
	case !to.is && (called == "" || slashed):
		return called
	case !to.is:
		return join(strings.TrimSuffix(strings.TrimSuffix(p, base), "/"), called)
	case called != "" && (slashed || to.marks["file"]):
		f.blame("it names two destinations")
		return ""
	case called == "" && !to.folder(f.nouns["from"].is):
		return to.name
	}
	return join(to.name, cmp.Or(called, base))
}

// folder reports whether a destination is a folder, in which the name stays; moved says that
// another place was named, so that a bare name is a place, too.
func (n noun) folder(moved bool) bool {
	switch {
	case n.marks["dir"], n.marks["here"], moved && n.marks["bare"], strings.HasSuffix(n.name, "/"):
		return true
	}
	return n.marks["into"] && !fileShaped(n.name)
}

func rooted(p string) bool { return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") }

// join puts name below dir; the current folder is left out.
func join(dir, name string) string {
	if dir == "" || dir == "." || dir == "./" {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}
