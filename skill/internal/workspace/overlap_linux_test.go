package workspace

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"textskill/skill/internal/history"
	"textskill/testdata/needs"
)

// Random scripts of overlapping tools, commands, edits by others and undos. Each step names all that it needs,
// so that a failing script can be shortened by omitting steps.

// A play is one script on one workspace, which several processes have open.
type play struct {
	s       *site
	w       []*Workspace
	running [8]*Command
	ids     map[int]string  // by the number of a step, the change that it made
	undos   map[int]string  // by the number of a step, the last undo of its change
	owed    map[string]bool // texts that are not to be lost
	user    map[string]bool // paths that others have changed
	strict  bool
	mixed   bool // an undo took back something else than the newest change
}

// A step is one line of a script.
type step struct {
	op     string
	a, b   string // paths
	n      int    // number of the step when the script was made
	at     int    // a line of a text, a command, or the number of another step
	worker int
}

func (s step) String() string {
	return strings.TrimSpace(fmt.Sprintf("%d: %s %s %s at=%d w=%d", s.n, s.op, s.a, s.b, s.at, s.worker))
}

var (
	overlapNames = []string{"a", "b", "d/a", "d/b", "e", "d/f/a", "g/a", "d", "d/f", "g"}
	overlapTools = []string{"write", "write", "edit", "edit", "append", "remove", "move", "copy", "mkdir"}
	overlapActs  = []string{"put", "put", "rm", "mkdirs", "mv", "cp", "link", "add", "change", "chmod",
		"many", "again"}
)

const overlapLines = 9

// aScript draws a script. In a strict script nobody else changes files, and each undo is a bare undo.
func aScript(r *rand.Rand, length int, strict bool) (script []step) {
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	running := 0
	for n := range length {
		s := step{a: pick(overlapNames), b: pick(overlapNames), n: n + 1, at: r.IntN(overlapLines),
			worker: r.IntN(3)}
		switch k := r.IntN(20); {
		case k < 3 || running == 0 && k < 5:
			s.op, s.at = "begin", r.IntN(8)
			running++
		case k < 5:
			s.op, s.at = "end", r.IntN(8)
		case k < 9 && running > 0:
			s.op = "act " + pick(overlapActs)
		case k < 9 && !strict:
			s.op = "user " + pick(overlapActs)
		case k < 15:
			s.op = pick(overlapTools)
		case k < 16:
			s.op = "undo"
		case k < 17:
			s.op = "twice"
		case k < 18:
			s.op, s.at = "redo", r.IntN(n+1)
		case strict:
			s.op = pick(overlapTools)
		case k < 19:
			s.op, s.at = pick([]string{"undo id", "undo since", "undo force"}), r.IntN(n+1)
		default:
			s.op = "user " + pick(overlapActs)
		}
		script = append(script, s)
	}
	return script
}

var ownText = regexp.MustCompile(`<\w+>`)

// texts returns the marks in all files of the workspace.
func (p *play) texts() map[string]bool { return marksBelow(p.s.dir) }

func marksBelow(dir string) map[string]bool {
	all := map[string]bool{}
	filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			data, _ := os.ReadFile(name)
			for _, m := range ownText.FindAll(data, -1) {
				all[string(m)] = true
			}
		}
		return nil
	})
	return all
}

var splicedText = regexp.MustCompile(`"new":"([^"]+)"`)

// kept returns the marks in the history.
func (p *play) kept() map[string]bool {
	all := marksBelow(p.s.base + "/" + stateHome)
	for _, line := range p.logLines() {
		for _, m := range splicedText.FindAllStringSubmatch(line, -1) {
			data, _ := base64.StdEncoding.DecodeString(m[1])
			for _, mark := range ownText.FindAll(data, -1) {
				all[string(mark)] = true
			}
		}
	}
	return all
}

