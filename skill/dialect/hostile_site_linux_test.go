package dialect

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"textskill/parser/rawjson"
	"textskill/skill"
	"textskill/testdata/needs"
)

// secret is in every file outside, and in some of those inside that are kept from
// all tools. No answer holds it.
const secret = "SECRET-5a17"

// A picture and a document outside, as an answer would show them.
const (
	secretPNG = "iVBORw0KGgo"
	secretPDF = "JVBERi0xLjQ"
)

// A hostileSite is a workspace full of traps, beside folders that are none of its
// business.
type hostileSite struct {
	t    *testing.T
	base string // holds ws, ws-evil, outside, linked, lib and state
	ws   string
	repo string // a git repository to copy
	bin  string // programs, where commands cannot write
}

func newHostileSite(t *testing.T) *hostileSite {
	t.Helper()
	needs.Shell(t)
	needs.Program(t, "git")
	bin, err := os.MkdirTemp("", "hostile-bin-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(bin) })
	needs.InMemory(t)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &hostileSite{t: t, base: base, ws: base + "/ws", repo: base + "/lib/repo", bin: bin}
	s.programs()
	s.git()
	for _, name := range []string{"outside/secret.txt", "outside/sub/deep.txt", "outside/" + secret,
		"outside/home/.profile",
		"ws-evil/secret.txt", "outside/pyproject.toml", "outside/test_x.py"} {
		s.put(base+"/"+name, secret)
	}
	s.do(os.CopyFS(base+"/outside/repo", os.DirFS(s.repo)))
	s.put(base+"/outside/repo/secret.txt", secret)
	s.put(base+"/outside/secret.png", "\x89PNG\r\n\x1a\n"+secret)
	s.put(base+"/outside/secret.pdf", "%PDF-1.4\n"+secret)
	t.Setenv("HOME", base+"/outside/home")
	t.Setenv("XDG_STATE_HOME", base+"/state")
	// as commands find them made
	for _, cache := range []string{".cache/go-build", "go/pkg/mod", ".npm", ".cache/uv"} {
		s.do(os.MkdirAll(base+"/outside/home/"+cache, 0o755))
	}
	t.Chdir(base + "/outside")
	return s
}

func (s *hostileSite) do(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *hostileSite) put(abs, content string) {
	s.t.Helper()
	s.do(os.MkdirAll(filepath.Dir(abs), 0o755))
	s.do(os.WriteFile(abs, []byte(content), 0o644))
}

// programs puts programs before the system's that show all that they are
// given, in place of the tools of projects and the browser.
func (s *hostileSite) programs() {
	for _, name := range strings.Fields("pytest python python3 ruff black mypy pylint flake8 pyright pip poetry go npm npx node tsc make cargo gofmt staticcheck golangci-lint chromium brave-search") {
		s.put(s.bin+"/"+name, "#!/bin/sh\npwd -P\nls\nfor a; do [ ! -f \"$a\" ] || cat -- \"$a\"; ls -- \"$a\" 2>&1; done\ntrue\n")
		s.do(os.Chmod(s.bin+"/"+name, 0o755))
	}
	// which are made for commands
	for _, name := range strings.Fields("GOCACHE GOMODCACHE npm_config_cache UV_CACHE_DIR XDG_CACHE_HOME") {
		s.t.Setenv(name, s.base+"/lib/cache")
	}
	s.t.Setenv("PATH", s.bin+":"+os.Getenv("PATH"))
}

func (s *hostileSite) git() {
	s.put(s.repo+"/a.txt", "text")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "a.txt"},
		{"-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = s.repo
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	for _, name := range []string{"hooks", "info", "logs", "description", "COMMIT_EDITMSG", "objects/info",
		"objects/pack", "refs/tags"} {
		s.do(os.RemoveAll(s.repo + "/.git/" + name))
	}
	s.put(s.repo+"/.git/config", "[core]\n\tbare = false\n[user]\n\tname = a\n\temail = a@b.c\n")
}

// traps are the links of the workspace. $BASE stands for the folder above it.
var traps = map[string]string{
	"out-file": "../outside/secret.txt", "out-png": "../outside/secret.png",
	"out-pdf": "../outside/secret.pdf", "out-dir": "../outside", "abs-out": "$BASE/outside/secret.txt",
	"evil":         "../ws-evil",
	"dangling-out": "../outside/made.txt", "dangling-dir": "../made", "dangling-in": "nowhere",
	"dir/out": "../../outside",
	"loop":    "loop", "loop-a": "loop-b/x", "loop-b": "loop-a",
	"chain": "chain-1", "chain-1": "dir/chain-2", "dir/chain-2": "../chain-3", "chain-3": "$BASE/ws/chain-4",
	"chain-4": "../outside/sub/../secret.txt",
	"slash":   "/", "proc": "/proc/self/root", "proc-cwd": "/proc/self/cwd", "self": ".", "up": "..",
	"abs-self": "$BASE/ws",
	"state":    ".skill", "repository": ".git", "settings": "perstack",
}

// kept are files that hold this program's records, or that make programs run code.
var kept = []string{"dir/.skill/log", "dir/.git/config", "perstack/x", "perstack.toml", "dir/perstack/x",
	"dir/perstack.toml"}

// build makes the workspace anew.
func (s *hostileSite) build() {
	s.t.Helper()
	s.do(os.RemoveAll(s.base + "/ws"))
	s.do(os.RemoveAll(s.base + "/linked"))
	s.do(os.RemoveAll(s.base + "/state"))
	s.do(os.Mkdir(s.base+"/state", 0o700))
	for _, name := range []string{"keep.txt", "a.txt", "dir/b.txt", "dir/sub/c.txt", "x", "-rf", "a b.txt",
		"\u00e9.txt", "e\u0301.txt", "%2e%2e", "test_a.py"} {
		s.put(s.ws+"/"+name, "text of "+name)
	}
	s.put(s.ws+"/pyproject.toml", "[project]\nname = \"x\"\n")
	for _, name := range kept {
		s.put(s.ws+"/"+name, "[kept]")
	}
	s.put(s.ws+"/dir/.skill/log", secret)
	s.do(os.CopyFS(s.ws+"/.git", os.DirFS(s.repo+"/.git")))
	for name, target := range traps {
		s.do(os.Symlink(strings.ReplaceAll(target, "$BASE", s.base), s.ws+"/"+name))
	}
	s.put(s.base+"/linked/hard.txt", "text of hard.txt")
	s.do(os.Link(s.base+"/linked/hard.txt", s.ws+"/hard.txt"))
	s.do(syscall.Mkfifo(s.ws+"/fifo", 0o666))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "/proc/self/cwd/../ws/socket", Net: "unix"})
	s.do(err)
	l.SetUnlinkOnClose(false)
	l.Close()
	if os.Geteuid() == 0 {
		s.do(syscall.Mknod(s.ws+"/device", syscall.S_IFCHR|0o666, 1<<8|5)) // that is /dev/zero: it never ends
	}
}

