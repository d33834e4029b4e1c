package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"textskill/cmd/skill/contrib"
	"textskill/internal/usage"
	"textskill/skill"
	"textskill/skill/hook"
)

const doctorLong = `doctor shows where the history of the workspace is, its size, and its damage. It shows the
sandbox of commands on this machine, and the hosts that commands reach. It shows which
agents have hooks, and when the last event came. Without --fix it changes nothing.

With --fix it repairs these, and prints each repair:

  an agent's configuration that starts a skill which has moved
  hooks that call a skill which has moved
  a history that other users of this machine can read
  marks of calls that were not recorded: it removes them

With --endpoint it shows what the endpoints of models have refused in the last seven days,
and how much text they accept. --endpoint=forget deletes these records.

With --fence it lists what commands can read and write, and which variables they do not
get. Add the flags that you give your commands, such as --allow-domain.`

// doctorOptions are the flags of skill doctor.
type doctorOptions struct {
	workspaceOptions
	endpoint   string
	fence, fix bool
}

func (c *cli) doctorCommand(*configuration) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:     "doctor [flags]",
		Short:   "Check the history, the sandbox and the hooks",
		Long:    doctorLong,
		Example: "  skill doctor\n  skill doctor --fix\n  skill doctor -C ~/project\n  skill doctor --fence --allow-domain npm\n  skill doctor --endpoint",
		Args:    usage.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.endpoint != "" {
				return c.failed(c.endpoints(o.endpoint == "forget"))
			}
			return c.onHistory(&o.workspaceOptions, func(x *skill.Executor) error {
				if o.fence {
					_, err := fmt.Fprintln(c.stdout, x.FenceReport().Message())
					return err
				}
				return c.examine(cmd.Context(), &o, x)
			})
		},
	}
	f := cmd.Flags()
	f.Var(choice[string]{&o.endpoint, "WHAT", []string{"show", "forget"}}, "endpoint",
		"show what the endpoints of models have refused, or forget it")
	f.Lookup("endpoint").NoOptDefVal = "show"
	f.BoolVar(&o.fix, "fix", false, "repair what doctor can repair")
	f.BoolVar(&o.fence, "fence", false, "list what commands may write and read")
	o.addPlace(f)
	only(f, o.addUndo, "state")
	only(f, o.addNetwork, "network", "allow-domain", "deny-domain", "allow-local")
	only(f, o.addSandbox, "share-cache", "fence-read", "fence-write", "pass-env")
	only(f, o.addWorkspace, "allow-config")
	return cmd
}

// examine prints how the workspace and the machine are, and mends what it can with fix.
func (c *console) examine(ctx context.Context, o *doctorOptions, x *skill.Executor) error {
	missed := c.missedFault(ctx, &o.workspaceOptions, x.Dir())
	found, err := x.Inspect(ctx)
	if err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrPermission) {
			dir := at.Path
			if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
				dir = filepath.Dir(dir)
			}
			missed = append(missed, unwritable(dir, at.Path)...)
		}
		for _, f := range missed {
			c.sayf("%s", f.what)
		}
		return err
	}
	health, err := x.Execute(ctx, &skill.Session{}, skill.Health{})
	if err != nil {
		return err
	}
	var dirs []string
	for _, r := range found.List {
		dirs = append(dirs, filepath.Join(r.Place.Path, r.Place.Key))
	}
	lines, failed := c.treat(append(missed, c.faults(o.Dir, dirs)...), o.fix)
	first := []string{found.Message(), x.TrialReport(found)}
	lines = slices.Concat(first, c.getenv.hookReport(&o.workspaceOptions), lines, []string{
		fmt.Sprintf("the fence of commands is %s", health.(skill.HealthReport).Fence), reach(o.Config),
		ofPath(c.shortName(), c.getenv("PATH")),
	})
	_, err = fmt.Fprintln(c.stdout, strings.Join(lines, "\n"))
	return errors.Join(err, failed)
}

// reach says which hosts tools and commands may connect to.
func reach(cfg skill.Config) string {
	text := "tools and commands may reach "
	switch {
	case cfg.Network && cfg.Private:
		return text + "every address"
	case cfg.Network:
		text += "every public address"
	case len(cfg.AllowDomains) > 0:
		text += strings.Join(cfg.AllowDomains, ", ")
	case len(cfg.AllowLocal) == 0:
		return text + "no host: --allow-domain HOST or --network lets them"
	default:
		text += "no host"
	}
	if len(cfg.DenyDomains) > 0 {
		text += ", but not " + strings.Join(cfg.DenyDomains, ", ")
	}
	for _, port := range cfg.AllowLocal {
		text += fmt.Sprintf(", and port %d of this machine", port)
	}
	return text
}

