package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"textskill/cmd/skill/contrib"
	"textskill/internal/usage"
	"textskill/parser/rawjson"
	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/dialect"
	"textskill/skill/hook"
)

// How long a host waits for its hook at most: longer only before a command, when all files are looked at.
const (
	hookTime        = 1800 * time.Millisecond
	hookTimeCommand = 7800 * time.Millisecond
	hookGrace       = 150 * time.Millisecond // for what has to end when the time is over
)

func (c *cli) hookCommand(*configuration) *cobra.Command {
	var o workspaceOptions
	cmd := &cobra.Command{
		Use:   "hook [flags] HOST",
		Short: "Record the changes of another agent, which calls this from its hooks",
		Long: `hook records what the tools of another agent change, so that you can undo it. The agent
calls hook before and after each tool, with a JSON event on standard input. To have the
agent do that, type "skill setup HOST --hooks". hook prints nothing. It always ends
in time with exit code 0, so that it never blocks the agent.
"skill doctor" shows its errors.`,
		Example: "  skill hook claude-code < event.json",
		Args:    usage.Arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.hook(cmd, &o, cmp.Or(append(args, "")...))
			return nil
		},
	}
	only(cmd.Flags(), o.addPlace, "workspace")
	o.addUndo(cmd.Flags())
	return cmd
}

// hook records one event within its time.
func (c *cli) hook(cmd *cobra.Command, w *workspaceOptions, host string) {
	note := hookNote{Host: host, Last: time.Now()}
	h := &hooked{c: c, w: w, cmd: cmd, note: note, command: make(chan struct{}), sessions: c.getenv.hookSessions(w)}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	unread := h.note
	done := make(chan error, 1)
	go func() { done <- h.record(ctx, host) }() // it ends with the program at the latest
	soon := time.AfterFunc(hookTime, cancel)
	late := time.NewTimer(hookTime + hookGrace)
	before := h.command
	for {
		select {
		case <-before: // there is more time
			before = nil
			soon.Reset(hookTimeCommand)
			late.Reset(hookTimeCommand + hookGrace)
			continue
		case err := <-done:
			h.keep(h.note, err)
		case <-late.C:
			h.keep(unread, context.Canceled)
		}
		return
	}
}

// hooked is the call of a hook.
type hooked struct {
	c       *cli
	w       *workspaceOptions
	cmd     *cobra.Command
	note    hookNote
	command chan struct{} // closed once it is known that a command is about to run

	sessions hook.Sessions
}

func (h *hooked) record(ctx context.Context, host string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	payload, err := io.ReadAll(io.LimitReader(h.c.stdin, hook.MaxPayload+1))
	if err != nil {
		return err
	}
	e, err := hook.Read(payload, host, h.c.getenv)
	if errors.Is(err, hook.ErrOther) {
		h.sessions.Join(&e)
		return nil
	}
	if err != nil {
		return err
	}
	if e.Phase == hook.Before && e.Kind == hook.Command {
		close(h.command)
	}
	e.From(hook.Ancestors())
	e.Transcript = h.c.getenv.transcript(e)
	h.note.Host = cmp.Or(e.Host, host)
	if recorded := h.sessions.Join(&e); h.isOwn(e) || !recorded {
		return nil
	}
	if e.Workspace, err = h.workspace(e); err != nil {
		return err
	}
	if e.Dir == "" {
		e.Dir = e.Workspace
	}
	h.note.Event, h.note.Tool, h.note.Workspace = string(e.Phase), e.Tool, e.Workspace
	h.note.session = e.Session
	for _, dir := range h.worked(e) {
		err = errors.Join(err, h.tell(ctx, e, dir))
	}
	return err
}

// tell gives an event to the history of a workspace.
func (h *hooked) tell(ctx context.Context, e hook.Event, dir string) error {
	h.w.Dir = dir
	quiet := *h.c
	quiet.stderr = io.Discard
	var set configuration
	err := errors.Join(quiet.configureByUser(h.cmd, &set, false),
		quiet.configureByWorkspace(h.cmd, &set, false))
	if err != nil {
		return err
	}
	x, err := quiet.executor(h.w)
	if err != nil {
		return err
	}
	defer x.Close()
	redactor := agent.NewRedactor((&variables{}).secrets())
	return e.Tell(ctx, x.Recorder(redactor.Text))
}

