package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/tools/txtar"

	"textskill/skill"
)

// A goldenRunner plays golden files, which may be a stranger's: their flags cannot
// widen what the command line allows.
type goldenRunner struct {
	helper string         // see cli
	given  *pflag.FlagSet // of skill test; nil means none
	limit  time.Duration  // for one file; 0 means none
	made   *madeFolders   // nil means that what a file is played in is removed after it

	// the environment, to find the model of sections model in; nil leaves them out
	live    func(string) string
	unasked *atomic.Int64 // counts the sections that are left out; may be nil
}

// goldenCommands are the commands that the flags of a golden file may name. The sections mcp
// and run run those that would wait for a client or for a model.
var goldenCommands = []string{"skill", "undo", "history", "diff", "log", "explain", "tools",
	"version", "help"}

// testFile runs one golden file and returns how what it printed differs from what it wants,
// and at which line of the file, from 1; with update it writes what was printed into the file,
// and wrote says so.
func (g goldenRunner) testFile(ctx context.Context, name string, update bool) (diff string, line int,
	wrote bool, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", 0, false, err
	}
	if g.limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, g.limit,
			fmt.Errorf("it has not ended after %v; --timeout gives it longer", g.limit))
		defer stop()
	}
	data, restore := unixLines(data) // git may have written others
	archive := txtar.Parse(data)
	moved, err := inOrder(archive)
	if err != nil {
		return "", 0, false, err
	}
	if moved && !update { // the order in which it is written is not compared
		data = txtar.Format(archive)
	}
	got, err := g.play(ctx, archive)
	if ctx.Err() != nil {
		return "", 0, false, context.Cause(ctx)
	}
	if err != nil {
		return "", 0, false, err
	}
	after := txtar.Format(got)
	if bytes.Equal(data, after) {
		return "", 0, false, nil
	}
	if update {
		return "", 0, true, os.WriteFile(name, restore(after), 0o666)
	}
	same := 0
	for same < min(len(data), len(after)) && data[same] == after[same] {
		same++
	}
	show := func(null []byte) string { // of what holds a NUL no line is shown
		return skill.Unified(name, name+" (got)", bytes.ReplaceAll(data, []byte{0}, null),
			bytes.ReplaceAll(after, []byte{0}, null))
	}
	return cmp.Or(show([]byte(`\x00`)), show([]byte{0})),
		1 + bytes.Count(data[:same], []byte("\n")), false, nil
}

// inOrder puts each want right after what prints it: the prompt, mcp or run before it that has
// none, else the next one. A section between a prompt and its want goes before the prompt.
// It reports whether a want was elsewhere.
func inOrder(a *txtar.Archive) (moved bool, err error) {
	var files, early []txtar.File
	open := -1 // where in files the last section is that prints and has no want
	for _, f := range a.Files {
		switch {
		case plays(f):
			open = len(files)
			if files = append(files, f); len(early) > 0 {
				files, early, open = append(files, early[0]), early[1:], -1
			}
		case f.Name == "want" && open >= 0:
			between := slices.Clone(files[open+1:])
			moved = moved || len(between) > 0
			files = append(append(append(files[:open:open], between...), files[open]), f)
			open = -1
		case f.Name == "want":
			moved, early = true, append(early, f)
		default:
			files = append(files, f)
		}
	}
	if len(early) > 0 {
		return moved, errors.New("a want has no prompt, mcp or run of its own: write a section such as -- prompt -- before it")
	}
	a.Files = files
	return moved, nil
}

// play plays an archive and returns it with what was printed.
func (g goldenRunner) play(ctx context.Context, a *txtar.Archive) (*txtar.Archive, error) {
	if g.made == nil {
		g.made = &madeFolders{}
		defer g.made.remove()
	}
	dir, state, err := g.folders()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	p := &golden{goldenRunner: g, ctx: ctx, dir: dir, state: state, root: root,
		out: &txtar.Archive{Comment: a.Comment}}
	defer p.stopServers()
	for i, f := range a.Files {
		if err := p.section(f, i+1 < len(a.Files) && a.Files[i+1].Name == "want"); err != nil {
			return nil, err
		}
	}
	if !slices.ContainsFunc(a.Files, func(f txtar.File) bool { return plays(f) || f.Name == "model" }) {
		return nil, errors.New("it plays nothing; add a section prompt, mcp, run or model: a line like -- prompt -- begins one")
	}
	return p.out, nil
}

// folders makes a workspace, and a folder for its history.
func (g goldenRunner) folders() (dir, state string, err error) {
	if dir, err = g.made.make("skill-test-*"); err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		state, err = g.made.make("skill-test-state-*")
	}
	return dir, state, err
}

