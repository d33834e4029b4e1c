//go:build linux || darwin

package workspace

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"textskill/skill/internal/refusal"
	"textskill/testdata/needs"
)

// This program's records are hidden and denied, at any depth, in any case.
func TestRecordsAreDenied(t *testing.T) {
	needs.InMemory(t)
	for _, name := range []string{".skill", ".SKILL", ".Skill", ".s\u212aill", ".skill.", ".skill ",
		".skill. .", ".skill.tmp", ".Skill.Tmp"} {
		for _, o := range operations {
			t.Run(name+"/"+o.name, func(t *testing.T) {
				each(t, func(t *testing.T, s *site) {
					s.layout(name+"/file=content", name+"/folder/f=content", name+"/link => file",
						"a/b/"+name+"/file=content", "a/b/"+name+"/folder/f=content",
						"a/b/"+name+"/link => file",
						"link => a/b", "direct => "+name)
					w := s.open(Options{AllowConfig: true, NoSync: true})
					before := s.unspared()
					leaf := map[string]string{"file": "/file", "folder": "/folder", "nothing": "/new",
						"link": "/link"}[o.needs]
					for _, abs := range []string{s.p(name) + leaf, s.p("a/b/"+name) + leaf,
						s.p("link/"+name) + leaf,
						s.p("a/../a/b/"+name) + leaf, s.p("direct") + leaf, s.p(name)} {
						denied := isDenied(o.run(w, s, abs))
						if !denied {
							t.Errorf("%s is not denied", abs)
						}
					}
					if after := s.unspared(); after != before {
						t.Errorf("changed\n%s\nto\n%s", before, after)
					}
				})
			})
		}
	}
}

// The user's state folder, with its tokens and trust, is denied inside a root, in every spelling. It
// cannot be removed or moved with a folder above it, and a copy of that folder omits it.
func TestUserStateIsDenied(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		t.Setenv("XDG_STATE_HOME", s.p("home/state"))
		s.layout("home/state/skill/trust/a.json=x", "home/state/other=x", "link => home/state", "home/f=x")
		w := s.open(Options{AllowConfig: true, NoSync: true})
		for _, o := range operations {
			leaf := map[string]string{"file": "/trust/a.json", "folder": "/trust", "nothing": "/trust/new",
				"link": "/trust/a.json"}[o.needs]
			for _, abs := range []string{s.p("home/state/skill") + leaf, s.p("link/skill") + leaf,
				s.p("home/../home/state/skill") + leaf} {
				if !isDenied(o.run(w, s, abs)) {
					t.Errorf("%s: %s is not denied", o.name, abs)
				}
			}
		}
		for _, dir := range []string{"home", "home/state"} {
			if _, err := w.Move(t.Context(), s.p(dir), s.p("away"), MoveOptions{}); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("move of %s: %v", dir, err)
			}
		}
		if _, err := w.Remove(t.Context(), s.p("home"), RemoveOptions{Tree: true}); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("removal: %v", err)
		}
		if _, err := w.WriteFile(t.Context(), s.p("home/state/other"), []byte("y"), WriteOptions{}); err != nil {
			t.Errorf("beside it: %v", err)
		}
		if _, err := w.Copy(t.Context(), s.p("home"), s.p("copy"), CopyOptions{Tree: true}); err != nil {
			t.Error(err)
		}
		if _, err := w.Stat(s.p("copy/state/skill"), true); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the copy has it, too: %v", err)
		}
	})
}

func TestRecordsAreNotListed(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout(".skill/journal", ".skill.tmp=x", ".SKILL/x", ".skillet", "skill", "d/.skill/x", "d/f")
		w := s.open(Options{})
		for dir, want := range map[string][]string{"": {".skillet", "d", "skill"}, "d": {"f"}} {
			list, err := w.ReadDir(s.p(dir))
			var names []string
			for _, e := range list {
				names = append(names, e.Name)
			}
			if slices.Sort(names); err != nil || !slices.Equal(names, want) {
				t.Errorf("%q lists %q, %v; want %q", dir, names, err, want)
			}
		}
	})
}

// A folder with records is not removed, and is copied without them.
func TestRecordsInATree(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("d/e/.skill/journal=kept", "d/e/f=content")
		w := s.open(Options{AllowConfig: true, NoSync: true})
		before := s.snapshot()
		_, err := w.Remove(t.Context(), s.p("d"), RemoveOptions{Tree: true})
		if denied, ok := errors.AsType[*refusal.RefusedError](err); !ok || denied.Path != s.p("d/e/.skill") {
			t.Error(err)
		}
		s.unchanged(before)
		c, err := w.Copy(t.Context(), s.p("d"), s.p("copy"), CopyOptions{Tree: true})
		must(t, c, err)
		s.has("copy/e/f", "content")
		s.lacks("copy/e/.skill")
	})
}

