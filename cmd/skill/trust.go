package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/parser/rawjson"
	"textskill/skill/agent"
	"textskill/skill/agent/provider"
)

const trustLong = `trust lets the files of a workspace set these: the endpoint, the provider and the keys in
perstack.toml and .env, the commands of an expert's skills (MCP servers), and the flags and
tools in skill.toml. Until you trust the workspace, an expert that needs one of these does
not start, skill.toml does not count, and no expert reads AGENTS.md. trust prints what it
records in your state folder.

Trust ends when one of these settings, the directory or its owner changes. A change of an
instruction in perstack.toml does not end it. An expert reads AGENTS.md as it was when you
trusted it. You trust the name and arguments of a command, not the program behind the name.`

// trustOptions are the flags of skill trust.
type trustOptions struct {
	projectOptions
	list, forget bool
}

func (c *cli) trustCommand(*configuration) *cobra.Command {
	var o trustOptions
	cmd := &cobra.Command{
		Use:     "trust [flags] [DIR]",
		Short:   "Let the files of a workspace set endpoints, keys and commands",
		Long:    trustLong,
		Example: "  skill trust\n  skill trust ~/project\n  skill trust --list\n  skill trust --forget ~/project",
		Args:    usage.Arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Dir = args[0]
			}
			switch {
			case o.list && (o.forget || len(args) > 0):
				return errors.New("--list lists all trusted directories; leave the rest out")
			case o.list:
				return c.failed(c.listTrust())
			case o.forget:
				return c.failed(c.forgetTrust(o.Dir))
			}
			return c.failed(c.giveTrust(&o.projectOptions))
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.list, "list", false, "list the trusted directories")
	f.BoolVar(&o.forget, "forget", false, "trust the directory no longer")
	o.addProject(f)
	o.addPlace(f)
	return cmd
}

// giveTrust trusts what the workspace says now.
func (c *cli) giveTrust(r *projectOptions) error {
	settings, _, err := r.settings(c)
	if err != nil {
		return err
	}
	w, err := r.stranger(c)
	if err != nil && (settings == nil || !errors.Is(err, agent.ErrNoProject)) {
		return err
	}
	asks := false
	for _, w := range []*stranger{w, settings} {
		if w == nil || len(w.powers) == 0 && w.guide == "" {
			continue
		}
		asks = true
		for _, p := range w.powers {
			fmt.Fprintln(c.stdout, shownPower(p))
		}
		if w.guide != "" {
			fmt.Fprintf(c.stdout, "%s (%d bytes of instructions for every expert, as they are now)\n",
				guideFile, len(w.guide))
		}
		if err := w.record(); err != nil {
			return err
		}
		fmt.Fprintf(c.stdout, "%s is trusted with these settings of %s.\n", w.dir, w.file)
	}
	if !asks {
		fmt.Fprintf(c.stdout, "%s asks for nothing that needs trust.\n", cmp.Or(w, settings).dir)
	}
	return nil
}

func (c *console) listTrust() error {
	all, err := trustRecords(c.getenv.inState("trust"))
	for _, t := range all {
		fmt.Fprintf(c.stdout, "%s  %s\n", t.Dir, t.File)
	}
	return err
}

func (c *console) forgetTrust(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	dir = realDir(dir)
	all, err := trustRecords(c.getenv.inState("trust"))
	forgotten := false
	for _, t := range all {
		if t.Dir == dir {
			err = errors.Join(err, os.Remove(t.name))
			forgotten = true
		}
	}
	if err == nil && !forgotten {
		return fmt.Errorf("%s is not trusted; %s trust --list lists what is", dir, c.program())
	}
	return err
}

// shownPower returns a power as a line for a person, without a credential in it.
func shownPower(p agent.Power) string {
	name := p.Setting[strings.LastIndex(p.Setting, " ")+1:]
	if value := strings.Trim(p.Value, `"`); len(agent.Credentials(name, value)) > 0 {
		return p.Setting + " (a credential)"
	}
	return p.String()
}

// A stranger is a workspace as it asks for trust.
type stranger struct {
	program string        // what to type for this program
	dir     string        // absolute, without links
	file    string        // perstack.toml, likewise
	powers  []agent.Power // of all experts, and of the variables that they may use
	store   string        // folder of the trust records; "" for none, or tools reach it

	project agent.Project
	vars    *variables
	guide   string // content of AGENTS.md; "" for none
}

// guideFile is the name of the file in which a workspace instructs all experts.
const guideFile = "AGENTS.md"