// stopServers ends the servers that prompts started, with all that they started.
func (g *golden) stopServers() {
	if made, _ := os.ReadDir(g.state); len(made) == 0 {
		return // nothing was recorded, and no server is started without a record
	}
	x, err := skill.New(skill.Config{Dir: g.dir, State: g.state, Helper: g.helper, NoSync: true})
	if err != nil {
		return
	}
	defer x.Close()
	ctx := context.WithoutCancel(g.ctx)
	running, err := x.Execute(ctx, &skill.Session{}, skill.ListServers{})
	if err != nil {
		return
	}
	for _, s := range running.(skill.Servers) {
		x.Execute(ctx, &skill.Session{}, skill.StopServer{ServerName: skill.ServerName{ID: s.ID}})
	}
}

// golden is one archive being played.
type golden struct {
	goldenRunner
	ctx     context.Context
	dir     string
	state   string   // folder of the history
	root    *os.Root // dir; a command may have left links in it
	out     *txtar.Archive
	flags   []string
	llm     []string         // the model's next answers
	masks   []*regexp.Regexp // of what is not compared
	printed string           // by the last prompt
}

// goldenSections are the names that mean something else than a file.
var goldenSections = []string{"flags", "llm", "mask", "prompt", "mcp", "run", "model", "want", "tree"}

// plays reports whether a section prints something that a want tells.
func plays(f txtar.File) bool { return f.Name == "prompt" || f.Name == "mcp" || f.Name == "run" }

// mistyped returns the section that a file's name looks like, "" if it looks like none. A file
// of such a name is written with ./ before it.
func mistyped(name string) string {
	for _, section := range goldenSections {
		if skill.Distance(strings.ToLower(name), section) <= max(1, len(section)/3) {
			return section
		}
	}
	return ""
}

// usualMasks match what no two runs or builds print alike, after what the first group matches: how
// long something took, versions and instructions of this program, times, and IDs that are drawn at random.
var usualMasks = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`("(?:duration|latency|elapsed)_?[mM]s":)\d+`),
		regexp.MustCompile(`("(?:timestamp|\w+At|\w+_at)":)\d{13}\b`),
		regexp.MustCompile(`(serverInfo":\{(?:"[^"\\]*":"[^"\\]*",)*"version":)"[^"\\]*"`),
		regexp.MustCompile(`(?m)(^\{"jsonrpc":.*"result":\{.*"capabilities":.*"instructions":)"(?:[^"\\]|\\.)*"`),
		regexp.MustCompile(`(\b)\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d\b)?`),
		regexp.MustCompile(`(\b)(?:[A-Z][a-z]{2},? )?(?:\d\d? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (?:[ \d]\d )?(?:\d{4} )?\d\d:\d\d:\d\d(?: [A-Z]{3,4})?(?: \d{4})?`),
		regexp.MustCompile(`(\b)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`),
		regexp.MustCompile(`(\b)c[a-z2-7]{23}\b`),
	}
})

// mask replaces what is not compared.
func (g *golden) mask(text string) string {
	for i, re := range usualMasks() {
		with := "${1}[masked]"
		if i < 4 { // a value in JSON
			with = `${1}"[masked]"`
		}
		text = re.ReplaceAllString(text, with)
	}
	for _, re := range g.masks {
		text = applyMask(re, text)
	}
	return text
}

// applyMask replaces what an expression matches, but for its group "keep".
func applyMask(re *regexp.Regexp, text string) string {
	if re.SubexpIndex("keep") < 0 {
		return re.ReplaceAllLiteralString(text, "[masked]")
	}
	return re.ReplaceAllString(text, "${keep}[masked]")
}

// addMasks adds the patterns of a section, one a line.
func (g *golden) addMasks(text string) error {
	for line := range strings.Lines(text) {
		if line == "\n" {
			continue // it would match everywhere
		}
		re, err := regexp.Compile(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return fmt.Errorf("mask: %w", err)
		}
		g.masks = append(g.masks, re)
	}
	return nil
}

func (g *golden) section(f txtar.File, wanted bool) error {
	text := string(f.Data)
	var err error
	switch f.Name {
	case "flags":
		g.flags = strings.Fields(g.expand(text))
	case "llm":
		g.llm = append(g.llm, strings.TrimSuffix(g.expand(text), "\n"))
	case "mask":
		if err := g.addMasks(text); err != nil {
			return err
		}
	case "prompt", "mcp", "run":
		play := map[string]func(string) (string, error){"prompt": g.run, "mcp": g.converse,
			"run": g.runExpert}[f.Name]
		if g.printed, err = play(text); err != nil {
			return err
		}
		g.keep(f.Name, text)
		if !wanted {
			g.keep("want", g.printed)
		}
		return nil
	case "model":
		if err := g.askModel(text); err != nil {
			return err
		}
	case "want":
		if g.mask(text) != g.printed {
			text = g.printed
		}
	case "tree":
		if text, err = g.drawTree(); err != nil {
			return err
		}
	default:
		if err := g.write(f); err != nil {
			return err
		}
	}
	g.keep(f.Name, text)
	return nil
}

// write makes a file of the workspace.
func (g *golden) write(f txtar.File) error {
	if section := mistyped(f.Name); section != "" {
		return fmt.Errorf("there is no section %s; is it %s? A file of that name is ./%[1]s", f.Name, section)
	}
	if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
		return fmt.Errorf("%s is not a name inside the folder", f.Name)
	}
	return errors.Join(g.root.MkdirAll(path.Dir(f.Name), 0o777), g.root.WriteFile(f.Name, f.Data, 0o666))
}