// ofPath says which program PATH finds under a name: Debian's procps has another skill.
func ofPath(name, path string) string {
	self, err := os.Executable()
	if err != nil {
		return err.Error()
	}
	switch file := onPath(name, path); {
	case file == "":
		return "PATH finds no " + name + "; type " + self
	case sameFile(file, self):
		return "PATH finds this program: " + file
	default:
		return "PATH finds another " + name + ", " + file + "; type " + self
	}
}

// onHistory opens the workspace for what is about its history.
func (c *cli) onHistory(w *workspaceOptions, do func(x *skill.Executor) error) error {
	x, err := c.historian(w)
	if err != nil {
		return err
	}
	defer x.Close()
	return c.failed(do(x))
}

// historian opens the workspace for what needs a history that is there: it makes no folder for one.
func (c *cli) historian(w *workspaceOptions) (*skill.Executor, error) {
	dir, by := w.State, "--state"
	if dir == "" {
		dir, by = c.getenv("SKILL_STATE"), "SKILL_STATE"
	}
	if _, err := os.Stat(dir); dir != "" && errors.Is(err, fs.ErrNotExist) {
		return nil, c.failed(fmt.Errorf("the folder %s does not exist; %s has to name the folder that holds the history", dir, by))
	}
	return c.executor(w)
}

// A fault is what doctor finds wrong.
type fault struct {
	what string
	mend func() error // nil if only the user can
}

// faults returns what doctor can mend. dirs are the folders of histories.
func (c *console) faults(workspace string, dirs []string) (faults []fault) {
	program, err := os.Executable()
	if err != nil {
		return nil
	}
	for _, dir := range dirs {
		faults = append(faults, unwritable(dir, filepath.Join(dir, "lock"), filepath.Join(dir, "log"))...)
	}
	return slices.Concat(faults, openFolders(append(dirs, c.getenv.stateDir())), c.movedServers(workspace, program),
		c.movedHooks(program))
}

// unwritable returns what keeps this user from writing the first of a history's folder and files: nothing is
// recorded then. The folder need not exist.
func unwritable(dir string, files ...string) []fault {
	fails := func(format string, args ...any) []fault {
		return []fault{{what: "nothing can be recorded: " + fmt.Sprintf(format, args...)}}
	}
	for _, name := range append([]string{dir}, files...) {
		at := name
		if name == dir {
			at = existing(dir)
		}
		err := mayWrite(at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		info, _ := os.Lstat(at)
		owner, me := ownerOf(at), os.Geteuid()
		switch {
		case errors.Is(err, syscall.EROFS):
			return fails("%s is on a disk that is mounted read-only; --state DIR names another folder", at)
		case at == name && me != 0 && owner >= 0 && owner != me:
			return fails("%s belongs to the user %d; \"sudo chown -R %d %s\" gives it back", at, owner, me,
				skill.ShellWord(dir))
		case at == name && me != 0 && info != nil && info.Mode()&0o200 == 0:
			list := fails("%s may not be written", at)
			list[0].mend = func() error { return makeWritable(dir) }
			return list
		case err != nil:
			return fails("%s may not be written; --state DIR names another folder", at)
		}
	}
	return nil
}

// existing returns the nearest folder at or above a path that exists.
func existing(path string) string {
	for {
		_, err := os.Lstat(path)
		if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// makeWritable lets this user write a folder and all in it.
func makeWritable(dir string) error {
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() && !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			err = os.Chmod(name, info.Mode().Perm()|0o200)
		}
		return err
	})
}

// openFolders returns the folders that other users of the machine can look into.
func openFolders(dirs []string) (list []fault) {
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if runtime.GOOS == "windows" || err != nil || !info.IsDir() || info.Mode()&0o077 == 0 {
			continue
		}
		what := fmt.Sprintf("other users of this machine can look into %s, which holds contents of files", dir)
		list = append(list, fault{what, func() error { return os.Chmod(dir, info.Mode().Perm()&^0o077) }})
	}
	return list
}

// isGone reports whether an absolute path names nothing.
func isGone(program string) bool {
	_, err := os.Stat(program)
	return filepath.IsAbs(program) && errors.Is(err, fs.ErrNotExist)
}

// movedServers returns the hosts that start a program which is not there.
func (c *console) movedServers(workspace, program string) (list []fault) {
	p, err := c.getenv.places()
	if err != nil {
		return nil
	}
	for _, h := range hosts {
		names := []string{h.file(p)}
		if h.inside != "" {
			names = append(names, filepath.Join(workspace, filepath.FromSlash(h.inside)))
		}
		for _, name := range names {
			file, before, err := readHost(name)
			if err != nil || len(before) == 0 {
				continue
			}
			words, err := h.command(before)
			if err != nil || len(words) == 0 || !isGone(words[0]) {
				continue
			}
			what := fmt.Sprintf("%s starts %s, which is not there, by %s", h.title, words[0], file)
			list = append(list, fault{what, func() error {
				after, err := h.edit(before, h.entry(program, words[1:]))
				if err == nil {
					_, err = replaceFile(file, before, after)
				}
				return err
			}})
		}
	}
	return list
}

