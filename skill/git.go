package skill

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
	"textskill/skill/internal/words"
	"time"
)

// How long a git command may take.
const (
	gitTime    = 30 * time.Second
	remoteTime = 60 * time.Second // one that talks to a remote
)

// How much is kept of what git prints, bytes of each stream.
const (
	gitOutput = 256 << 10
	listing   = 16 << 20 // of names, which are read to the end
)

// A GitError reports a git command that did not succeed.
type GitError struct {
	Command  string // "commit"
	ExitCode int    // -N where signal N ended it
	Output   string // all that it printed: standard output, then standard error
	Words    string // what of it says why, or how git ended where it said nothing
	Hint     string // what may be done about it; "" where there is nothing to say
}

func (e *GitError) Error() string {
	if e.Hint == "" {
		return e.Words
	}
	return e.Words + "; " + e.Hint
}

// gitCommand is one git command and how it is run.
type gitCommand struct {
	args      []string      // the command first
	env       []string      // over the repository's
	limit     time.Duration // 0 means gitTime
	maxOutput int64         // 0 means gitOutput
	patterns  bool          // paths may be patterns; else they are names
}

// git runs c in the repository. One that does not succeed is a [*GitError]; what
// it printed is there in any case.
func (r *repository) git(ctx context.Context, c gitCommand) (Executed, error) {
	env := process.SetVariables(slices.Concat(r.env, r.ssh(), r.settings()), c.env)
	if !c.patterns {
		env = append(env, "GIT_LITERAL_PATHSPECS=1")
	}
	run := process.Command{
		Name: "git", Args: append([]string{"--no-pager"}, c.args...),
		Timeout: cmp.Or(c.limit, gitTime), MaxOutput: cmp.Or(c.maxOutput, gitOutput),
	}
	if err := run.Check(); err != nil {
		return Executed{}, err
	}
	e, err := r.x.process.Run(ctx, run, process.Spec{Path: r.program, Args: append([]string{"git"}, run.Args...), Env: env, Dir: r.dir.Handle})
	if err != nil {
		return Executed{}, err
	}
	if e.Cancelled {
		return e, context.Cause(ctx)
	}
	if e.Failed() {
		failed := gitError(c.args[0], e)
		if !r.x.cfg.AllowHooks && offFilter().MatchString(failed.Words) {
			failed.Hint = "filters are off, for they are programs; --allow-hooks lets them run"
		}
		return e, failed
	}
	return e, nil
}

// gitError words how a git command failed.
func gitError(command string, e Executed) *GitError {
	failed := &GitError{Command: command, ExitCode: e.ExitCode, Output: printed(e)}
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
func printed(e Executed) string { return withoutLogin(e.Stdout) + withoutLogin(e.Stderr) }

// login matches the name and password of an address.
var login = words.Pattern(`([A-Za-z][A-Za-z0-9+.-]*://)[^/\s'"]*@`)

// withoutLogin is a text without the passwords of the addresses in it.
func withoutLogin(text []byte) string { return string(login().ReplaceAll(text, []byte("${1}"))) }

// fields splits what a command printed with -z. Of more than was kept it returns
// the beginning, and true.
func fields(e Executed) (parts []string, cut bool) {
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

// gitKept are the variables that git is left: whose commits they are, where the
// user's own configuration is, and whom to trust. All others that begin with GIT_
// are taken away, for they move the repository, name programs or print passwords.
var gitKept = words.Pattern(`^GIT_(CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)|(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)|SSL_.*|PROXY_SSL_.*|HTTP_PROXY_AUTHMETHOD|EXEC_PATH)=`)

// gitQuiet makes git ask nobody, open nothing, and speak one language.
var gitQuiet = []string{
	"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GCM_INTERACTIVE=never",
	"GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never",
	"GIT_PAGER=cat", "GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:", "GIT_MERGE_AUTOEDIT=no",
	"GIT_ALLOW_PROTOCOL=", "GIT_NO_LAZY_FETCH=1",
}

// gitEnvironment is what a git command in dir is given.
func (x *Executor) gitEnvironment(dir string) []string {
	env := slices.DeleteFunc(x.process.Environment(nil, dir), func(v string) bool {
		if x.cfg.AllowHooks && (strings.HasPrefix(v, "GIT_SSH=") || strings.HasPrefix(v, "GIT_SSH_")) {
			return false
		}
		return strings.HasPrefix(strings.ToUpper(v), "GIT_") && !gitKept().MatchString(v)
	})
	if i := process.VariableIndex(env, "PATH"); i >= 0 { // the workspace has no programs to offer
		parts := slices.DeleteFunc(filepath.SplitList(env[i][len("PATH="):]), func(part string) bool { return !filepath.IsAbs(part) })
		env[i] = "PATH=" + cmp.Or(strings.Join(parts, string(os.PathListSeparator)), os.DevNull) // an empty one is the folder
	}
	return append(process.SetVariables(env, gitQuiet), "GIT_CEILING_DIRECTORIES="+filepath.Dir(x.rootOf(dir)))
}

// rootOf returns the outermost folder that counts as inside and holds dir.
func (x *Executor) rootOf(dir string) string {
	root := x.ws.Dir()
	for _, allowed := range x.cfg.Allow {
		if real, err := filepath.EvalSymlinks(x.ws.Abs("", allowed)); err == nil && process.Holds(real, dir) && (!process.Holds(root, dir) || process.Holds(real, root)) {
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