// stranger returns what the workspace that the flags name asks for.
func (r *projectOptions) stranger(c *cli) (*stranger, error) {
	project, file, err := r.project(c.program())
	if err != nil {
		return nil, err
	}
	vars, err := r.variables(c, project)
	if err != nil {
		return nil, err
	}
	w := &stranger{program: c.program(), project: project, vars: vars, powers: project.Powers(),
		store: c.getenv.trustStore(&r.workspaceOptions)}
	dir, err1 := filepath.Abs(r.Dir)
	file, err2 := filepath.Abs(file)
	w.dir, w.file = realDir(dir), realDir(file)
	guide, err := readRegular(filepath.Join(w.dir, guideFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.sayf("%s is not read: %v", guideFile, err)
	}
	w.guide = strings.TrimSpace(string(guide))
	names := []string{"PATH"}
	for _, p := range provider.All {
		names = append(append(names, p.BaseURL), p.Keys...)
	}
	for _, e := range project.Experts {
		for _, s := range e.Skills {
			names = append(names, s.RequiredEnv...)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if p, ok := vars.power(name); ok {
			w.powers = append(w.powers, p)
		}
	}
	return w, errors.Join(err1, err2)
}

// grant returns the check of a run: an error that names what an expert needs and the
// user has not trusted. endpoint are the powers that the run needs for its model.
func (w *stranger) grant(endpoint []agent.Power) func([]agent.Power) error {
	trusted, _ := w.isTrusted()
	return func(needed []agent.Power) error {
		needed = append(slices.Clone(endpoint), needed...)
		if trusted || len(needed) == 0 {
			return nil
		}
		lines := []string{fmt.Sprintf("%s is not trusted, and the expert needs of it:", w.dir)}
		for _, p := range needed {
			lines = append(lines, "  "+shownPower(p))
		}
		how := "if you trust it, type: " + w.program + " trust " + shellWord(w.dir) +
			" (or add --trust-workspace for this run)"
		if w.store == "" {
			how = "if you trust it, add --trust-workspace; there is no state folder outside the workspace to record it in"
		}
		return errors.New(strings.Join(append(lines, how), "\n"))
	}
}

// A trustRecord says what of a workspace its user trusts.
type trustRecord struct {
	Dir   string `json:"dir"`
	File  string `json:"file"`
	Owner int    `json:"owner"` // of File; -1 where the system does not say
	Hash  string `json:"hash"`  // of the powers
	Guide string `json:"guide"` // hash of AGENTS.md; "" for none

	name string // of the record's own file
}

// trustStore returns the folder of the trust records, "" for none or tools reach it.
func (env environment) trustStore(w *workspaceOptions) string {
	if dir := env.inState("trust"); dir != "" && !w.holds(dir) {
		return dir
	}
	return ""
}

// claim returns the record that trusts the workspace as it is.
func (w *stranger) claim() trustRecord {
	t := trustRecord{Dir: w.dir, File: w.file, Owner: ownerOf(w.file),
		Hash: fmt.Sprintf("%x", sha256.Sum256(rawjson.Encode(w.powers)))}
	if w.guide != "" {
		t.Guide = fmt.Sprintf("%x", sha256.Sum256([]byte(w.guide)))
	}
	t.name = filepath.Join(w.store, fmt.Sprintf("%x.json", sha256.Sum256([]byte(t.Dir+"\x00"+t.File))))
	return t
}

// isTrusted reports whether the user has trusted the workspace as it is, and guide
// whether that is so of its AGENTS.md, without which experts start all the same.
func (w *stranger) isTrusted() (all, guide bool) {
	if w.store == "" {
		return false, false
	}
	want := w.claim()
	got, err := readTrust(want.name)
	guide = err == nil && got.Dir == want.Dir && got.Guide == want.Guide
	got.Guide = want.Guide
	return err == nil && got == want, guide
}

// record trusts the workspace as it is.
func (w *stranger) record() error {
	if w.store == "" {
		return errors.New("there is no state folder outside the workspace to record trust in; set XDG_STATE_HOME, or use --trust-workspace for each run")
	}
	t := w.claim()
	return saveFile(t.name, append(rawjson.Encode(t), '\n'), true)
}

// readTrust reads a record that only this user can have written.
func readTrust(name string) (t trustRecord, err error) {
	info, err := os.Lstat(name)
	if err != nil {
		return t, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || ownerOf(name) != os.Geteuid() {
		return t, fmt.Errorf("%s: others may have written it; delete it", name)
	}
	data, err := readRegular(name)
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	t.name = name
	return t, err
}

// trustRecords returns the records that can be read, and an error for the others.
func trustRecords(dir string) (all []trustRecord, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, name := range names {
		t, broken := readTrust(name)
		if broken != nil && !errors.Is(broken, fs.ErrNotExist) {
			err = errors.Join(err, broken)
			continue
		}
		all = append(all, t)
	}
	return all, err
}