var configPaths = []string{
	".git/config", ".git/hooks/post-commit", "sub/.git/config", ".GIT/config", ".Git", ".git./config",
	".git /config",
	"perstack.toml", "PERSTACK.TOML", "a/b/perstack.toml", "perstack.toml.",
	".mcp.json", ".vscode/tasks.json", "a/.Claude/settings.json", ".envrc", "opencode.json",
	".factory/settings.json", ".kimi-code/config.toml", "a/.kilo/plugin/p.js", "kilo.jsonc",
	".clinerules/hooks/PreToolUse", "crush.json", ".github/hooks/h.json", "a/.GitHub/Hooks/h.json",
	".agents/plugins/p/hooks/hooks.json", ".crushrc", "a/crushrc", ".crush/skills/s/SKILL.md",
	"a/.hg/hgrc", ".hg/sharedpath", ".pi/extensions/e.ts", ".augment/settings.json", "home/.gitconfig",
	".agents/skills/s/mcp.json", "a/.Agents/setup", ".agents/recipes/r.yaml", ".agent/settings.json",
	".amp/settings.json", "a/.amp/plugins/p.ts", ".goose/recipes/r.yaml", ".factory-dev/settings.json",
	".github/copilot/settings.local.json", ".github/extensions/e/extension.mjs", ".github/agents/a.agent.md",
	".github/skills/s/SKILL.md", ".github/mcp.json", "a/.github/lsp.json", ".kilocodemodes", ".roomodes",
	"a/all.Code-Workspace", "x.sublime-project", "mise.toml", "a/mise.local.toml", ".Mise.dev.toml", ".mise/config.toml",
	".config/mise/conf.d/x.toml", "mise/config.toml", ".jj/repo/config.toml", "a/.jj/Repo./config.toml", ".sl/config", "_darcs/prefs/defaults",
	".helix/languages.toml", ".vim/coc-settings.json", ".Rprofile", ".pdbrc", ".iex.exs", ".ripgreprc", ".hg/requires",
	"perstack/x", "a/perstack/b/c", "Perstack/x", "per\u017ftack/x",
}

// Files that make other programs run code can be read, but not changed.
func TestConfigIsNotContent(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=content", "tree/f=content")
		for _, p := range configPaths {
			s.layout(p + "=content")
		}
		s.layout("git => .git")
		w := s.open(Options{NoSync: true})
		before := s.unspared()
		for _, p := range append(configPaths, "git/config", "tree/../.git/config", ".git/x/../config") {
			if data, err := w.ReadFile(s.p(p)); string(data) != "content" {
				t.Errorf("read %s: %q, %v", p, data, err)
			}
			for _, o := range operations {
				if !o.changes || o.name == "Copy from" || o.name == "Copy tree from" {
					continue
				}
				err := o.run(w, s, s.p(p))
				if !isDenied(err) || !errors.Is(err, fs.ErrPermission) {
					t.Errorf("%s of %s: %v", o.name, p, err)
				}
			}
		}
		if after := s.unspared(); after != before {
			t.Errorf("changed\n%s\nto\n%s", before, after)
		}
	})
}

func TestConfigAllowed(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		w := s.open(Options{AllowConfig: true, NoSync: true})
		for _, p := range configPaths {
			c, err := w.WriteFile(t.Context(), s.p("x/"+p), []byte("new"), WriteOptions{Parents: true})
			must(t, c, err)
			c, err = w.Remove(t.Context(), s.p("x"), RemoveOptions{Tree: true})
			must(t, c, err)
		}
	})
}

// Names that only look similar are allowed.
func TestConfigLookalikes(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		w := s.open(Options{NoSync: true})
		for _, p := range []string{".gitignore", ".github/x", ".github/workflows/ci.yml", "agents/x", "x/lsp.json", "git/x", "perstack.tom", "perstack.toml.bak",
			"perstacks/x", "x.git/config", ".skills", "..git", "code-workspace", "x.code-workspace.md", "premise.toml", "mise.md",
			".config/x.toml", "config.toml", "repo/config.toml", "Makefile", "package.json", ".jj/repo/store/x"} {
			c, err := w.WriteFile(t.Context(), s.p(p), []byte("new"), WriteOptions{Parents: true})
			must(t, c, err)
			s.has(p, "new")
		}
	})
}

// A folder is not moved or copied to where its entries make other programs run code.
func TestConfigByItsPlace(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("repo/config.toml=c", ".jj/a=b", "x/hooks/h.json=h", "top/.github/a=b", "plain/a=b", "tree/.github/hooks/h.json=h")
		w := s.open(Options{NoSync: true})
		before := s.snapshot()
		for _, err := range []error{
			failed(w.Move(t.Context(), s.p("x"), s.p(".github"), MoveOptions{})),
			failed(w.Copy(t.Context(), s.p("x"), s.p(".github"), CopyOptions{Tree: true})),
			failed(w.Move(t.Context(), s.p("x/hooks"), s.p("top/.github/hooks"), MoveOptions{})),
			failed(w.Copy(t.Context(), s.p("tree"), s.p("copy"), CopyOptions{Tree: true})),
			failed(w.Move(t.Context(), s.p("repo"), s.p(".jj/repo"), MoveOptions{})),
		} {
			if !isDenied(err) {
				t.Error(err)
			}
		}
		s.unchanged(before)
		c, err := w.Move(t.Context(), s.p("plain"), s.p(".github"), MoveOptions{})
		must(t, c, err)
	})
}

