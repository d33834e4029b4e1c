package dialect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// hostileTexts are tried as every text that is no path, like a pattern or an id.
var hostileTexts = []string{"../outside/secret.txt", "$BASE/outside/secret.txt", "$BASE/outside/*", "../*",
	"../../**", "out-dir/**", "/proc/version", "/proc/self/root/**", "file://$BASE/outside/secret.txt",
	"a\x00b", "%2e%2e/outside/secret.txt", "-rf", "--output=$BASE/outside/new",
	"--upload-pack=touch $BASE/outside/new", "-o$BASE/outside/new", "$(touch $BASE/outside/new)",
	"`touch $BASE/outside/new`",
	"; touch $BASE/outside/new", "ext::sh -c touch% $BASE/outside/new", "@{-1}", "HEAD~1:../outside",
	".git/config", ".skill/journal", "state/x", "bad\xff", "new\nline", strings.Repeat("x", 5000), "{a,b}",
	"[z-a]", "(?P<x", "", " "}

// TestHostileTexts gives every tool every hostile text in place of every text that is
// neither a path nor a command; every fourth one where tests may be skipped.
func TestHostileTexts(t *testing.T) {
	r := newHostileRun(t)
	for _, d := range filled {
		for i := range d.Tools {
			tool := &d.Tools[i]
			for j := range tool.Params() {
				p := &tool.Params()[j]
				if texts := p.Type == "string" ||
					p.Type == "array" && p.Of == "string"; p.Path || !texts ||
					p.Enum != nil || p.Name == "command" || p.Name == "args" || handed[tool.Name] {
					continue
				}
				first := r.tried % needs.Step(4)
				r.tried++
				for k := first; k < len(hostileTexts); k += needs.Step(4) {
					if r.spoiled {
						r.fresh()
					}
					value := strings.ReplaceAll(hostileTexts[k], "$BASE", r.base)
					r.call(hostileCall{d, tool, p, value, arguments(tool, p, quoted(value), r.url)})
				}
				r.unmoved(d.Name + " " + tool.Name + " " + p.Name)
			}
		}
	}
}

// known are files that tools look for by themselves.
var known = []string{"MEMORY.md", "memory/x.md", "AGENTS.md", "SOUL.md", "TOOLS.md", ".tasks.json",
	".plans.json", ".gitignore", ".ignore", ".gitattributes", "pyproject.toml", "requirements.txt",
	"package.json", "go.mod",
	"setup.cfg", "pytest.ini", "tox.ini", "Makefile", "Cargo.toml", "poetry.lock", "package-lock.json",
	".venv", "node_modules"}

// TestHostileFiles puts links that lead outside, or a FIFO, in place of every file that
// a tool looks for by itself. Each trap is for every third tool where tests may be skipped.
func TestHostileFiles(t *testing.T) {
	r := newHostileRun(t)
	for n, trap := range []string{"../outside/secret.txt", "../outside", r.base + "/outside/made.txt",
		"loop", "fifo"} {
		r.tried = n // other tools
		for _, d := range filled {
			for i := range d.Tools {
				if r.tried++; r.tried%needs.Step(3) != 0 {
					continue
				}
				r.fresh()
				tool := &d.Tools[i]
				for _, name := range known {
					if trap == "fifo" && strings.HasPrefix(name, ".git") &&
						strings.HasPrefix(tool.Name, "git_") {
						continue // git waits for one, until its time is up
					}
					r.trap(name, trap)
				}
				r.before = r.snapshot(r.ws)
				r.call(hostileCall{d, tool, &Param{Name: trap}, "\x00", arguments(tool, nil, nil, r.url)})
				r.unmoved(d.Name + " " + tool.Name + " with " + trap)
			}
		}
	}
}

// trap puts at name a link that leads to target from the workspace's folder; of a FIFO,
// another name.
func (s *hostileSite) trap(name, target string) {
	s.t.Helper()
	at := s.ws + "/" + name
	s.do(os.MkdirAll(filepath.Dir(at), 0o755))
	s.do(os.RemoveAll(at))
	switch {
	case target == "fifo":
		s.do(os.Link(s.ws+"/fifo", at))
	case strings.Contains(name, "/") && !filepath.IsAbs(target):
		s.do(os.Symlink("../"+target, at))
	default:
		s.do(os.Symlink(target, at))
	}
}