func (p *play) logLines() (lines []string) {
	logs, _ := filepath.Glob(p.s.base + "/" + stateHome + "/skill/*/log")
	more, _ := filepath.Glob(p.s.base + "/" + stateHome + "/skill/*/*/log")
	for _, name := range append(logs, more...) {
		data, _ := os.ReadFile(name)
		lines = append(lines, strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")...)
	}
	return lines
}

// A loggedOp is what the test reads of a line of the log.
type loggedOp struct {
	ID, Undoes int64
	Void       bool
	Note       string
	Deltas     []struct {
		Path, From    string
		Before, After history.Entry
	}
}

// isIdle reports whether the op left everything as it was.
func (op loggedOp) isIdle() bool {
	for _, d := range op.Deltas {
		if d.From != "" || d.Before.Kind != d.After.Kind || d.Before.Sum != d.After.Sum ||
			d.Before.Mode != d.After.Mode {
			return false
		}
	}
	return true
}

// log formats the log for a reader.
func (p *play) log() string {
	var b strings.Builder
	for _, line := range p.logLines() {
		var op history.Op
		if at := strings.IndexByte(line, '{'); at < 0 || json.Unmarshal([]byte(line[at:]), &op) != nil || op.ID == 0 {
			continue
		}
		fmt.Fprintf(&b, "%d %s %s", op.ID, op.Kind, op.Command)
		if op.Undoes > 0 {
			fmt.Fprintf(&b, " undoes %d", op.Undoes)
		}
		if op.Void {
			b.WriteString(" void")
		}
		for _, d := range op.Deltas {
			fmt.Fprintf(&b, " [%s", d.Path)
			if d.From != "" {
				fmt.Fprintf(&b, " from %s", d.From)
			}
			for i, e := range []history.Entry{d.Before, d.After} {
				fmt.Fprintf(&b, "%s %s/%o/%.4s", []string{"", " >"}[i], e.Kind, e.Mode, e.Sum)
				if e.Whole {
					b.WriteString("/whole")
				}
			}
			b.WriteString("]")
		}
		for _, l := range op.Left {
			fmt.Fprintf(&b, " left %s", l.Path)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (p *play) ops() (ops []loggedOp) {
	for _, line := range p.logLines() {
		var op loggedOp
		if at := strings.IndexByte(line, '{'); at >= 0 && json.Unmarshal([]byte(line[at:]), &op) == nil && op.ID > 0 {
			ops = append(ops, op)
		}
	}
	return ops
}

// newest returns the change that a bare undo must undo, 0 if no change is in force.
func (p *play) newest() int64 {
	ops := p.ops()
	void := map[int64]bool{}
	undoneBy, origin, odd := map[int64]int64{}, map[int64]int64{}, map[int64]bool{}
	for _, op := range ops {
		void[op.ID] = void[op.ID] || op.Void
	}
	best := int64(0)
	for _, op := range ops {
		if void[op.ID] {
			continue
		}
		origin[op.ID] = op.ID
		if op.Undoes > 0 {
			undoneBy[op.Undoes], origin[op.ID], odd[op.ID] = op.ID, origin[op.Undoes], !odd[op.Undoes]
		}
	}
	for _, op := range ops {
		if !void[op.ID] && undoneBy[op.ID] == 0 && !odd[op.ID] && !op.isIdle() {
			best = max(best, origin[op.ID]) // one that was made again counts as of when it was made
		}
	}
	return best
}

// disk describes all files in the workspace: kinds, permissions and contents.
func (p *play) disk() map[string]string {
	all := map[string]string{}
	filepath.WalkDir(p.s.dir, func(name string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(p.s.dir, name)
		if err != nil || rel == "." {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			data, _ := os.ReadFile(name)
			text += fmt.Sprintf(" %q", data)
		}
		if target, err := os.Readlink(name); err == nil {
			text = "link " + target
		}
		all[rel] = text
		return nil
	})
	return all
}

// differs lists the paths at which two descriptions differ.
func differs(a, b map[string]string) (paths []string) {
	for name := range a {
		if a[name] != b[name] {
			paths = append(paths, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			paths = append(paths, name)
		}
	}
	slices.Sort(paths)
	return paths
}

func differences(got, want map[string]string) string {
	var b strings.Builder
	for _, name := range differs(got, want) {
		fmt.Fprintf(&b, "%s: is %.300s\n    want %.300s\n", name, got[name], want[name])
	}
	return b.String()
}

// anOverlap plays a script. The error says which law was broken.
func anOverlap(s *site, script []step, strict bool) (err error) {
	var p *play
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, p.log())
		}
	}()
	p = &play{s: s, strict: strict, ids: map[int]string{}, undos: map[int]string{}, owed: map[string]bool{},
		user: map[string]bool{}}
	for k, name := range []string{"a", "d/a", "d/f/a"} {
		text := ""
		for line := range overlapLines {
			text += fmt.Sprintf("line %d <i%d_%d>\n", line, k, line)
		}
		s.put(s.p(name), text)
	}
	for range 3 {
		w, err := Open(Options{Dir: s.dir, Portable: s.portable, NoSync: true})
		if err != nil {
			return err
		}
		defer w.Close()
		p.w = append(p.w, w)
	}
	first := p.disk()
	maps.Copy(p.owed, p.texts())
	for _, st := range script {
		if err := p.step(st); err != nil {
			return fmt.Errorf("step %v: %w", st, err)
		}
	}
	for at := range p.running {
		if err := p.end(at); err != nil {
			return fmt.Errorf("end %d: %w", at, err)
		}
	}
	return p.backAndForth(first)
}

// backAndForth undoes everything, redoes it and undoes it again.
func (p *play) backAndForth(first map[string]string) error {
	last, w := p.disk(), p.w[0]
	ops := p.ops()
	if len(ops) == 0 {
		return nil
	}
	id := strconv.FormatInt(ops[0].ID, 10)
	done, err := p.undo("all", w, UndoOptions{Since: id})
	if err != nil {
		if p.strict && !p.mixed {
			return fmt.Errorf("undo of all: %w", err)
		}
		return p.lost()
	}
	if err := p.isLike("undone", first); err != nil {
		return err
	}
	if len(done) == 0 || !p.strict || p.mixed {
		return p.lost()
	}
	if _, err = p.undo("all again", w, UndoOptions{Since: done[0].ID}); err != nil {
		return fmt.Errorf("redo of all: %w", err)
	}
	if err := p.isLike("made again", last); err != nil {
		return err
	}
	if _, err = p.undo("all", w, UndoOptions{Since: id}); err != nil {
		return fmt.Errorf("second undo of all: %w", err)
	}
	if err := p.isLike("undone twice", first); err != nil {
		return err
	}
	return p.lost()
}

// isLike fails if the workspace has changed, except for changes by others.
func (p *play) isLike(what string, want map[string]string) error {
	got := p.disk()
	if p.mixed { // of changes that were undone in another order the rest may be undone to another state
		return nil
	}
	for name := range p.user {
		for _, m := range []map[string]string{got, want} {
			for at := range m {
				if near(at, name) {
					delete(m, at)
				}
			}
		}
	}
	if d := differences(got, want); d != "" {
		return fmt.Errorf("%s:\n%s", what, d)
	}
	return nil
}

// near reports whether two paths are equal or one is below the other.
func near(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// lost fails if a text is neither in the workspace nor in the history.
func (p *play) lost() error {
	there, kept := p.texts(), p.kept()
	for _, text := range slices.Sorted(maps.Keys(p.owed)) {
		if !there[text] && !kept[text] {
			return fmt.Errorf("%s is lost", text)
		}
	}
	return nil
}

func (p *play) step(s step) error {
	op, what, _ := strings.Cut(s.op, " ")
	switch op {
	case "begin":
		return p.begin(s)
	case "end":
		return p.end(s.at)
	case "act":
		if p.anyRuns() {
			p.act(what, s)
		}
		return nil
	case "user":
		p.outside(what, s)
		return nil
	case "undo", "redo", "twice":
		return p.back(s)
	}
	return p.tool(s)
}

func (p *play) anyRuns() bool {
	return slices.ContainsFunc(p.running[:], func(c *Command) bool { return c != nil })
}

func (p *play) begin(s step) error {
	if p.running[s.at] != nil {
		return nil
	}
	if !p.anyRuns() {
		maps.Copy(p.owed, p.texts())
	}
	c, err := p.w[s.worker].Begin(bg, fmt.Sprint("command ", s.n), 1<<20, p.s.walk)
	p.running[s.at] = c
	return err
}

func (p *play) end(at int) error {
	c := p.running[at]
	if c == nil {
		return nil
	}
	p.running[at] = nil
	if _, _, err := c.End(bg); err != nil {
		return err
	}
	return p.lost()
}

// outside is an edit by somebody else while no command runs. Texts that were only in the workspace may then
// be lost.
func (p *play) outside(what string, s step) {
	if p.anyRuns() {
		p.act(what, s)
		return
	}
	before, texts := p.disk(), p.texts()
	p.act(what, s)
	after := p.texts()
	for text := range texts {
		if !after[text] {
			delete(p.owed, text)
		}
	}
	for _, name := range differs(before, p.disk()) {
		p.user[name] = true
	}
}

// act changes the workspace like a program.
func (p *play) act(what string, s step) {
	a, b := p.s.p(s.a), p.s.p(s.b)
	mark := fmt.Sprintf("<c%d>", s.n)
	switch what {
	case "put":
		os.WriteFile(a, []byte("put "+mark+"\n"), 0o644)
	case "rm":
		os.RemoveAll(a)
	case "mkdirs":
		os.MkdirAll(a, 0o755)
	case "mv":
		os.Rename(a, b)
	case "cp":
		if data, err := os.ReadFile(a); err == nil {
			os.WriteFile(b, append(data, mark...), 0o644)
		}
	case "link":
		if os.Remove(a) == nil {
			os.Symlink("x"+strconv.Itoa(s.n), a)
		}
	case "add":
		if f, err := os.OpenFile(a, os.O_APPEND|os.O_WRONLY, 0); err == nil {
			fmt.Fprintln(f, mark)
			f.Close()
		}
	case "change":
		if data, err := os.ReadFile(a); err == nil {
			os.WriteFile(a, changeLine(data, s.at, mark), 0o644)
		}
	case "chmod":
		os.Chmod(a, []fs.FileMode{0o700, 0o755, 0o750}[s.at%3])
	case "many":
		os.MkdirAll(p.s.p("d/f"), 0o755)
		for i := range 3 {
			os.WriteFile(p.s.p(fmt.Sprintf("d/f/%d", i)), []byte(mark), 0o644)
		}
	case "again":
		os.RemoveAll(p.s.p("d"))
		os.MkdirAll(p.s.p("d/f"), 0o755)
		os.WriteFile(p.s.p("d/a"), []byte(mark), 0o644)
	}
}

// changeLine replaces the mark of a line.
func changeLine(data []byte, line int, mark string) []byte {
	lines := strings.Split(string(data), "\n")
	if line < len(lines) && lines[line] != "" {
		lines[line] = fmt.Sprintf("line %d %s", line, mark)
	}
	return []byte(strings.Join(lines, "\n"))
}

// tool makes a change with one of the tools.
func (p *play) tool(s step) error {
	w, a, b := p.w[s.worker], p.s.p(s.a), p.s.p(s.b)
	mark := fmt.Sprintf("<w%d>", s.n)
	before, texts, ops := p.disk(), p.texts(), len(p.ops())
	var c Change
	var err error
	switch s.op {
	case "write":
		c, err = w.WriteFile(bg, a, []byte("first\nwritten "+mark+"\nlast\n"), WriteOptions{Parents: true})
	case "edit":
		c, err = w.EditFile(bg, a, WriteOptions{}, func(src io.ReaderAt, size int64) (Splice, error) {
			data, err := io.ReadAll(io.NewSectionReader(src, 0, size))
			return Splice{Old: size, New: changeLine(data, s.at, mark)}, err
		})
	case "append":
		c, err = w.AppendFile(bg, a, []byte(mark+"\n"), WriteOptions{})
	case "remove":
		c, err = w.Remove(bg, a, RemoveOptions{Tree: s.at%2 == 0})
	case "move":
		c, err = w.Move(bg, a, b, MoveOptions{Parents: true})
	case "copy":
		c, err = w.Copy(bg, a, b, CopyOptions{Tree: true, Replace: true, Parents: true})
	case "mkdir":
		c, err = w.MakeDir(bg, a, false)
	}
	if err == nil && c.ID != "" {
		p.ids[s.n] = c.ID
	}
	if err != nil && len(differs(before, p.disk())) > 0 {
		return fmt.Errorf("an error, and the workspace is changed at %q: %w", differs(before, p.disk()), err)
	}
	return p.did(before, texts, ops)
}

// did checks the changes of a tool or an undo: an op names each path, and each text is kept.
func (p *play) did(before map[string]string, texts map[string]bool, ops int) error {
	fresh := p.ops()[ops:]
	for _, name := range differs(before, p.disk()) {
		named := slices.ContainsFunc(fresh, func(op loggedOp) bool {
			for _, d := range op.Deltas {
				if name == d.Path || strings.HasPrefix(name, d.Path+"/") || d.From != "" &&
					near(name, d.From) {
					return true
				}
			}
			return false
		})
		if !named {
			return fmt.Errorf("%s was changed, and no op names it", name)
		}
	}
	after := p.texts()
	for text := range texts {
		if !after[text] {
			p.owed[text] = true
		}
	}
	for text := range after {
		if !texts[text] {
			p.owed[text] = true
		}
	}
	return p.lost()
}

func (p *play) undo(what string, w *Workspace, o UndoOptions) ([]Undone, error) {
	before, texts, ops := p.disk(), p.texts(), len(p.ops())
	done, err := w.Undo(bg, o)
	for _, d := range done {
		p.mixed = p.mixed || len(d.Stays) > 0 || len(d.Merged) > 0
	}
	// an op of a command that runs came after the change that was undone
	if p.anyRuns() && len(p.ops()) > ops+len(done) {
		p.mixed = true
	}
	_, partly := errors.AsType[*PartlyUndoneError](err)
	if err != nil && !partly && len(done) == 0 &&
		len(p.ops()) == ops && len(differs(before, p.disk())) > 0 {
		return nil, fmt.Errorf("an error of undo %s, and the workspace is changed at %q: %w", what,
			differs(before, p.disk()), err)
	}
	if berr := p.did(before, texts, ops); berr != nil {
		return nil, broken{berr}
	}
	return done, err
}

// broken returns the error for a law that an undo broke.
type broken struct{ error }

// back undoes or redoes a change.
func (p *play) back(s step) error {
	w := p.w[s.worker]
	var done []Undone
	var err error
	switch s.op {
	case "undo", "twice":
		return p.bare(s, w)
	case "redo":
		id := p.undos[s.at]
		if id == "" {
			return nil
		}
		before := p.newest()
		done, err = p.undo("redo", w, UndoOptions{ID: id})
		if err == nil && strconv.FormatInt(before, 10) >= id {
			p.mixed = true
		}
		if err == nil && len(done) > 0 {
			delete(p.undos, s.at)
		}
	default:
		id := p.ids[s.at]
		if id == "" {
			return nil
		}
		o := UndoOptions{ID: id, Force: s.op == "undo force"}
		if s.op == "undo since" {
			o = UndoOptions{Since: id}
		}
		done, err = p.undo(s.op, w, o)
		if len(done) > 0 {
			p.mixed = true
			p.undos[s.at] = done[0].ID
		}
	}
	if b, ok := errors.AsType[broken](err); ok {
		return b
	}
	return nil
}

// bare undoes the newest change; with "twice" it also redoes it and undoes it again.
func (p *play) bare(s step, w *Workspace) error {
	want := p.newest()
	before := p.disk()
	done, err := p.undo("last", w, UndoOptions{})
	if b, ok := errors.AsType[broken](err); ok {
		return b
	}
	if err != nil {
		no, ok := errors.AsType[*UndoError](err)
		conflict := ok && no.Path != "" && (!p.strict || p.anyRuns()) // with what a command has done so far
		nothing := ok && no.ID == "" && (want == 0 || p.anyRuns())
		if !conflict && !nothing && p.strict {
			return fmt.Errorf("bare undo: %w", err)
		}
		return nil
	}
	// while a command runs, what it did so far may become the newest change first
	if of := done[0].Of; len(done[0].Passed) == 0 && of != strconv.FormatInt(want, 10) {
		return fmt.Errorf("bare undo took back %s, and the newest change in force is %d", of, want)
	}
	for n, id := range p.ids {
		if id == done[0].Of {
			p.undos[n] = done[0].ID
		}
	}
	if s.op != "twice" || p.anyRuns() {
		return nil
	}
	undone, took := p.disk(), done[0].Of
	if done, err = p.undo("redo", w, UndoOptions{ID: done[0].ID}); err != nil {
		return fmt.Errorf("redo of the last: %w", err)
	}
	if d := differences(p.disk(), before); d != "" && len(done[0].Merged) == 0 {
		return fmt.Errorf("redo of the last:\n%s", d)
	}
	if done, err = p.undo("last", w, UndoOptions{}); err != nil {
		return fmt.Errorf("undo, redo, undo: %w", err)
	}
	if of := done[0].Of; of != took {
		return fmt.Errorf("undo, redo, undo: took back %s, not %s", of, took)
	}
	if d := differences(p.disk(), undone); d != "" {
		return fmt.Errorf("undo, redo, undo:\n%s", d)
	}
	for n, id := range p.ids {
		if id == done[0].Of {
			p.undos[n] = done[0].ID
		}
	}
	return nil
}

// shorter omits steps as long as the script still fails.
func shorter(script []step, fails func([]step) error) ([]step, error) {
	err := fails(script)
	for size := max(len(script)/2, 1); ; size /= 2 {
		for from := 0; from < len(script); {
			less := slices.Delete(slices.Clone(script), from, min(from+size, len(script)))
			if lerr := fails(less); lerr != nil {
				script, err = less, lerr
			} else {
				from += size
			}
		}
		if size <= 1 {
			return script, err
		}
	}
}

func TestOverlaps(t *testing.T) {
	needs.InMemory(t)
	sequences := 100
	if text := os.Getenv("SKILL_TEST_OVERLAPS"); text != "" {
		sequences, _ = strconv.Atoi(text)
	}
	seed := uint64(1) // each run plays the same scripts, but nightly ones
	if os.Getenv("SKILL_TEST_LONG") != "" {
		seed = rand.Uint64() >> 32
	}
	if text := os.Getenv("SKILL_TEST_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
		sequences = 1
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	failures := map[string]int{}
	for n := range sequences {
		seed := seed + uint64(n)
		strict := seed%2 == 0
		r := rand.New(rand.NewPCG(seed, 13))
		round := 0
		fails := func(script []step) error {
			round++
			s := &site{t: t, base: path.Join(base, fmt.Sprintf("%d-%d", n, round))}
			s.dir = s.base + "/ws"
			defer os.RemoveAll(s.base)
			if err := os.MkdirAll(s.dir, 0o755); err != nil {
				return err
			}
			t.Setenv("XDG_STATE_HOME", s.base+"/"+stateHome)
			return anOverlap(s, script, strict)
		}
		script := aScript(r, 8+r.IntN(22), strict)
		if fails(script) == nil {
			continue
		}
		script, err := shorter(script, fails)
		var text strings.Builder
		for _, s := range script {
			fmt.Fprintln(&text, s)
		}
		t.Errorf("SKILL_TEST_SEED=%d, strict %v:\n%s%v", seed, strict, &text, err)
		if failures["all"]++; failures["all"] >= 5 && os.Getenv("SKILL_TEST_GO_ON") == "" {
			t.Fatalf("%d of %d sequences failed", failures["all"], n+1)
		}
	}
	t.Logf("%d sequences from seed %d", sequences, seed)
}
