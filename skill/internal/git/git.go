// Package git works on git repositories of the workspace by the git program, without
// running what a repository's configuration names: hooks, filters, signers, editors.
//
//	git.go         one git command          repository.go  finds a repository and judges it
//	config.go      settings, what runs      remote.go      push and pull
package git

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"textskill/skill/internal/process"
	"textskill/skill/internal/web"
	"textskill/skill/internal/words"
	"textskill/skill/internal/workspace"
	"time"
)

// Config is what a Git needs to know of the world.
type Config struct {
	Allow      []string // folders of the workspace besides its own
	AllowHooks bool     // let git run what a repository's configuration names
}

// A Git works on the repositories of one workspace. Its methods find the repository
// that holds the folder dir, which starts at base where it is relative. It is safe for
// concurrent use.
type Git struct {
	cfg     Config
	ws      *workspace.Workspace
	process *process.Runner
	web     *web.Client
}

// New returns a Git that starts programs by p, and reaches remotes as far as w may.
func New(cfg Config, ws *workspace.Workspace, p *process.Runner, w *web.Client) *Git {
	return &Git{cfg, ws, p, w}
}

// How long a git command may take.
const (
	commandTime = 30 * time.Second
	remoteTime  = 60 * time.Second // one that talks to a remote
)

// How much is kept of what git prints, bytes of each stream.
const (
	maxOutput = 256 << 10
	listing   = 16 << 20 // of names, which are read to the end
)

// An Error reports a git command that did not succeed.
type Error struct {
	Command  string // "commit"
	ExitCode int    // -N where signal N ended it
	Output   string // all that it printed: standard output, then standard error
	Words    string // what of it says why, or how git ended where it said nothing
	Hint     string // what may be done about it; "" where there is nothing to say
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Words
	}
	return e.Words + "; " + e.Hint
}

// command is one git command and how it is run.
type command struct {
	args      []string      // the command first
	env       []string      // over the repository's
	limit     time.Duration // 0 means commandTime
	maxOutput int64         // 0 means maxOutput
	patterns  bool          // paths may be patterns; else they are names
}

// git runs c in the repository. One that does not succeed is an [*Error]; what
// it printed is there in any case.
func (r *repository) git(ctx context.Context, c command) (process.Executed, error) {
	env := process.SetVariables(slices.Concat(r.env, r.ssh(), r.settings()), c.env)
	if !c.patterns {
		env = append(env, "GIT_LITERAL_PATHSPECS=1")
	}
	run := process.Command{
		Name: "git", Args: append([]string{"--no-pager"}, c.args...),
		Timeout: cmp.Or(c.limit, commandTime), MaxOutput: cmp.Or(c.maxOutput, maxOutput),
	}
	if err := run.Check(); err != nil {
		return process.Executed{}, err
	}
	e, err := r.x.process.Run(ctx, run, process.Spec{Path: r.program, Args: append([]string{"git"}, run.Args...), Env: env, Dir: r.dir.Handle})
	if err != nil {
		return process.Executed{}, err
	}
	if e.Cancelled {
		return e, context.Cause(ctx)
	}
	if e.Failed() {
		failed := failure(c.args[0], e)
		if !r.x.cfg.AllowHooks && offFilter().MatchString(failed.Words) {
			failed.Hint = "filters are off, for they are programs; --allow-hooks lets them run"
		}
		return e, failed
	}
	return e, nil
}

// failure words how a git command failed.
func failure(command string, e process.Executed) *Error {
	failed := &Error{Command: command, ExitCode: e.ExitCode, Output: printed(e)}
	out, complaint := withoutLogin(e.Stdout), withoutLogin(e.Stderr)
	words := complaint
	if out != "" && !complains().MatchString(complaint) {
		words = out
	}
	failed.Words = strings.TrimSpace(words)
	if e.TimedOut || e.Signal != "" || failed.Words == "" {
		failed.Words = strings.TrimSpace(e.Message() + "\n" + failed.Words)
	}
	return failed
}

// offFilter matches what git says of a filter that is needed and did nothing.
var offFilter = words.Pattern(`(clean|smudge) filter .* failed`)

// complains matches what git begins a line with that says what is wrong.
var complains = words.Pattern(`(?m)^(fatal|error): `)

// printed is what a command printed, standard output first.
func printed(e process.Executed) string { return withoutLogin(e.Stdout) + withoutLogin(e.Stderr) }

// login matches the name and password of an address.
var login = words.Pattern(`([A-Za-z][A-Za-z0-9+.-]*://)[^/\s'"]*@`)

// withoutLogin is a text without the passwords of the addresses in it.
func withoutLogin(text []byte) string { return string(login().ReplaceAll(text, []byte("${1}"))) }

// fields splits what a command printed with -z. Of more than was kept it returns
// the beginning, and true.
func fields(e process.Executed) (parts []string, cut bool) {
	out := e.Stdout
	if e.StdoutCut > 0 {
		if head, _, found := bytes.Cut(out, fmt.Appendf(nil, "[… %d bytes left out …]\n", e.StdoutCut)); found {
			out = head[:bytes.LastIndexByte(head, 0)+1]
		}
	}
	if len(out) == 0 {
		return nil, e.StdoutCut > 0
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), e.StdoutCut > 0
}

// keptVariables are the variables that git is left: whose commits they are, where the
// user's own configuration is, and whom to trust. All others that begin with GIT_
// are taken away, for they move the repository, name programs or print passwords.
var keptVariables = words.Pattern(`^GIT_(CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)|(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)|SSL_.*|PROXY_SSL_.*|HTTP_PROXY_AUTHMETHOD|EXEC_PATH)=`)

// quiet makes git ask nobody, open nothing, and speak one language.
var quiet = []string{
	"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GCM_INTERACTIVE=never",
	"GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never",
	"GIT_PAGER=cat", "GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:", "GIT_MERGE_AUTOEDIT=no",
	"GIT_ALLOW_PROTOCOL=", "GIT_NO_LAZY_FETCH=1",
}

// environment is what a git command in dir is given.
func (x *Git) environment(dir string) []string {
	env := slices.DeleteFunc(x.process.Environment(nil, dir), func(v string) bool {
		if x.cfg.AllowHooks && (strings.HasPrefix(v, "GIT_SSH=") || strings.HasPrefix(v, "GIT_SSH_")) {
			return false
		}
		return strings.HasPrefix(strings.ToUpper(v), "GIT_") && !keptVariables().MatchString(v)
	})
	if i := process.VariableIndex(env, "PATH"); i >= 0 { // the workspace has no programs to offer
		parts := slices.DeleteFunc(filepath.SplitList(env[i][len("PATH="):]), func(part string) bool { return !filepath.IsAbs(part) })
		env[i] = "PATH=" + cmp.Or(strings.Join(parts, string(os.PathListSeparator)), os.DevNull) // an empty one is the folder
	}
	return append(process.SetVariables(env, quiet), "GIT_CEILING_DIRECTORIES="+filepath.Dir(x.rootOf(dir)))
}

// rootOf returns the outermost folder that counts as inside and holds dir.
func (x *Git) rootOf(dir string) string {
	root := x.ws.Dir()
	for _, allowed := range x.cfg.Allow {
		if real, err := filepath.EvalSymlinks(x.ws.Abs("", allowed)); err == nil && process.Contains(real, dir) && (!process.Contains(root, dir) || process.Contains(real, root)) {
			root = real
		}
	}
	return root
}

// asVariables makes settings of git for the environment of a command.
func asVariables(settings []setting) []string {
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings))}
	for i, s := range settings {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s.key, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return env
}
