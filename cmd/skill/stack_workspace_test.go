//go:build unix

package main

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"textskill/parser/rawjson"
)

// A stackStep is one step before the calls of a row.
type stackStep struct {
	Op, Path, Target, Name, Script, Value, Cwd, Mode string
	Content, Base64                                  string
	Args                                             []string
	Count, Status                                    int
	Body                                             string
}

// A stackFile is one file after the calls; of folders only those that are empty.
type stackFile struct {
	Path       string  `json:"path"`
	Content    *string `json:"content,omitempty"`
	Base64     string  `json:"base64,omitempty"`
	Symlink    string  `json:"symlink,omitempty"`
	Dir        bool    `json:"dir,omitempty"`
	Unreadable bool    `json:"unreadable,omitempty"`
	Mode       string  `json:"mode,omitempty"` // "" is 644
	Gone       bool    `json:"gone,omitempty"` // the workspace itself
}

// stackGit is what a repository holds after the calls.
type stackGit struct {
	Subjects []string `json:"subjects"`
	Branches []string `json:"branches"`
	Head     string   `json:"head"`
	Status   []string `json:"status"`
}

// stackWorkspace is where a row is replayed.
type stackWorkspace struct {
	root string // what rows call ${ROOT}
	dir  string // the workspace, which is in or at the root
	bin  string // the row's own programs
	path string // PATH

	far, near string // a host of the row's, and what stands for it; see connect
}

func newStackWorkspace(t *testing.T, row stackRow, tools string) *stackWorkspace {
	t.Helper()
	parent := publicDir(t)
	w := &stackWorkspace{root: filepath.Join(parent, "root"), bin: filepath.Join(parent, "bin")}
	w.dir, w.path = w.root, w.bin+":"+tools
	for _, dir := range []string{w.root, w.bin} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range row.Setup {
		if err := w.make(s); err != nil {
			t.Fatal(err)
		}
	}
	w.own(t)
	return w
}