func (g *golden) keep(name, text string) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	g.out.Files = append(g.out.Files, txtar.File{Name: name, Data: []byte(text)})
}

func (g *golden) expand(text string) string { return strings.ReplaceAll(text, "$WORK", g.dir) }

// run plays one prompt and returns what it prints, with the exit code if it is not 0.
// The error is of flags that the file may not set.
func (g *golden) run(prompt string) (string, error) {
	c := g.cli(goldenCommands)
	out, errs, code := g.exec(c, strings.TrimSuffix(g.expand(prompt), "\n"), slices.Concat(g.base(), g.flags))
	return g.outcome(out+errs, code), c.refused
}

// exec runs the program with an input, and returns what it prints.
func (g *golden) exec(c *goldenCLI, input string, args []string) (out, errs string, code int) {
	var stdout, stderr strings.Builder
	c.stdin, c.stdout, c.stderr = strings.NewReader(input), &stdout, &stderr
	code = c.run(g.ctx, args)
	return stdout.String(), stderr.String(), code
}

// A goldenCLI is the program as a golden file runs it.
type goldenCLI struct {
	cli
	refused error // of a command line that goes beyond what the user allowed
}

// cli returns the program, which may run these commands. The model gives the answers of the
// sections llm before.
func (g *golden) cli(commands []string) *goldenCLI {
	c := &goldenCLI{cli: cli{console: console{getenv: func(name string) string { return map[string]string{"SKILL_STATE": g.state}[name] }}, helper: g.helper, unlasting: true}}
	c.allowed = func(cmd *cobra.Command) error {
		c.refused = g.allowed(cmd, commands)
		return c.refused
	}
	if len(g.llm) > 0 {
		c.agent = &scriptedAgent{replies: g.llm}
		g.llm = nil
	}
	return c
}

// outcome returns what was printed, as it is compared.
func (g *golden) outcome(text string, code int) string {
	if code != 0 {
		text += fmt.Sprintf("[exit %d]\n", code)
	}
	return g.mask(strings.ReplaceAll(text, g.dir, "$WORK"))
}

// base returns the flags that everything is run with: the workspace and the fence.
func (g *golden) base() []string {
	args := []string{"-C", g.dir, "--fence=" + string(skill.FenceRequire)}
	if g.given == nil {
		return args
	}
	if f := g.given.Lookup("fence"); f.Changed {
		args = append(args, "--fence="+f.Value.String())
	}
	return args
}

// allowed returns an error if a command line goes beyond what the user allowed.
func (g *golden) allowed(cmd *cobra.Command, commands []string) (err error) {
	if !slices.Contains(commands, cmd.Name()) {
		return fmt.Errorf("flags: a golden file cannot run %s", cmd.CommandPath())
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		values, known := goldenFlags[f.Name]
		switch {
		case f.Name == "workspace" && value == g.dir:
		case known && (values == nil || slices.Contains(values, value)):
		case g.isGiven(f):
		case err == nil:
			err = fmt.Errorf("flags: a golden file cannot set --%s %s", f.Name, value)
			if g.given != nil && g.given.Lookup(f.Name) != nil {
				if f.NoOptDefVal != "" {
					value = "" // a switch
				}
				err = fmt.Errorf("%w; if you trust it, play it with --%s", err,
					strings.TrimSpace(f.Name+" "+strings.Trim(value, "[]")))
			}
		}
	})
	return err
}

// isGiven reports whether the command line gives a flag its value, or all of its values.
func (g *golden) isGiven(f *pflag.Flag) bool {
	if g.given == nil {
		return false
	}
	given := g.given.Lookup(f.Name)
	if given == nil || !given.Changed {
		return false
	}
	list, ok := f.Value.(pflag.SliceValue)
	if !ok {
		return f.Value.String() == given.Value.String()
	}
	wide := given.Value.(pflag.SliceValue).GetSlice()
	return !slices.ContainsFunc(list.GetSlice(), func(v string) bool { return !slices.Contains(wide, v) })
}

// drawTree lists what is in the folder: a name and a quoted content per line.
func (g *golden) drawTree() (string, error) {
	var lines []string
	err := fs.WalkDir(g.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if skill.Hidden(d.Name()) || name == "perstack/runs" { // the names of records are random
			return fs.SkipDir
		}
		line := name
		switch {
		case d.IsDir():
			line += "/"
		case d.Type() == fs.ModeSymlink:
			target, err := g.root.Readlink(name)
			if err != nil {
				return err
			}
			line += " -> " + target
		case d.Type().IsRegular():
			data, err := g.root.ReadFile(name)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %q", data)
		default:
			line += " " + d.Type().String()
		}
		lines = append(lines, line+"\n")
		return nil
	})
	slices.Sort(lines)
	return strings.ReplaceAll(strings.Join(lines, ""), g.dir, "$WORK"), err
}