// workspace returns the folder whose history gets an event: the one of the command line, or its place.
func (h *hooked) workspace(e hook.Event) (string, error) {
	if h.w.Dir != "" {
		return filepath.Abs(h.w.Dir)
	}
	if !filepath.IsAbs(e.Workspace) {
		at, err := os.Getwd()
		if err != nil {
			return "", err
		}
		e.Workspace, e.Named = at, false
	}
	if !filepath.IsAbs(e.Dir) {
		e.Dir = e.Workspace
	}
	return h.place(e), nil
}

// nearest returns the nearest folder at or above one that has a history or is a repository, but for the
// home folder and the top; else the folder itself.
func (env environment) nearest(w *workspaceOptions, dir string) string {
	home, err := os.Stat(env("HOME"))
	isHome := func(at string) bool {
		info, aerr := os.Stat(at)
		return err == nil && aerr == nil && os.SameFile(info, home)
	}
	for at := filepath.Clean(dir); !isHome(at) && filepath.Dir(at) != at; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil ||
			skill.HasHistory(at, env.historyDir(w)) {
			return at
		}
	}
	return filepath.Clean(dir)
}

// maxSessionFolders is how many workspaces of a session are remembered.
const maxSessionFolders = 16

// place returns the workspace of an event: the session's first one if the agent is at or below its folder,
// else the nearest one of the agent's folder. e.Workspace is the project's folder if the host names it, else
// the agent's.
func (h *hooked) place(e hook.Event) string {
	first, at := e.Workspace, e.Dir
	if !e.Named {
		r := h.sessions.Change(e.Session, func(r *hook.Session) {
			if r.Host = e.Host; r.First == "" {
				r.First = e.Workspace
			}
		})
		first = r.First
	}
	if !isBelow(at, first) {
		first = at
	}
	return h.c.getenv.nearest(h.w, first)
}

// isBelow reports whether a folder is dir or lies below dir.
func isBelow(folder, dir string) bool {
	rel, err := filepath.Rel(realDir(dir), realDir(folder))
	return err == nil && filepath.IsLocal(rel)
}

// worked adds the workspace of an event to the session's, and returns all that the event is about: an end
// ends calls in each of them.
func (h *hooked) worked(e hook.Event) []string {
	r := h.sessions.Change(e.Session, func(r *hook.Session) {
		known := slices.Contains(r.Folders, e.Workspace)
		if r.Host = e.Host; !known && e.Phase == hook.Before && len(r.Folders) < maxSessionFolders {
			r.Folders = append(r.Folders, e.Workspace)
		}
		if e.Phase == hook.SessionEnd {
			r.Spawns = 0
		}
	})
	if e.Phase == hook.Before || e.Phase == hook.After {
		return []string{e.Workspace}
	}
	list := r.Folders
	if !slices.Contains(list, e.Workspace) {
		list = append(list, e.Workspace)
	}
	return slices.DeleteFunc(list, func(dir string) bool {
		return !skill.HasHistory(dir, h.c.getenv.historyDir(h.w))
	})
}

// otherFolders returns the other workspaces in which a session has worked.
func (env environment) otherFolders(w *workspaceOptions, session, here string) []string {
	s := env.hookSessions(w)
	r, _ := s.Load(s.Root(session))
	return slices.DeleteFunc(r.Folders, func(dir string) bool { return realDir(dir) == realDir(here) })
}

// saySession says where else sessions have worked, and the command to type there.
func (c *console) saySession(w *workspaceOptions, here, tool string, ids ...string) {
	for _, id := range ids {
		r, _ := c.getenv.hookSessions(w).Load(id)
		for _, apart := range r.Apart {
			c.sayf("session %s also had the sub-agent %s; type: %s", id, apart, c.again(w, tool, "--run", apart))
		}
		for _, dir := range c.getenv.otherFolders(w, id, here) {
			there := *w
			there.Dir = dir
			c.sayf("session %s also worked in %s; type: %s", id, dir, c.again(&there, tool, "--run", id))
		}
	}
}

// saySilent says which hosts' newest sessions in a workspace did not tell the hook of their calls.
func (c *console) saySilent(w *workspaceOptions, workspace string) {
	for _, s := range hook.Setups {
		if line := c.getenv.silent(w, &s, workspace); line != "" {
			c.say(line)
		}
	}
}

// sayWorktrees says which worktrees of sub-agents stay after an undo of files in them. Their host made them.
func (c *console) sayWorktrees(dir string, done skill.Reverted) {
	var said []string
	for _, change := range done.Changes {
		for at := filepath.Dir(change.Path); isBelow(at, dir) && filepath.Dir(at) != at; at = filepath.Dir(at) {
			info, err := os.Lstat(filepath.Join(at, ".git"))
			if filepath.Base(filepath.Dir(at)) == "worktrees" && err == nil && info.Mode().IsRegular() &&
				!slices.Contains(said, at) {
				said = append(said, at)
			}
		}
	}
	for _, at := range said {
		c.sayf("the worktree %s and its branch stay; to remove it, type: git worktree remove --force %s", at,
			shellWord(at))
	}
}