// movedHooks returns the hosts whose hooks call a program which is not there.
func (c *console) movedHooks(program string) (list []fault) {
	for i := range hook.Setups {
		s := &hook.Setups[i]
		h, err := c.getenv.hookPlace(s, "", "")
		if err != nil || bytes.Equal(h.before, h.after) {
			continue
		}
		line := regexp.MustCompile(`"((?:[^"\\]|\\.)+?) hook ` + regexp.QuoteMeta(s.Host) +
			`(?: --state ('[^']*'|\S+))? 2>`).FindSubmatch(h.before)
		if line == nil || !isGone(shellUnquoted(string(line[1]))) {
			continue
		}
		state := string(line[2])
		what := fmt.Sprintf("hooks of %s call %s, which is not there, by %s", s.Title,
			shellUnquoted(string(line[1])), h.file)
		list = append(list, fault{what, func() error {
			h, err := c.getenv.hookPlace(s, program, state)
			if err == nil {
				_, err = replaceFile(h.file, h.before, h.after)
			}
			return err
		}})
	}
	return append(list, c.movedFiles(program)...)
}

// shellUnquoted returns a word as it was before shellWord.
func shellUnquoted(word string) string {
	if inside, ok := strings.CutPrefix(word, "'"); ok {
		word = strings.ReplaceAll(strings.TrimSuffix(inside, "'"), `'\''`, "'")
	}
	return word
}

// movedFiles returns the hosts for which a file of this program calls one that is not there.
func (c *console) movedFiles(program string) (list []fault) {
	p, err := c.getenv.places()
	state, serr := c.getenv.ownState(&workspaceOptions{})
	if err != nil || serr != nil {
		return nil
	}
	named := regexp.MustCompile(`(?m)(?:^|["' ])(/[^"'\n]*skill)["' ]`)
	for _, s := range hook.Setups {
		files := contrib.HookOf(s.Host, state)
		if files == nil {
			continue
		}
		missing, err := files.Missing(p.home, program)
		if err != nil {
			continue
		}
		for _, name := range missing {
			name = filepath.Join(p.home, filepath.FromSlash(name))
			text, err := os.ReadFile(name)
			called := named.FindSubmatch(text)
			if err != nil || called == nil || !isGone(string(called[1])) {
				continue
			}
			what := fmt.Sprintf("hooks of %s call %s, which is not there, by %s", s.Title, called[1], name)
			list = append(list, fault{what, func() error {
				_, err := files.Install(p.home, program)
				return err
			}})
			break
		}
	}
	return list
}

// treat says what is wrong, and mends it with fix.
func (c *console) treat(list []fault, fix bool) (lines []string, err error) {
	for _, f := range list {
		switch {
		case f.mend == nil:
			lines = append(lines, f.what)
		case !fix:
			lines = append(lines, f.what+"; "+c.program()+" doctor --fix mends it")
		default:
			if mendErr := f.mend(); mendErr != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", f.what, mendErr))
				continue
			}
			lines = append(lines, "mended: "+f.what)
		}
	}
	return lines, err
}

// missedCalls describes calls that were not recorded, "" if there are none.
func missedCalls(list []skill.Missed) string {
	if len(list) == 0 {
		return ""
	}
	last := list[len(list)-1]
	text := "at " + last.Time.Local().Format(time.DateTime)
	if last.Host != "" {
		text += " by " + last.Host
	}
	if last.Session != "" {
		text += " in session " + last.Session
	}
	if last.Why != "" {
		text += ": " + last.Why
	}
	return text
}

// missedFault returns what doctor says of calls that were not recorded.
func (c *console) missedFault(ctx context.Context, w *workspaceOptions, dir string) (list []fault) {
	state := c.getenv.historyDir(w)
	missed, err := skill.MissedCalls(ctx, dir, state)
	if err != nil || len(missed) == 0 {
		return nil
	}
	what := "a mark says that calls were not recorded, the last one " + missedCalls(missed)
	return []fault{{what, func() error { return skill.ClearMissed(dir, state) }}}
}

// sayMissed says which calls in a folder are not in its history.
func (c *console) sayMissed(ctx context.Context, w *workspaceOptions, dir string) {
	missed, err := skill.MissedCalls(ctx, dir, c.getenv.historyDir(w))
	if text := missedCalls(missed); err == nil && text != "" {
		c.sayf("calls were not recorded, and are not in this list; the last one %s; \"%s doctor --fix\" forgets them", text, c.program())
	}
}
