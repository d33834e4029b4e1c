// Package git runs the git program on repositories in the workspace, and prevents it
// from running the programs that a repository configures: hooks, filters, signers,
// editors.
//
// git runs inside the fence: it may write the workspace only, and reach only the remote
// that was named.
//
//	git.go         run one git command           repository.go  find a repository and check it
//	config.go      settings and refused ones     remote.go      push and pull
//	user.go        what git gets of the user's configuration, and of the user's logins
package git

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"textskill/skill/internal/process"
	"textskill/skill/internal/web"
	"textskill/skill/internal/words"
	"textskill/skill/internal/workspace"
)

// Config configures a Git. The zero Config allows nothing.
type Config struct {
	Allow      []string // additional directories of the workspace
	AllowHooks bool     // let git run the programs that a repository configures
	AllowSSH   bool     // reach remotes over ssh, with the keys of the user's agent
}

// A Git works on the repositories of one workspace. Its methods find the repository
// that contains the directory dir; a relative dir starts at base. It is safe for
// concurrent use.
type Git struct {
	cfg     Config
	ws      *workspace.Workspace
	process *process.Runner
	web     *web.Client
}

// New returns a Git that runs programs with p and reaches the remotes that w may reach.
func New(cfg Config, ws *workspace.Workspace, p *process.Runner, w *web.Client) *Git {
	return &Git{cfg, ws, p, w}
}

// On returns a Git like x that works in ws and runs programs with p.
func (x *Git) On(ws *workspace.Workspace, p *process.Runner) *Git { return &Git{x.cfg, ws, p, x.web} }

// Time limits of a git command.
const (
	commandTimeout = 30 * time.Second
	remoteTimeout  = 60 * time.Second // of a command that talks to a remote
)

// How many bytes of git's output are kept of each stream.
const (
	maxOutput  = 256 << 10
	maxListing = 16 << 20 // of output that this package parses
)

// An Error reports a git command that failed.
type Error struct {
	Command  string // "commit"
	ExitCode int    // -N if signal N ended it
	Output   string // its standard output, then its standard error
	Words    string // the part of Output that says why, or how git ended if it printed nothing
	Hint     string // what the caller can do; "" if unknown
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Words
	}
	return e.Words + "; " + e.Hint
}

// A command is one git command and how it is run.
type command struct {
	args      []string      // the command first
	env       []string      // added to the repository's
	limit     time.Duration // 0 means commandTimeout
	maxOutput int64         // 0 means maxOutput
	patterns  bool          // pathspecs may be patterns; otherwise they are literal
	asUser    bool          // git reads the user's configuration itself, and may write nothing
	needs     process.Needs // in addition to the needs of every command
}

// git runs c in the repository. If git fails, the error is an [*Error], and the output
// is still returned.
func (r *repository) git(ctx context.Context, c command) (process.Executed, error) {
	env := process.SetVariables(slices.Concat(r.env, r.settings()), append(r.ownHome(c.asUser), c.env...))
	if !c.patterns {
		env = append(env, "GIT_LITERAL_PATHSPECS=1")
	}
	run := process.Command{
		Name: "git", Args: append([]string{"--no-pager"}, c.args...),
		Timeout: cmp.Or(c.limit, commandTimeout), MaxOutput: cmp.Or(c.maxOutput, maxOutput),
	}
	if err := run.Check(); err != nil {
		return process.Executed{}, err
	}
	e, err := r.x.process.Run(ctx, run,
		process.Spec{Path: r.program.Path, Args: append([]string{"git"}, run.Args...), Env: env,
			Dir: r.dir.Handle, Needs: r.needs(c)})
	if err != nil {
		return process.Executed{}, err
	}
	if e.Cancelled {
		return e, context.Cause(ctx)
	}
	if e.Failed() {
		failed := failure(c.args[0], e)
		if !r.x.cfg.AllowHooks && filterFailed().MatchString(failed.Words) {
			failed.Hint = "filters are off, for they are programs; --allow-hooks lets them run"
		}
		return e, failed
	}
	return e, nil
}