// noSession returns an error that says where to look for the changes of a session that changed nothing here;
// nil for a session that is not known.
func (c *console) noSession(w *workspaceOptions, here, tool, id string) error {
	s := c.getenv.hookSessions(w)
	root := s.Root(id)
	there := *w
	if root != id {
		return fmt.Errorf("session %s is a sub-agent's of session %s; type: %s", id, root,
			c.again(&there, tool, "--run", root))
	}
	for _, dir := range c.getenv.otherFolders(w, id, here) {
		there.Dir = dir
		return fmt.Errorf("session %s changed nothing here, it worked in %s; type: %s", id, dir,
			c.again(&there, tool, "--run", id))
	}
	return nil
}

// sessionsOf returns the sessions of changes, at most 20.
func sessionsOf(list skill.Changes) (ids []string) {
	for _, e := range list.List {
		if e.Run != "" && !slices.Contains(ids, e.Run) && len(ids) < 20 {
			ids = append(ids, e.Run)
		}
	}
	return ids
}

// isOwn reports whether an event is of a call of this program's MCP server, which records it. The hook
// writes down which session makes the call.
func (h *hooked) isOwn(e hook.Event) bool {
	knows := func(d *dialect.Dialect) bool { return d.Lookup(e.Own) != nil }
	if e.Own == "" || !slices.ContainsFunc(dialect.All, knows) {
		return false
	}
	h.c.getenv.hookCalls(h.w).Note(e)
	return true
}

// transcript returns the file in which the host writes a session down, if it is a regular file in the
// host's own folder.
func (env environment) transcript(e hook.Event) string {
	folder := hook.Folder(e.Host, env)
	if folder == "" || !filepath.IsAbs(e.Transcript) {
		return ""
	}
	info, err := os.Lstat(e.Transcript)
	if err != nil || !info.Mode().IsRegular() || !isBelow(e.Transcript, folder) {
		return ""
	}
	return e.Transcript
}

// hookDir returns the folder of what is known of hooks.
func (env environment) hookDir(w *workspaceOptions) string {
	return filepath.Join(cmp.Or(env.historyDir(w), env.stateDir()), "hooks")
}

func (env environment) hookSessions(w *workspaceOptions) hook.Sessions {
	return hook.Sessions(filepath.Join(env.hookDir(w), "sessions"))
}

func (env environment) hookCalls(w *workspaceOptions) hook.Calls {
	return hook.Calls(filepath.Join(env.hookDir(w), "calls"))
}

// A hookNote is what is known of the hooks of a host.
type hookNote struct {
	Host      string        `json:"host"`
	Last      time.Time     `json:"last"` // when the last event came
	Event     string        `json:"event,omitempty"`
	Tool      string        `json:"tool,omitempty"`
	Workspace string        `json:"workspace,omitempty"`
	Problems  []hookProblem `json:"problems,omitempty"` // the last ones, the newest last

	session string // of the event
}

type hookProblem struct {
	Time time.Time `json:"time"`
	What string    `json:"what"`
}

// unknownHost stands for hosts whose events are not known.
const unknownHost = "unknown"

// maxProblems is how many problems of a host are kept.
const maxProblems = 5

// keep writes down that an event came, and what went wrong.
func (h *hooked) keep(n hookNote, problem error) {
	h.missed(n, problem)
	switch late := errors.Is(problem, context.Canceled); {
	case h.cmd.Context().Err() != nil:
		problem = errors.New("the host stopped the hook before it was done")
	case late && n.Event == string(hook.Before):
		problem = errors.New("it took too long to look at the files of the workspace")
	case late:
		problem = errors.New("it took too long")
	}
	if !slices.Contains(hook.Hosts(), n.Host) {
		problem, n.Host = cmp.Or(problem, fmt.Errorf("%.40q is not a host", n.Host)), unknownHost
	}
	file := filepath.Join(h.c.getenv.hookDir(h.w), n.Host+".json")
	old := readHookNote(file)
	n.Problems = old.Problems
	if n.Event == "" { // it was of no call
		n.Event, n.Tool, n.Workspace = old.Event, old.Tool, old.Workspace
	}
	if problem != nil {
		what := []rune(problem.Error())
		n.Problems = append(n.Problems, hookProblem{n.Last, string(what[:min(len(what), 500)])})
		n.Problems = n.Problems[max(0, len(n.Problems)-maxProblems):]
	}
	saveFile(file, rawjson.Encode(n), false) // a host is not told that the disk is full
}

