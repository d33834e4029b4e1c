//go:build linux || darwin

package workspace

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/skill/internal/workspace/tree"
)

// maze is a layout of links in every direction. Files called "secret" are outside, all others inside.
var maze = []string{
	"a/b/c/f=inside", "a/f=inside", "f=inside", "d/",
	"a/up => ..", "a/b/upup => ../..", "out => ../out", "abs => $WS/a", "absup => $WS/a/../..", "all => /",
	"self => .",
	"chain => a/b/upup/abs/b", "loop => loop2", "loop2 => ./loop", "dangling => d/missing",
	"far => ../out/missing",
	"evil => ../ws-evil", "proc => /proc/self/root", "slash => a//b/", "alias => ../alias/a",
	"../alias => ws",
	"a/.git/config=inside", ".skill/records=hidden", "records => .skill",
}

// A resolved name is clean, inside the workspace and free of links. Reading the name gives the file at
// the resolved path.
func FuzzResolve(f *testing.F) {
	for _, name := range []string{"", ".", "..", "a/b/c/f", "chain/c/f", "out/secret", "absup/ws/f",
		"self/self/../a/up/f", "all/etc/passwd",
		"../ws-evil/secret", "../alias/f", "loop/x", "dangling", "far", "//a///./f/", "slash/../f",
		"records/records", "a\x00b", "\xff", ".SKILL/x",
		"proc/etc", "a/../../ws/f", "missing/../f", "f/../f", "../../../../../etc/passwd", "alias/b/../f"} {
		f.Add(name, true)
		f.Add(name, false)
	}
	sites := []*site{newSite(f, false), newSite(f, true)}
	var ws []*Workspace
	for _, s := range sites {
		s.layout(maze...)
		ws = append(ws, s.open(Options{NoSync: true}))
	}
	f.Fuzz(func(t *testing.T, name string, follow bool) {
		var found []string
		for i, w := range ws {
			got := checkResolve(t, w, sites[i], name, follow)
			found = append(found, strings.TrimPrefix(got, sites[i].dir))
		}
		if found[0] != found[1] && !strings.HasPrefix(name, "/") && len(name) < 3000 {
			t.Errorf("%q leads to %q by one way and to %q by the other", name, found[0], found[1])
		}
	})
}

// checkResolve returns the resolved path of the name, "" if it cannot be resolved.
func checkResolve(t *testing.T, w *Workspace, s *site, name string, follow bool) string {
	t.Helper()
	real, err := w.Real("", name, follow)
	abs := name
	if !filepath.IsAbs(name) {
		abs = s.dir + "/" + name
	}
	data, rerr := w.ReadFile(abs)
	if rerr == nil && (!bytes.Equal(data, []byte("inside")) || err != nil) {
		t.Fatalf("%q reads %q; it leads to %q, %v", name, data, real, err)
	}
	info, serr := w.Stat(abs, follow)
	if err != nil {
		if serr == nil {
			t.Fatalf("%q: %v, but it is %+v", name, err, info)
		}
		return ""
	}
	if _, ok := below(s.dir, real); !ok || filepath.Clean(real) != real {
		t.Fatalf("%q leads to %q", name, real)
	}
	for at := real; at != s.dir; at = filepath.Dir(at) {
		fi, lerr := os.Lstat(at)
		if lerr == nil && fi.Mode().Type() == fs.ModeSymlink && (follow || at != real) {
			t.Fatalf("%q leads to %q, where %q is a link", name, real, at)
		}
	}
	fi, lerr := os.Lstat(real)
	if isDenied(serr) {
		if !strings.Contains(strings.ToLower(real), ".skill") &&
			!strings.Contains(strings.ToLower(name), "skill") {
			t.Fatalf("%q is denied, and leads to %q", name, real)
		}
		return real
	}
	if (lerr == nil) != (serr == nil) || serr == nil && info.ID != tree.InfoOf(fi).ID {
		t.Fatalf("%q leads to %q, which is %v, %v; but Stat gives %+v, %v", name, real, fi, lerr, info, serr)
	}
	return real
}