// own makes nobody the owner of all files where the test is run by root.
func (w *stackWorkspace) own(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	err := filepath.WalkDir(w.root, func(name string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(name, nobody, nobody)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

const nobody = 65534

// asUser makes cmd run as nobody where the test is run by root.
func asUser(cmd *exec.Cmd) *exec.Cmd {
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}

// fill puts this workspace's names in place of the recorded ones.
func (w *stackWorkspace) fill(s string) string {
	s = strings.NewReplacer("${ROOT}", w.root, "${BIN}", w.bin).Replace(s)
	if w.far != "" {
		s = strings.ReplaceAll(s, w.far, w.near)
	}
	return s
}

// mask is the reverse of fill.
func (w *stackWorkspace) mask(s string) string {
	if w.far != "" {
		s = strings.ReplaceAll(s, w.near, w.far)
	}
	s = branchHints.ReplaceAllString(s, "")
	return strings.NewReplacer(w.root, "${ROOT}", w.bin, "${BIN}",
		"cannot delete branch 'main' used by worktree at",
		"Cannot delete branch 'main' checked out at").Replace(s)
}

// branchHints are what git 2.45 and later add about the name of a branch. The rows are by git 2.39.
var branchHints = regexp.MustCompile(`(\\+nhint: [^\\]*){1,2}\\+"git config (set )?advice.refSyntax false\\+"`)

// make carries out one step of a row's setup.
func (w *stackWorkspace) make(s stackStep) error {
	path := filepath.Join(w.root, s.Path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	switch s.Op {
	case "write":
		data := []byte(w.fill(s.Content))
		if s.Base64 != "" {
			data, _ = base64.StdEncoding.DecodeString(s.Base64)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil || s.Mode == "" {
			return err
		}
		mode, err := strconv.ParseUint(s.Mode, 8, 32)
		if err != nil {
			return err
		}
		return os.Chmod(path, fs.FileMode(mode))
	case "many":
		for i := range s.Count {
			if err := os.WriteFile(strings.ReplaceAll(path, "{i}", fmt.Sprintf("%03d", i)), nil, 0o644); err != nil {
				return err
			}
		}
		return nil
	case "mkdir":
		return os.MkdirAll(path, 0o755)
	case "symlink":
		return os.Symlink(w.fill(s.Target), path)
	case "git":
		for i, a := range s.Args {
			s.Args[i] = w.fill(a)
		}
		_, err := w.git(s.Cwd, s.Args...)
		return err
	case "bin":
		return os.WriteFile(filepath.Join(w.bin, s.Name), []byte("#!/bin/sh\n"+s.Script), 0o755)
	case "path":
		w.path = w.fill(s.Value)
		return nil
	case "chdir":
		w.dir = path
		return nil
	case "http": // see connect
		return nil
	}
	return fmt.Errorf("no such step: %s", s.Op)
}

// env is what the recorded programs were given, and the server is.
func (w *stackWorkspace) env() []string {
	return []string{
		"PATH=" + w.path, "HOME=" + w.root + "/home", noSleep,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A U Thor", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z",
		"GIT_COMMITTER_NAME=C O Mitter", "GIT_COMMITTER_EMAIL=c@example.com",
		"GIT_COMMITTER_DATE=2026-01-02T03:04:05Z",
	}
}

// git runs git in a folder of the root, whoever owns it.
func (w *stackWorkspace) git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "safe.directory=*"}, args...)...)
	cmd.Dir, cmd.Env = filepath.Join(w.root, dir), append(w.env(), "PATH="+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

var earlier = regexp.MustCompile(`\$\{ref:(\d+)\.([^}]*)\}`)

// replay makes the calls of a row.
func (w *stackWorkspace) replay(t *testing.T, program string, row stackRow) (o outcome) {
	t.Helper()
	flags := append([]string{"mcp", "--tools", "stack", "--network", "-C", w.dir}, w.connect(t, row)...)
	cmd := asUser(exec.Command(program, flags...))
	cmd.Dir, cmd.Env = w.dir, w.env()
	s := startServer(t, cmd)
	var results []any
	for _, c := range row.Calls {
		c.Arguments = json.RawMessage(earlier.ReplaceAllStringFunc(w.fill(string(c.Arguments)),
			func(ref string) string {
				at := earlier.FindStringSubmatch(ref)
				i, _ := strconv.Atoi(at[1])
				v := results[i]
				for key := range strings.SplitSeq(at[2], ".") {
					v = v.(map[string]any)[key]
				}
				return v.(string)
			}))
		s.ask(t, c)
		line := w.mask(string(s.line))
		object, _ := stackObject(line, s.calls)
		results = append(results, object)
		o.stdout += line
	}
	o.stderr, o.tree = w.mask(s.stop(t)), stackTree(t, w.tree(t))
	for _, repo := range slices.Sorted(maps.Keys(row.AfterGit)) {
		o.tree = append(o.tree, repositoryLine(repo, w.repository(t, repo)))
	}
	return o
}

// stackObject returns the object that a call is answered with. Of a tool that does not
// exist, the protocol itself says so (rule P8).
func stackObject(line string, id int) (any, error) {
	var got struct {
		JSONRPC string
		ID      int
		Result  *perstackResult
		Error   *struct {
			Code    int
			Message string
		}
	}
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil || got.JSONRPC != "2.0" || got.ID != id {
		return nil, fmt.Errorf("call %d is answered by %s: %v", id, line, err)
	}
	if got.Result == nil {
		if got.Error == nil || got.Error.Code != -32602 ||
			!strings.HasPrefix(got.Error.Message, "unknown tool \"") {
			return nil, fmt.Errorf("call %d is answered by %s", id, line)
		}
		return map[string]any{"$unknown_tool": true}, nil
	}
	if len(got.Result.Content) != 1 || got.Result.Content[0].Type != "text" {
		return nil, fmt.Errorf("call %d: the content is %+v, want one text", id, got.Result.Content)
	}
	var object map[string]any
	text := got.Result.Content[0].Text
	err := json.Unmarshal([]byte(text), &object)
	if success, ok := object["success"].(bool); err != nil || !ok || success == got.Result.IsError {
		return nil, fmt.Errorf("call %d: isError is %t with %s", id, got.Result.IsError, text)
	}
	return object, nil
}

// stackTree describes files, a sorted line for each.
func stackTree(t *testing.T, files []stackFile) []string {
	lines := []string{}
	for _, f := range files {
		what := "dir"
		switch {
		case f.Symlink != "":
			what = "-> " + f.Symlink
		case f.Gone:
			what = "gone"
		case f.Unreadable:
			what = "unreadable"
		case f.Content != nil:
			what = f.mode() + strconv.Quote(*f.Content)
		case !f.Dir:
			what = f.mode() + strconv.Quote(string(decode64(t, f.Base64)))
		}
		lines = append(lines, fmt.Sprintf("%q %s", f.Path, what))
	}
	slices.Sort(lines)
	return lines
}

func (f stackFile) mode() string { return cmp.Or(f.Mode, "644") + " " }

func repositoryLine(path string, g stackGit) string {
	return "git " + path + " " + string(rawjson.Encode(g))
}

// tree describes what is there, without what belongs to git or to this program.
func (w *stackWorkspace) tree(t *testing.T) (files []stackFile) {
	t.Helper()
	if _, err := os.Stat(w.root); err != nil {
		return []stackFile{{Path: ".", Gone: true}}
	}
	files = []stackFile{}
	err := filepath.WalkDir(w.root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == w.root {
			return err
		}
		rel, _ := filepath.Rel(w.root, name)
		f := stackFile{Path: rel}
		switch {
		case d.IsDir() && (filepath.Ext(name) == ".git" || d.Name() == ".skill" ||
			strings.HasSuffix(rel, "home/.local")):
			return fs.SkipDir
		case d.IsDir():
			names, err := os.ReadDir(name)
			names = slices.DeleteFunc(names,
				func(d fs.DirEntry) bool { return d.IsDir() && d.Name() == ".git" })
			if f.Path, f.Dir = rel+"/", true; len(names) > 0 {
				return err
			}
		case d.Type() == fs.ModeSymlink:
			f.Symlink, err = os.Readlink(name)
			f.Symlink = w.mask(f.Symlink)
		default:
			err = w.describe(name, d, &f)
		}
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func (w *stackWorkspace) describe(name string, d fs.DirEntry, f *stackFile) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	if info.Mode()&0o400 == 0 {
		f.Unreadable = true
		return nil
	}
	f.Mode = strconv.FormatUint(uint64(info.Mode().Perm()), 8)
	data, err := os.ReadFile(name)
	if !utf8.Valid(data) {
		f.Base64 = base64.StdEncoding.EncodeToString(data)
		return err
	}
	text := w.mask(string(data))
	f.Content = &text
	return err
}

// repository describes a repository below the root.
func (w *stackWorkspace) repository(t *testing.T, repo string) (g stackGit) {
	t.Helper()
	lines := func(args ...string) []string {
		out, err := w.git(repo, args...)
		if err != nil {
			t.Fatal(err)
		}
		list := []string{}
		for line := range strings.Lines(out) {
			list = append(list, strings.TrimSuffix(line, "\n"))
		}
		return list
	}
	g.Subjects = lines("log", "--all", "--format=%s")
	g.Branches = lines("branch", "--format=%(refname:short)")
	g.Head = strings.Join(lines("symbolic-ref", "--short", "HEAD"), "")
	g.Status = []string{}
	if bare := lines("rev-parse", "--is-bare-repository"); bare[0] == "false" {
		g.Status = lines("status", "--porcelain")
	}
	return g
}