// missed marks the history of a call that could not be recorded. A call that took too long is not missed if its
// begin or its end is recorded later.
func (h *hooked) missed(n hookNote, problem error) {
	before, after := n.Event == string(hook.Before), n.Event == string(hook.After)
	if problem == nil || n.Workspace == "" || !before && !after {
		return
	}
	state := h.c.getenv.historyDir(h.w)
	late := errors.Is(problem, context.Canceled)
	if late && (before || skill.CallsOpen(n.Workspace, state)) {
		return
	}
	why, _, _ := strings.Cut(problem.Error(), "\n")
	// a host is not told where no mark can be written
	skill.MarkMissed(n.Workspace, state, skill.Missed{Time: n.Last.UTC(), Host: n.Host, Session: n.session, Why: why})
}

func readHookNote(file string) (n hookNote) {
	if data, err := readRegular(file); err == nil {
		json.Unmarshal(data, &n) // one that is broken says nothing
	}
	return n
}

// hookReport says in a line for each host whether it is set up to call the hook, and when it did last.
func (env environment) hookReport(w *workspaceOptions) (lines []string) {
	program, err := os.Executable()
	if err != nil {
		return nil
	}
	for _, s := range hook.Setups {
		n := readHookNote(filepath.Join(env.hookDir(w), s.Host+".json"))
		state := env.setupState(w, &s, program)
		if (state == "" || s.As != "") && n.Last.IsZero() {
			continue
		}
		state = cmp.Or(state, "none are set up")
		lines = append(lines, fmt.Sprintf("hooks of %s: %s; %s", s.Title, state, n.seen()))
		if silent := env.silent(w, &s, ""); silent != "" {
			lines = append(lines, "  "+silent)
		}
		lines = append(lines, n.problems()...)
	}
	for _, host := range append(hook.Hosts(), unknownHost) {
		n := readHookNote(filepath.Join(env.hookDir(w), host+".json"))
		if hook.SetupOf(host) == nil && !n.Last.IsZero() {
			lines = append(lines, fmt.Sprintf("hooks of %s: %s", host, n.seen()))
			lines = append(lines, n.problems()...)
		}
	}
	return lines
}

// silent says that the newest session of a host, in a workspace if that is not "", did not tell the hook of its
// calls; "" if it did. Such a session may have changed files, and nothing is recorded.
func (env environment) silent(w *workspaceOptions, s *hook.Setup, workspace string) string {
	if s.Skips == "" || env.isSetUp(s) == nil {
		return ""
	}
	var in func(string) bool
	if workspace != "" {
		in = func(first string) bool { return realDir(env.nearest(w, first)) == realDir(workspace) }
	}
	all := env.hookSessions(w)
	id, at := "", time.Time{}
	if r, began, ok := all.Silent(s.Host, in); ok {
		id, at = r.ID, began
	}
	if t, ok := s.Newest(env, workspace); ok && t.Time.After(*env.isSetUp(s)) {
		if _, known := all.Load(t.Session); !known {
			id, at = t.Session, t.Time
		}
	}
	if id == "" {
		return ""
	}
	return fmt.Sprintf("session %s of %s (%s) told of no call, so nothing of it is recorded; %s", id, s.Title,
		at.Local().Format(time.DateTime), s.Skips)
}

// isSetUp returns when a host was told to call the hook, nil if it was not.
func (env environment) isSetUp(s *hook.Setup) *time.Time {
	h, err := env.hookPlace(s, "", "")
	if err != nil || h.file == "" || bytes.Equal(h.before, h.after) {
		return nil
	}
	info, err := os.Stat(h.file)
	if err != nil {
		return nil
	}
	at := info.ModTime()
	return &at
}

// setupState says whether a host is set up; "" if it is not.
func (env environment) setupState(w *workspaceOptions, s *hook.Setup, program string) string {
	own, err := env.ownState(w)
	if err != nil {
		return err.Error()
	}
	h, err := env.hookPlace(s, "", own)
	if err != nil {
		return err.Error()
	}
	where := h.file
	if h.files != nil && h.home != "" {
		missing, err := h.files.Missing(h.home, program)
		if err != nil || len(missing) > 0 {
			return ""
		}
		where = cmp.Or(where, filepath.Join(h.home, h.files.Folder()))
	}
	switch {
	case h.file == "":
		return "set up in " + where
	case bytes.Equal(h.before, h.after):
		return ""
	case !bytes.Contains(h.before, []byte(program)):
		return "another program than this one is set up in " + where
	}
	return "set up in " + where
}