// A copy must not create denied names. A whole repository can be removed and moved like any folder.
func TestConfigInATree(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("repo/.git/config=x", "repo/a=b", "plain/a=b", "plain/l => ../repo")
		w := s.open(Options{NoSync: true})
		before := s.snapshot()
		for from, o := range map[string]CopyOptions{"repo": {Tree: true},
			"plain": {Tree: true, Follow: true}} {
			_, err := w.Copy(t.Context(), s.p(from), s.p("copy"), o)
			if !isDenied(err) || !strings.Contains(err.Error(), ".git") {
				t.Errorf("copy of %s: %v", from, err)
			}
		}
		s.unchanged(before)
		c, err := w.Move(t.Context(), s.p("repo"), s.p("moved"), MoveOptions{})
		must(t, c, err)
		s.has("moved/.git/config", "x")
		c, err = w.Remove(t.Context(), s.p("moved"), RemoveOptions{Tree: true})
		must(t, c, err)
		s.lacks("moved")
	})
}

// The workspace, the allowed folders and the folders above them cannot be removed or moved, in any
// spelling.
func TestRootsStay(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("a/f=x", "up => ..", "self => .", "nested/allowed/f=x", "../alias => ws")
		outer := s.open(Options{NoSync: true, Dir: s.p("nested/allowed"), Allow: []string{s.dir}})
		inner := s.open(Options{NoSync: true,
			Allow: []string{s.p("nested/allowed"), filepath.Join(s.base, "out")}})
		before := s.unspared()
		names := []string{s.dir, s.dir + "/", s.dir + "/.", s.p("a/.."), s.p("a/../a/.."), s.p("self/a/.."),
			s.base + "/alias",
			s.base + "/out/../ws", s.p("nested/allowed"), s.p("nested"), s.p("self/nested")}
		for _, w := range []*Workspace{outer, inner} {
			for _, name := range names {
				for _, err := range []error{
					failed(w.Remove(t.Context(), name, RemoveOptions{Tree: true})),
					failed(w.Remove(t.Context(), name, RemoveOptions{Folder: true})),
					failed(w.Move(t.Context(), name, s.p("moved"), MoveOptions{})),
					failed(w.Move(t.Context(), s.p("a"), name, MoveOptions{})),
				} {
					if !errors.Is(err, syscall.EBUSY) {
						t.Errorf("%s: %v", name, err)
					}
				}
				for _, err := range []error{
					failed(w.Remove(t.Context(), name, RemoveOptions{})),
					failed(w.WriteFile(t.Context(), name, nil, WriteOptions{})),
					failed(w.AppendFile(t.Context(), name, nil, WriteOptions{})),
				} {
					if !errors.Is(err, syscall.EISDIR) {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
		}
		if _, err := inner.Remove(t.Context(), filepath.Join(s.base, "out"), RemoveOptions{Tree: true}); !errors.Is(err, syscall.EBUSY) {
			t.Error(err)
		}
		if after := s.unspared(); after != before {
			t.Errorf("changed\n%s\nto\n%s", before, after)
		}
		c, err := inner.Remove(t.Context(), s.p("self"), RemoveOptions{Tree: true}) // a link to the workspace
		must(t, c, err)
	})
}

// isDenied reports whether err denies a path inside the workspace.
func isDenied(err error) bool {
	refused, ok := errors.AsType[*refusal.RefusedError](err)
	return ok && refused.Reason != ""
}

// Names count from the top of a checkout that a host keeps in its folder.
func TestConfigInACheckout(t *testing.T) {
	s := newSite(t, false)
	w := s.open(Options{NoSync: true})
	for name, allowed := range map[string]bool{
		".claude/worktrees/w1/src/x.py": true, "pkg/.claude/worktrees/w1/x.py": true,
		".kilo/worktrees/w1/x.py": true, ".amp/worktrees/w1/.agents/setup": false, ".claude/worktrees/w1": false, ".claude/worktrees/w1/.claude/settings.json": false,
		".claude/worktrees/w1/.envrc": false, ".claude/worktrees/w1/.git": false, ".claude/settings/w1/x.py": false,
		".git/worktrees/w1/config": false, ".claude/worktrees/w1/.claude/worktrees/w2/x.py": true,
	} {
		_, err := w.WriteFile(bg, s.p(name), []byte("x"), WriteOptions{Parents: true})
		if (err == nil) != allowed || !allowed && !isDenied(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