// open opens the workspace as one with everything allowed that can be asked for.
func (s *hostileSite) open(cfg skill.Config) *skill.Executor {
	s.t.Helper()
	cfg.Dir, cfg.NoSync = s.ws, true
	helper, err := os.Executable()
	s.do(err)
	cfg.Helper = helper
	x, err := skill.New(cfg)
	s.do(err)
	return x
}

// snapshot describes what is below dir, name by name, without what is in files: one
// that was written to is another or has another size or time. A folder .skill at the
// top is the journal's.
func (s *hostileSite) snapshot(dir string) map[string]string {
	seen := map[string]string{}
	s.do(filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(p[len(dir):], "/")
		if err != nil || rel == ".skill" {
			return fs.SkipDir
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		st := fi.Sys().(*syscall.Stat_t)
		text := fmt.Sprint(fi.Mode(), " ", st.Uid)
		switch {
		case fi.Mode().IsRegular():
			text += fmt.Sprint(" ", st.Ino, fi.Size(), st.Mtim)
		case fi.Mode().Type() == fs.ModeSymlink:
			target, _ := os.Readlink(p)
			text += " -> " + target
		}
		seen[rel] = text
		return nil
	}))
	return seen
}

// config returns where in a name the part begins that runs code or holds records,
// -1 for none.
func config(rel string) int {
	at := 0
	for part := range strings.SplitSeq(rel, "/") {
		for _, name := range []string{".git", ".skill", "perstack", "perstack.toml"} {
			if strings.EqualFold(strings.TrimRight(part, ". "), name) {
				return at
			}
		}
		at += len(part) + 1
	}
	return -1
}

// settings lists what runs code or holds records, wherever it is now: it may move
// with the folder that holds it.
func settings(seen map[string]string) string {
	var lines []string
	for rel, state := range seen {
		if at := config(rel); at >= 0 {
			lines = append(lines, rel[at:]+" "+state)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// stolen finds a file of the workspace that has come since and holds what is outside.
func (s *hostileSite) stolen(before, now map[string]string) string {
	for rel, state := range now {
		if before[rel] == state || config(rel) >= 0 {
			continue
		}
		var data []byte
		if strings.HasPrefix(state, "-") {
			data, _ = os.ReadFile(s.ws + "/" + rel)
		}
		if strings.Contains(rel+string(data), secret) {
			return rel
		}
	}
	return ""
}

// differ tells how two snapshots differ.
func differ(before, after map[string]string) string {
	var b strings.Builder
	for name, was := range before {
		if is := after[name]; is != was {
			fmt.Fprintf(&b, "%q was %s\n and is %s\n", name, was, is)
		}
	}
	for name, is := range after {
		if _, ok := before[name]; !ok {
			fmt.Fprintf(&b, "%q is new: %s\n", name, is)
		}
	}
	return b.String()
}

// quoted writes a value as JSON, bytes that are no UTF-8 as they are.
func quoted(value string) []byte {
	out := []byte{'"'}
	for len(value) > 0 {
		r, n := utf8.DecodeRuneInString(value)
		if r == utf8.RuneError && n == 1 {
			out = append(out, value[0])
		} else {
			text := rawjson.Encode(value[:n])
			out = append(out, text[1:len(text)-1]...)
		}
		value = value[n:]
	}
	return append(out, '"')
}