func (n hookNote) seen() string {
	switch {
	case n.Last.IsZero():
		return "no event has come yet"
	case n.Event == "":
		return "the last event came " + n.Last.Local().Format(time.DateTime)
	}
	what, at := strings.TrimSpace(n.Event+" "+n.Tool), n.Last.Local().Format(time.DateTime)
	return fmt.Sprintf("the last event came %s: %s in %s", at, what, n.Workspace)
}

func (n hookNote) problems() (lines []string) {
	for _, p := range n.Problems {
		at := p.Time.Local().Format(time.DateTime)
		lines = append(lines, fmt.Sprintf("  an event was not recorded at %s: %s", at, p.What))
	}
	return lines
}

// hookNames returns the hosts that can be told to call the hook.
func hookNames() (names []string) {
	for _, s := range hook.Setups {
		names = append(names, s.Host)
	}
	return names
}

// A hookPlace is where a host is told to call the hook.
type hookPlace struct {
	*hook.Setup
	files         *contrib.Package // of the host's own; nil if it has none
	home          string
	file          string // "" if it has none that others write too
	before, after []byte
}

// hookPlace reads the file of a host. program is what it shall call, "" is to call nothing.
func (env environment) hookPlace(s *hook.Setup, program, state string) (h hookPlace, err error) {
	h.Setup, h.files = s, contrib.HookOf(s.Host, state)
	p, err := env.places()
	if h.home = p.home; err != nil || s.File == "" {
		return h, err
	}
	if h.file, h.before, err = readHost(filepath.Join(p.home, filepath.FromSlash(s.File))); err != nil {
		return h, err
	}
	var events []hook.Member
	if program != "" {
		if state != "" {
			state = shellWord(state)
		}
		events = s.Events(shellWord(program), program, state)
	}
	if h.after, err = editHooks(h.before, s, events); err != nil {
		err = fmt.Errorf("%s: %w; the file is left as it is: mend it, and type this again", h.file, err)
	}
	return h, err
}

// setupHooks is skill setup --hooks.
func (c *console) setupHooks(o *setupOptions, name string) error {
	s := hook.SetupOf(name)
	if s == nil {
		names := strings.Join(hookNames(), ", ")
		return fmt.Errorf("%q is not a host of hooks; the hosts are %s", name, names)
	}
	program, err := os.Executable()
	if err != nil {
		return c.failed(err)
	}
	state, err := c.getenv.ownState(&o.workspaceOptions)
	if err != nil {
		return c.failed(err)
	}
	if o.remove {
		program = ""
	}
	h, err := c.getenv.hookPlace(s, program, state)
	if err == nil && s.Host == "codex" && !o.remove {
		err = noHooksInTOML(filepath.Join(h.home, ".codex", "config.toml"))
	}
	if err != nil {
		return c.failed(err)
	}
	if o.show {
		c.stdout.Write(h.after)
		if h.files != nil {
			return c.printPackage(h.files, program)
		}
		return nil
	}
	return c.failed(c.writeHooks(h, program))
}

// writeHooks shows what changes in the files of a host, changes them, and says what is left to do.
func (c *console) writeHooks(h hookPlace, program string) error {
	changed := !bytes.Equal(h.before, h.after)
	if changed {
		fmt.Fprint(c.stdout, skill.Unified(h.file, h.file, h.before, h.after))
		if h.Own && program == "" {
			if err := os.Remove(h.file); err != nil {
				return err
			}
		} else if _, err := replaceFile(h.file, h.before, h.after); err != nil {
			return err
		}
	}
	if h.files != nil {
		put, err := c.putPackage(h.files, h.home, program)
		if err != nil {
			return err
		}
		changed = changed || put
	}
	switch untried := " (as its documentation says; not tried with " + h.Title + " itself)"; {
	case program == "" && changed:
		fmt.Fprintln(c.stdout, h.Title, "no longer calls the hook")
	case program == "":
		fmt.Fprintln(c.stdout, h.Title, "has no hooks of this program")
	case !changed:
		fmt.Fprintln(c.stdout, h.Title, "calls the hook already")
	case h.Tried:
		fmt.Fprintf(c.stdout, "%s calls the hook\n%s\n", h.Title, h.Then)
	default:
		fmt.Fprintf(c.stdout, "%s calls the hook%s\n%s\n", h.Title, untried, h.Then)
	}
	return nil
}
