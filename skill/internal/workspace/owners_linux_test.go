package workspace

import (
	"context"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// Random scripts of sessions, their sub-agents, commands, tools and a person in one workspace, with folders that git
// ignores, rules that change, repositories, and hosts that are killed. The model knows who may have written each
// content: the windows that were open then. An undo may take back only what the model gives to the change that it
// undoes.

// An ownedText is a content of a path with its possible authors.
type ownedText struct {
	text   string   // "" if nothing is at the path
	owners []string // keys of windows, or the one key of a tool, an edit or an undo; none for a person
	loose  bool     // an undo may leave it: the record may not have looked at it, or not know where it came from
}

// An author is a window, a tool's call or an edit.
type author struct {
	group string // the session, or the author's own key
	told  bool   // its end was told; always so for tools and edits
	open  bool
	dead  bool // its host was killed
	turn  int
	call  *Call
	run   *Command
}

// A field is the workspace of one script, and what the model knows of it.
type field struct {
	s       *site
	w       *Workspace
	r       *rand.Rand
	authors map[string]*author
	history map[string][]ownedText // by path, the oldest first
	taken   map[string][]takenText // by the ID of an undo, what it took
	tools   map[string]string      // by ID of a change, the key of its author
	turns   map[string]int
	hosts   map[string]*exec.Cmd // by session, if hosts may be killed
	paths   []string
	edited  map[string][2]string // by path, the session and the key of an edit, until the next event of the session
	dist    string               // whether the record looks into dist: "yes", "no" or "perhaps"
	held    map[string]ownedText // paths with each content that they have held
	count   int
	script  []string
	clean   int // how many undos took all of a change
	left    int // how many undos left something, or were refused
}

// A takenText is what an undo took at a path.
type takenText struct {
	path  string
	left  string // the content that the undo left
	texts []ownedText
}

// The paths of all scripts, of those with rules of git, and of those with repositories.
var (
	ownedPaths  = []string{"a", "b", "c", "d/a", "d/b", "e/f/a"}
	ruledPaths  = []string{".gitignore", "dist/a", "data/a"}
	gitPaths    = []string{"r/a", "r" + mainRef, "n/a", "n" + mainRef}
	distIgnored = 1 // the bits of the rules
	dataIgnored = 2
)

const mainRef = "/.git/refs/heads/main"

// rules reads which folders git ignores.
func (f *field) rules() (mask int) {
	fmt.Sscanf(f.read(".gitignore"), "rules %d", &mask)
	return mask
}

// walk is a Walker that knows the rules.
func (f *field) walk(_ context.Context, visit func(int, Visited) error) error {
	mask := f.rules()
	return f.s.walk(bg, func(n int, v Visited) error {
		top := path.Join(v.Folder, string(v.Name))
		v.Ignored = top == "dist" && mask&distIgnored != 0 || top == "data" && mask&dataIgnored != 0
		err := visit(n, v)
		if err == nil && (v.Ignored || string(v.Name) == ".git") {
			return fs.SkipDir
		}
		return err
	})
}

// looks says what the record knows of dist after a look with no windows before it, or with some.
func (f *field) looks(first bool) {
	_, err := os.Lstat(f.s.p("dist"))
	switch {
	case err != nil:
		f.dist = "perhaps"
	case first && f.rules()&distIgnored != 0:
		f.dist = "no"
	case first:
		f.dist = "yes"
	}
}

// put writes a new text to a path, as a command or a person does.
func (f *field) put(name string) (text string) {
	text = f.text(name)
	if top, _, git := strings.Cut(name, mainRef); git {
		text = fmt.Sprintf("%x", sha1.Sum([]byte(text)))
		f.s.put(f.s.p(top+"/.git/objects/"+text[:2]+"/"+text[2:]), "object")
		f.s.put(f.s.p(top+"/.git/HEAD"), "ref: refs/heads/main\n")
	}
	os.MkdirAll(path.Dir(f.s.p(name)), 0o755)
	os.WriteFile(f.s.p(name), []byte(text+"\n"), 0o644)
	return text
}

// text returns a new text for a path.
func (f *field) text(name string) string {
	if name == ".gitignore" {
		return fmt.Sprintf("rules %d of %s", f.r.IntN(4), f.next("text "))
	}
	return f.next("text ")
}

// aPath returns a path that tools write too.
func (f *field) aPath() string {
	for {
		if name := f.paths[f.r.IntN(len(f.paths))]; !strings.Contains(name, mainRef) {
			return name
		}
	}
}

func (f *field) say(format string, args ...any) {
	f.script = append(f.script, fmt.Sprintf(format, args...))
}

func (f *field) next(kind string) string {
	f.count++
	return kind + strconv.Itoa(f.count)
}

// openWindows returns the keys of the windows that are open, in an order.
func (f *field) openWindows(of func(*author) bool) (keys []string) {
	for key, a := range f.authors {
		if a.open && (of == nil || of(a)) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (f *field) read(name string) string {
	data, _ := os.ReadFile(f.s.p(name))
	return string(data)
}

// wrote adds what is at a path now to its contents.
func (f *field) wrote(name string, owners []string, loose bool) {
	list, text := f.history[name], f.read(name)
	if text != list[len(list)-1].text {
		owned := ownedText{text: text, owners: owners, loose: loose}
		f.history[name], f.held[name+"\n"+text] = append(list, owned), owned
	}
}

// act changes a file or two, as a command or a person does.
func (f *field) act(who string) {
	name, other := f.paths[f.r.IntN(len(f.paths))], f.aPath()
	at, from := f.s.p(name), false
	changed := []string{name, other}
	switch k := f.r.IntN(8); {
	case k == 0 && strings.Contains(name, "/.git/"):
		top, _, _ := strings.Cut(name, "/")
		os.RemoveAll(f.s.p(top))
		f.say("%s removes %s", who, top)
		changed = gitPaths
	case k == 0:
		os.Remove(at)
		f.say("%s removes %s", who, name)
	case k == 1 && name != other && name != ".gitignore" && other != ".gitignore" && !strings.Contains(name, "/.git/"):
		os.MkdirAll(path.Dir(f.s.p(other)), 0o755)
		os.Rename(at, f.s.p(other))
		f.say("%s moves %s to %s", who, name, other)
		from = strings.HasPrefix(name, "dist/")
	default:
		f.say("%s writes %q to %s", who, f.put(name), name)
	}
	for _, name := range changed {
		switch dist := strings.HasPrefix(name, "dist/"); {
		case dist && f.dist == "no" && !f.told(name):
			f.wrote(name, nil, true)
		case f.edited[name][1] != "" && len(f.openWindows(nil)) == 0:
			key := f.edited[name][1]
			f.authors[key+"-after"] = &author{group: key + "-after", told: true}
			f.wrote(name, []string{key, key + "-after"}, true)
		default:
			f.wrote(name, f.openWindows(nil), dist && f.dist != "yes" || from && f.dist != "yes")
		}
	}
	if _, err := os.Lstat(f.s.p("dist")); err != nil {
		f.dist = "perhaps"
	}
}

// told reports whether a tool or an edit has written to a path since the windows began, which looks at the path.
func (f *field) told(name string) bool {
	of := func(t ownedText) bool {
		return len(t.owners) > 0 && f.authors[t.owners[0]].call == nil && f.authors[t.owners[0]].run == nil
	}
	for _, list := range f.taken { // an undo has taken it back since
		for _, t := range list {
			if t.path == name && slices.ContainsFunc(t.texts, of) {
				return true
			}
		}
	}
	return slices.ContainsFunc(f.history[name], of)
}

// step makes one step of the script.
func (f *field) step() error {
	sessions := []string{"A", "B"}
	session := sessions[f.r.IntN(2)]
	own := func(key, group string) []string {
		f.authors[key] = &author{group: group, told: true}
		return []string{key}
	}
	switch k := f.r.IntN(27); {
	case k < 3 && len(f.openWindows(nil)) < 3: // a host begins a command
		key := f.next("call")
		c := Call{Key: key, Session: session, Turn: strconv.Itoa(f.turns[session])}
		if f.r.IntN(2) == 0 {
			c.AgentID = "sub" + strconv.Itoa(f.r.IntN(2))
		}
		c.Process = f.host(session)
		c.Host, c.Tool, c.Run, c.Command = "host", "Bash", session, key
		f.say("%s of %s%s begins in turn %s", key, session, c.AgentID, c.Turn)
		first := len(f.openWindows(func(a *author) bool { return !a.dead })) == 0
		if err := f.w.BeginCall(bg, c, f.s.dir, nil, 1<<20, f.walk); err != nil {
			return err
		}
		f.event(session)
		for _, a := range f.authors { // the host told no end, and goes on with another turn
			if a.open && a.call != nil && a.group == session && a.call.AgentID == "" && c.AgentID == "" &&
				a.turn != f.turns[session] {
				a.open = false
			}
		}
		f.buried()
		first = first || len(f.openWindows(nil)) == 0
		f.looks(first)
		f.authors[key] = &author{group: session, open: true, turn: f.turns[session], call: &c}
	case k < 5 && len(f.openWindows(nil)) < 3: // a command of this program begins
		key := f.next("run")
		w, group := f.w, "process" // commands of one process count as one session
		if f.r.IntN(2) == 0 {
			w, group = f.w.By(Author{RunStep: RunStep{Run: session}}), session
		}
		f.say("%s of %s begins", key, group)
		c, err := w.Begin(bg, key, 1<<20, f.walk)
		if err != nil {
			return err
		}
		f.buried()
		f.looks(len(f.openWindows(nil)) == 0)
		f.authors[key] = &author{group: group, open: true, run: c}
	case k < 9: // the end of a window
		if keys := f.openWindows(nil); len(keys) > 0 {
			return f.end(keys[f.r.IntN(len(keys))])
		}
	case k == 9: // Esc, and the next turn
		f.turns[session]++
		f.say("%s is in turn %d", session, f.turns[session])
	case k == 10:
		f.say("session %s ends", session)
		f.event(session)
		for _, key := range f.openWindows(func(a *author) bool { return a.call != nil && a.group == session }) {
			f.authors[key].open = false
		}
		f.buried()
		return f.w.CloseCalls(bg, Ended{Session: session, All: true}, f.walk)
	case k == 24: // the main agent or a sub-agent stops
		e := Ended{Session: session, Told: true}
		if f.r.IntN(2) == 0 {
			e.AgentID = "sub" + strconv.Itoa(f.r.IntN(2))
		} else {
			e.Turn = strconv.Itoa(f.turns[session])
		}
		f.say("agent %q of %s stops in turn %s", e.AgentID, session, e.Turn)
		f.event(session)
		for _, key := range f.openWindows(func(a *author) bool {
			return a.call != nil && a.group == session && a.call.AgentID == e.AgentID
		}) {
			a := f.authors[key]
			a.open, a.told = false, e.Turn == "" || a.call.Turn == e.Turn
		}
		f.buried()
		return f.w.CloseCalls(bg, e, f.walk)
	case k == 25 && f.hosts[session] != nil:
		f.say("the host of %s is killed", session)
		f.hosts[session].Process.Kill()
		f.hosts[session].Wait()
		f.hosts[session] = nil
		for _, a := range f.authors {
			a.dead = a.dead || a.open && a.call != nil && a.group == session
		}
	case k < 15 && len(f.openWindows(nil)) > 0:
		f.act("a command")
	case k < 15:
		f.act("a person")
	case k == 15: // a person, whatever runs
		f.act("a person")
	case k == 16: // a host's edit
		key, name := f.next("edit"), f.aPath()
		c := Call{Key: key, Session: session, Turn: strconv.Itoa(f.turns[session]), Edit: true, AgentID: "editor"}
		c.Host, c.Tool, c.Run = "host", "Write", session
		if err := f.w.BeginCall(bg, c, f.s.dir, []string{name}, 1<<20, f.walk); err != nil {
			return err
		}
		f.say("%s of %s writes %q to %s", key, session, f.put(name), name)
		if err := f.w.EndCall(bg, c, f.s.dir, []string{name}, f.walk); err != nil {
			return err
		}
		f.wrote(name, own(key, session), false)
		f.event(session)
		f.edited[name] = [2]string{session, key}
		ops := p(f).ops()
		f.tools[strconv.FormatInt(ops[len(ops)-1].ID, 10)] = key
	case k < 19: // a tool
		key, name := f.next("tool"), f.aPath()
		w, group := f.w, key
		if f.r.IntN(2) == 0 {
			w, group = f.w.By(Author{RunStep: RunStep{Run: session}}), session
		}
		text := f.text(name)
		c, err := w.WriteFile(bg, f.s.p(name), []byte(text+"\n"), WriteOptions{Parents: true})
		if err != nil {
			return err
		}
		f.say("%s of %s writes %q to %s: change %s", key, group, text, name, c.ID)
		f.wrote(name, own(key, group), false)
		f.tools[c.ID] = key
	default:
		return f.undo()
	}
	return nil
}

// host starts the process of a session's host, if hosts may be killed, and returns its name.
func (f *field) host(session string) string {
	if f.hosts == nil {
		return ""
	}
	if f.hosts[session] == nil {
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			f.s.t.Fatal(err)
		}
		f.hosts[session] = cmd
	}
	pid := strconv.Itoa(f.hosts[session].Process.Pid)
	data, _ := os.ReadFile("/proc/" + pid + "/stat")
	_, rest, _ := strings.Cut(string(data), ") ")
	return pid + " " + strings.Fields(rest)[19]
}

// buried closes the windows of hosts that were killed.
func (f *field) buried() {
	for _, a := range f.authors {
		a.open = a.open && !a.dead
	}
}

// event notes an event of a session.
func (f *field) event(session string) {
	maps.DeleteFunc(f.edited, func(_ string, by [2]string) bool { return by[0] == session })
}

// end tells the end of a window.
func (f *field) end(key string) error {
	a := f.authors[key]
	f.say("%s ends", key)
	a.open, a.told = false, true
	if a.run != nil {
		_, _, err := a.run.End(bg)
		return err
	}
	f.event(a.group)
	return f.w.EndCall(bg, *a.call, f.s.dir, nil, f.walk)
}

// p reads the log.
func p(f *field) *play { return &play{s: f.s} }

// undo undoes something, and checks what that did.
func (f *field) undo() error {
	o := UndoOptions{Perhaps: f.r.IntN(4) == 0}
	undone := map[string]bool{}
	redo := ""
	ops := p(f).ops()
	switch k := f.r.IntN(10); {
	case k < 4:
	case k < 6:
		o.Run = []string{"A", "B"}[f.r.IntN(2)]
		for key, a := range f.authors {
			undone[key] = a.group == o.Run
		}
	case k < 8 && len(f.taken) > 0:
		ids := slices.Sorted(maps.Keys(f.taken))
		redo = ids[f.r.IntN(len(ids))]
		o.ID = redo
	default:
		var ids []string
		for _, op := range ops {
			if op.Undoes == 0 && !op.Void {
				ids = append(ids, strconv.FormatInt(op.ID, 10))
			}
		}
		if len(ids) == 0 {
			return nil
		}
		o.ID = ids[f.r.IntN(len(ids))]
	}
	if err := f.w.SeeCalls(bg, f.walk); err != nil {
		return err
	}
	f.buried()
	before := map[string]string{}
	for _, name := range f.paths {
		before[name] = f.read(name)
	}
	done, err := f.w.Undo(bg, o)
	_, refused := errors.AsType[*UndoError](err)
	part, partly := errors.AsType[*PartlyUndoneError](err)
	if partly {
		done = part.Done
	}
	if err != nil && !refused && !partly {
		return fmt.Errorf("undo %+v: %w", o, err)
	}
	if refused && f.dist == "no" { // it has looked at the paths of its change
		f.dist = "perhaps"
	}
	kept := 0
	f.say("undo ID=%s run=%s perhaps=%v: %v", o.ID, o.Run, o.Perhaps, err)
	for _, d := range done {
		kept += len(d.Kept) + len(d.Skipped) + d.Left + len(d.Passed)
		f.say("  undid %s (%s) by %s, kept %d", d.Of, d.What, d.ID, len(d.Kept))
		if redo == "" && o.Run == "" {
			ends, all := f.authorsOf(d.Of)
			if len(ends) == 0 {
				ends = all
			}
			for _, key := range ends {
				undone[key] = true
			}
		}
	}
	if redo != "" {
		return f.checkRedo(redo, done, before)
	}
	if err := f.check(o, undone, done, before, err == nil && kept == 0); err != nil {
		return err
	}
	var stays []*UndoError
	for _, d := range done {
		stays = append(stays, d.Kept...)
	}
	if one, ok := errors.AsType[*UndoError](err); ok && !partly {
		stays = append(stays, one)
	}
	if partly {
		for _, err := range part.Left {
			if one, ok := errors.AsType[*UndoError](err); ok {
				stays = append(stays, one)
			}
		}
	}
	return f.checkStays(o, undone, done, stays)
}

// checkStays fails if an undo left a path because of its grade, although the model gives it to the change.
func (f *field) checkStays(o UndoOptions, undone map[string]bool, done []Undone, stays []*UndoError) error {
	if slices.ContainsFunc(stays, func(e *UndoError) bool { return e.Grade == "" }) {
		return nil // a conflict may keep other paths of its change
	}
	for _, e := range stays {
		rel, _ := filepath.Rel(f.s.dir, e.Path)
		list, ok := f.history[rel]
		if !ok { // a folder
			continue
		}
		of := map[string]bool{}
		ids := []string{e.ID}
		if len(done) > 0 {
			ids = nil
		}
		for _, d := range done {
			ids = append(ids, d.Of)
		}
		for _, id := range ids {
			ends, _ := f.authorsOf(id)
			for _, key := range ends {
				of[key] = true
			}
		}
		if o.Run != "" {
			of = undone
		}
		if top := list[len(list)-1]; !f.isLoose(top) && f.gives(top, of, o.Perhaps) {
			return fmt.Errorf("an undo left %s, which holds %q of %v, the authors of the change: %v", rel,
				top.text, top.owners, e)
		}
	}
	return nil
}

// authorsOf returns the keys of the authors of a change: of the windows that end with it, or all authors.
func (f *field) authorsOf(id string) (ends, all []string) {
	if key := f.tools[id]; key != "" {
		return []string{key}, []string{key}
	}
	for _, line := range p(f).logLines() {
		op, ok := ownersIn(line)
		if !ok || strconv.FormatInt(op.ID, 10) != id {
			continue
		}
		for _, o := range op.Owners {
			if o.After {
				return []string{o.Key}, []string{o.Key}
			}
			all = append(all, o.Command)
			if o.Told || o.Until != 0 {
				ends = append(ends, o.Command)
			}
		}
	}
	return ends, all
}

// isLoose reports whether an undo may leave a content that the model gives to its changes.
func (f *field) isLoose(t ownedText) bool {
	return t.loose || slices.ContainsFunc(t.owners, func(key string) bool { return f.authors[key].dead })
}

// gives reports whether the model gives a content to the changes that are undone.
func (f *field) gives(t ownedText, undone map[string]bool, perhaps bool) bool {
	groups, told, mine := map[string]bool{}, false, false
	for key := range undone {
		if undone[key] && f.authors[key] != nil {
			groups[f.authors[key].group] = true
		}
	}
	all := true
	for _, key := range t.owners {
		mine = mine || undone[key]
		told = told || f.authors[key].told
		all = all && (groups[f.authors[key].group] || f.authors[key].dead) // it had ended before
	}
	return mine && (perhaps || all && told)
}

// check compares each file with what the undo may do to it. If the undo took all, nothing of the changes may
// be left on top.
func (f *field) check(
	o UndoOptions, undone map[string]bool, done []Undone, before map[string]string, clean bool,
) error {
	if clean {
		f.clean++
	} else {
		f.left++
	}
	runs := slices.ContainsFunc(f.openWindows(nil), func(key string) bool { return undone[key] })
	for _, name := range f.paths {
		list, now := f.history[name], f.read(name)
		if now != before[name] && before[name] == "" { // nothing is there, as after a change that removed it
			for len(list) > 1 && !(list[len(list)-1].text == "" && f.gives(list[len(list)-1], undone, o.Perhaps)) {
				list = list[:len(list)-1]
			}
		}
		lowest := len(list) - 1
		for lowest > 0 && f.gives(list[lowest], undone, o.Perhaps) {
			lowest--
		}
		if now == before[name] {
			if clean && len(done) > 0 && !runs && list[lowest].text != now &&
				!slices.ContainsFunc(list[lowest:], f.isLoose) {
				return fmt.Errorf("%s still holds %q of the change, and the undo does not say so", name, now)
			}
			if clean && len(done) > 0 && list[lowest].text == now {
				f.history[name] = list[: lowest+1 : lowest+1]
			}
			continue
		}
		at := lowest
		for at < len(list)-1 && list[at].text != now {
			at++
		}
		if at == len(list)-1 {
			top := f.history[name][len(f.history[name])-1]
			return fmt.Errorf("the undo of %v changed %s from %q of %v to %q",
				slices.Sorted(maps.Keys(undone)), name, before[name], top.owners, now)
		}
		if len(done) == 0 {
			return fmt.Errorf("%s was changed, and the undo does not say so", name)
		}
		f.history[name] = list[: at+1 : at+1]
		if len(done) == 1 {
			f.taken[done[0].ID] = append(f.taken[done[0].ID], takenText{name, now, list[at+1:]})
		}
	}
	return nil
}

// checkRedo compares each file with what the undo took.
func (f *field) checkRedo(id string, done []Undone, before map[string]string) error {
	took := f.taken[id]
	for _, name := range f.paths {
		now := f.read(name)
		if now == before[name] {
			continue
		}
		i := slices.IndexFunc(took, func(t takenText) bool { return t.path == name })
		isNow := func(t ownedText) bool { return t.text == now }
		// what is there now may have come in another way, but is what the undo left
		if i >= 0 && len(done) > 0 && before[name] == took[i].left && slices.ContainsFunc(took[i].texts, isNow) {
			f.history[name] = append(f.history[name], took[i].texts[:slices.IndexFunc(took[i].texts, isNow)+1]...)
			continue
		}
		// a redo that stops between two parts of a change leaves what the path held between them
		between, held := f.held[name+"\n"+now]
		if len(done) == 0 || len(done[0].Kept) == 0 || !held {
			return fmt.Errorf("the redo of %s changed %s from %q to %q, and the undo had not taken that", id, name,
				before[name], now)
		}
		f.history[name] = append(f.history[name], between)
	}
	if len(done) > 0 {
		delete(f.taken, id)
	}
	return nil
}

// ownersIn reads the owners in a line of the log.
func ownersIn(line string) (op struct {
	ID     int64
	Owners []struct {
		Key     string
		Command string // each command of a script has its own
		After   bool
		Told    bool
		Until   int64
	}
}, ok bool) {
	at := strings.IndexByte(line, '{')
	ok = at >= 0 && json.Unmarshal([]byte(line[at:]), &op) == nil && op.ID > 0
	return op, ok
}

// plays plays a script of some steps, which the seed determines.
func plays(t *testing.T, base string, seed uint64, steps int) (*field, error) {
	s := &site{t: t, base: base}
	s.dir = s.base + "/ws"
	defer os.RemoveAll(s.base)
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	t.Setenv("XDG_STATE_HOME", s.base+"/"+stateHome)
	w, err := Open(Options{Dir: s.dir, NoSync: true})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	f := &field{s: s, w: w, r: rand.New(rand.NewPCG(seed, 29)), authors: map[string]*author{},
		history: map[string][]ownedText{}, taken: map[string][]takenText{}, tools: map[string]string{},
		turns: map[string]int{}, held: map[string]ownedText{}, edited: map[string][2]string{}}
	f.paths = slices.Clone(ownedPaths)
	if seed%3 != 0 {
		f.paths = append(f.paths, ruledPaths...)
	}
	if seed%4 > 1 {
		f.paths = append(f.paths, gitPaths...)
		f.put("r" + mainRef)
	}
	if seed%5 == 0 {
		f.hosts = map[string]*exec.Cmd{}
	}
	defer func() {
		for _, cmd := range f.hosts {
			if cmd != nil {
				cmd.Process.Kill()
				cmd.Wait()
			}
		}
	}()
	for i, name := range f.paths {
		if i%2 == 0 && !strings.HasPrefix(name, "n/") {
			f.put(name)
		}
		f.history[name] = []ownedText{{text: f.read(name)}}
	}
	for range steps {
		if err := f.step(); err != nil {
			return f, fmt.Errorf("%w\n%s", err, p(f).log())
		}
	}
	for _, key := range f.openWindows(nil) {
		if err := f.end(key); err != nil {
			return f, err
		}
	}
	return f, nil
}

// caught are the seeds of scripts that found a fault.
var caught = []uint64{2479, 2959, 3347, 4674, 10026, 10228, 11425, 12087, 13678, 510286, 520706}

func TestOwners(t *testing.T) {
	needs.Program(t, "sleep")
	needs.InMemory(t)
	scripts, seeds := 150, slices.Clone(caught)
	seed := uint64(1) // each run plays the same scripts, but nightly ones
	if os.Getenv("SKILL_TEST_LONG") != "" {
		seed = rand.Uint64() >> 32
	}
	if text := os.Getenv("SKILL_TEST_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
		scripts, seeds = 1, nil
	}
	if text := os.Getenv("SKILL_TEST_OWNERS"); text != "" {
		scripts, _ = strconv.Atoi(text)
	}
	for n := range uint64(scripts) {
		seeds = append(seeds, seed+n)
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	clean, left, failures := 0, 0, 0
	for n, seed := range seeds {
		steps, round := 10+int(seed%31), 0
		play := func(steps int) (*field, error) {
			round++
			return plays(t, path.Join(base, fmt.Sprintf("%d-%d", n, round)), seed, steps)
		}
		f, err := play(steps)
		for err != nil && steps > 1 { // fewer steps of the same script
			less, lerr := play(steps - 1)
			if lerr == nil {
				break
			}
			f, err, steps = less, lerr, steps-1
		}
		if err != nil {
			t.Errorf("SKILL_TEST_SEED=%d:\n%s\n%v", seed, strings.Join(f.script, "\n"), err)
			if failures++; failures >= 5 && os.Getenv("SKILL_TEST_GO_ON") == "" {
				t.Fatalf("%d of %d scripts failed", failures, n+1)
			}
			continue
		}
		clean, left = clean+f.clean, left+f.left
	}
	t.Logf("%d scripts, the last ones from seed %d: %d undos took all, %d left something", len(seeds), seed, clean, left)
}