// needs returns what git may use for c.
func (r *repository) needs(c command) process.Needs {
	n := c.needs
	switch {
	case c.asUser:
		n.Workspace, n.Read = process.ReadAccess, userFiles()
		return n
	case r.x.cfg.AllowHooks:
		n.AsCommand = true
	case r.writes:
		n.Workspace = process.WriteAccess
	default:
		n.Workspace = process.ReadAccess
	}
	if r.home != nil {
		n.Write, n.Temp = append(n.Write, r.home.Path), r.home.Path
	}
	n.Read = append(n.Read, r.reads...)
	return n
}

func failure(command string, e process.Executed) *Error {
	failed := &Error{Command: command, ExitCode: e.ExitCode, Output: output(e)}
	out, complaint := redact(e.Stdout), redact(e.Stderr)
	words := complaint
	if out != "" && !errorLine().MatchString(complaint) {
		words = out
	}
	failed.Words = strings.TrimSpace(words)
	if e.TimedOut || e.Signal != "" || failed.Words == "" {
		failed.Words = strings.TrimSpace(e.Message() + "\n" + failed.Words)
	}
	return failed
}

// filterFailed matches git's message about a required filter that did not run.
var filterFailed = words.Pattern(`(clean|smudge) filter .* failed`)

// errorLine matches the start of git's error messages.
var errorLine = words.Pattern(`(?m)^(fatal|error): `)

// output returns what a command printed, standard output first.
func output(e process.Executed) string { return redact(e.Stdout) + redact(e.Stderr) }

// login matches the user name and password in an address.
var login = words.Pattern(`([A-Za-z][A-Za-z0-9+.-]*://)[^/\s'"]*@`)

// redact returns a text without the user names and passwords in its addresses.
func redact(text []byte) string { return string(login().ReplaceAll(text, []byte("${1}"))) }

// splitNUL splits the output of a command with -z. If output was cut, it returns the
// parts before the cut, and true.
func splitNUL(e process.Executed) (parts []string, cut bool) {
	out := e.Stdout
	if e.StdoutCut > 0 {
		if head, _, found := bytes.Cut(out,
			fmt.Appendf(nil, "[… %d bytes left out …]\n", e.StdoutCut)); found {
			out = head[:bytes.LastIndexByte(head, 0)+1]
		}
	}
	if len(out) == 0 {
		return nil, e.StdoutCut > 0
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), e.StdoutCut > 0
}

// keptVariables are the GIT_ variables that git gets: the author of commits, the place
// of the user's configuration, and certificates. All others are removed, for they move
// the repository, name programs or print passwords.
var keptVariables = words.Pattern(`^GIT_(CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)|(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)|SSL_.*|PROXY_SSL_.*|HTTP_PROXY_AUTHMETHOD)=`)

// unattended makes git ask no questions, start no editor or pager, and print English.
var unattended = []string{
	"LC_ALL=C", "GIT_SSH_COMMAND=false", "GIT_TERMINAL_PROMPT=0", "GCM_INTERACTIVE=never",
	"GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never",
	"GIT_PAGER=cat", "GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:", "GIT_MERGE_AUTOEDIT=no",
	"GIT_ALLOW_PROTOCOL=", "GIT_NO_LAZY_FETCH=1",
}

func (x *Git) environment(dir string) []string {
	var caches []string
	if x.cfg.AllowHooks {
		// git has the user's settings already
		caches = slices.DeleteFunc(x.process.Caches(),
			func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	}
	env := slices.DeleteFunc(x.process.Environment(caches, dir), func(v string) bool {
		return strings.HasPrefix(strings.ToUpper(v), "GIT_") && !keptVariables().MatchString(v)
	})
	env = process.SetVariables(env, append([]string{"PATH=" + x.process.SafePath()}, unattended...))
	return append(env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(x.rootOf(dir)))
}

// rootOf returns the outermost directory of the workspace that contains dir.
func (x *Git) rootOf(dir string) string {
	root := x.ws.Dir()
	for _, allowed := range x.cfg.Allow {
		if real, err := filepath.EvalSymlinks(x.ws.Abs("", allowed)); err == nil &&
			process.Contains(real, dir) && (!process.Contains(root, dir) || process.Contains(real, root)) {
			root = real
		}
	}
	return root
}

func configVariables(settings []setting) []string {
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings))}
	for i, s := range settings {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s.key, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return env
}
