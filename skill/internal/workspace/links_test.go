//go:build linux || darwin

package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"textskill/skill/internal/refusal"
	"textskill/testdata/needs"
)

// lead is a name and its target.
type lead struct {
	name    string
	layout  []string
	open    string
	target  string // with links followed; "" means that it leads outside or nowhere
	ltarget string // with the last link not followed, where that is something else
	err     error  // where target is "": nil means refusal.ErrOutside
}

var leads = []lead{
	{"plain", nil, "target", "target", "", nil},
	{"in folders", []string{"a/b/c/"}, "a/b/c/target", "a/b/c/target", "", nil},
	{"link", []string{"link => target"}, "link", "target", "link", nil},
	{"link up and out", []string{"link => ../"}, "link", "", "link", nil},
	{"link with a slash at its end", []string{"dir/", "link => dir/"}, "link/target", "dir/target", "", nil},
	{"slash after a link", []string{"link => ../ws/target"}, "link/", "target", "link", nil},
	{"dot after a link", []string{"link => target"}, "link/.", "target", "link", nil},
	{"link up twice", []string{"dir/link => ../../"}, "dir/link", "", "dir/link", nil},
	{"link chain", []string{"link => a/b/c/target", "a/b => e", "a/e => ../f", "f => g/h/i",
		"g/h/i => ..", "g/c/"},
		"link", "g/c/target", "link", nil},
	{"dots", []string{"a/b/"}, "./a/./b/./target", "a/b/target", "", nil},
	{"double slashes", []string{"a/b/"}, "a//b///target", "a/b/target", "", nil},
	{"up and down", []string{"a/b/"}, "a/../a/b/../../a/b/../b/target", "a/b/target", "", nil},
	{"up", nil, "../", "", "", nil},
	{"up twice", []string{"a/"}, "a/../../", "", "", nil},
	{"up far", nil, strings.Repeat("../", 60) + "etc/passwd", "", "", nil},
	{"up beside a folder", []string{"a/"}, "a/../target", "target", "", nil},
	{"up after a link", []string{"a => b/c", "b/c/"}, "a/../target", "b/target", "", nil},
	{"up before a link", []string{"a => b/c", "b/c/"}, "b/../a/target", "b/c/target", "", nil},
	{"link that ends in a dot", []string{"a => b/.", "b/"}, "a/target", "b/target", "", nil},
	{"link to itself", []string{"a => a"}, "a", "", "a", syscall.ELOOP},
	{"links in a circle", []string{"a => b", "b => c/d", "c => .", "d => a"}, "a/x", "", "", syscall.ELOOP},
	{"out and in", nil, "../ws/target", "target", "", nil},
	{"out and in after a folder", []string{"a/"}, "a/../../ws/target", "target", "", nil},
	{"out and in by a link", []string{"link => ../ws/target"}, "link", "target", "link", nil},
	{"out and in by a chain", []string{"link => a/b/c/target", "a/b => e", "a/e => ../../ws", "c/"},
		"link", "c/target", "link", nil},
	{"absolute link inside", []string{"link => $WS/target"}, "link", "target", "link", nil},
	{"absolute link to the workspace", []string{"link => $WS"}, "link/link/target", "target", "", nil},
	{"absolute link with ups", []string{"d/e/", "k => d/e", "link => $WS/k/../target"}, "link", "d/target",
		"link", nil},
	{"absolute link through a link", []string{"../alias => ws", "link => $BASE/alias/target"}, "link",
		"target", "link", nil},
	{"absolute link outside", []string{"link => $BASE/out/secret"}, "link", "", "link", nil},
	{"absolute link to a sibling", []string{"link => $BASE/ws-evil/secret"}, "link", "", "link", nil},
	{"absolute link above", []string{"link => $BASE"}, "link/out/secret", "", "", nil},
	{"folder link outside", []string{"link => ../out"}, "link/secret", "", "", nil},
	{"deep folder link outside", []string{"a/link => ../../out/sub"}, "a/link/deep", "", "", nil},
	{"dangling link outside", []string{"link => ../out/missing"}, "link", "", "link", nil},
	{"dangling folder link outside", []string{"link => ../missing"}, "link/x", "", "", nil},
	{"link to the root of everything", []string{"link => /"}, "link/etc/passwd", "", "", nil},
	{"link to the process's root", []string{"link => /proc/self/root"}, "link/etc/passwd", "", "", nil},
	{"link to the process's folder", []string{"link => /proc/self/cwd"}, "link/secret", "", "", nil},
	{"sibling of the same prefix", nil, "../ws-evil/secret", "", "", nil},
}

func TestLeads(t *testing.T) {
	needs.InMemory(t)
	for _, l := range leads {
		for _, o := range operations {
			at, fails := l.expect(o)
			if o.needs == "link" && (l.ltarget == "" || fails) {
				continue // tested by what those operations do in TestReadlink
			}
			t.Run(l.name+"/"+o.name, func(t *testing.T) {
				each(t, func(t *testing.T, s *site) { l.run(t, s, o, at, fails) })
			})
		}
	}
}

// expect returns the path that the operation should act on.
func (l lead) expect(o operation) (at string, fails bool) {
	if !o.follow && l.ltarget != "" {
		return l.ltarget, false
	}
	return l.target, l.target == ""
}

func (l lead) run(t *testing.T, s *site, o operation, at string, fails bool) {
	s.layout(l.layout...)
	if l.target != "" {
		o.place(s, l.target)
	}
	w := s.open(Options{NoSync: true})
	before := s.unspared()
	err := o.run(w, s, s.dir+"/"+l.open)
	if fails {
		if outside := errors.Is(err, refusal.ErrOutside); l.err == nil && !outside ||
			!errors.Is(err, l.err) && l.err != nil {
			t.Errorf("%v; want %v", err, l.err)
		}
	} else if err != nil {
		t.Error(err)
	} else if o.done != nil {
		o.done(s, at)
	}
	if after := s.unspared(); fails && after != before {
		t.Errorf("changed\n%s\nto\n%s", before, after)
	}
	s.outside(before)
}

// outside fails the test if anything outside the workspace has changed.
func (s *site) outside(before string) {
	s.t.Helper()
	pick := func(snapshot string) (lines string) {
		for line := range strings.Lines(snapshot) {
			if !strings.HasPrefix(line, "ws/") && !strings.HasPrefix(line, "ws ") {
				lines += line
			}
		}
		return lines
	}
	if now := pick(s.snapshot()); now != pick(before) {
		s.t.Errorf("outside changed\n%s\nto\n%s", pick(before), now)
	}
}

func TestReal(t *testing.T) {
	for _, l := range leads {
		t.Run(l.name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				s.layout(l.layout...)
				w := s.open(Options{})
				got, err := w.Real("", l.open, true)
				outside := errors.Is(err, refusal.ErrOutside)
				switch {
				case l.target != "":
					if err != nil || got != s.p(l.target) {
						t.Errorf("%s, %v; want %s", got, err, l.target)
					}
				case l.err != nil && !errors.Is(err, l.err), l.err == nil && !outside:
					t.Errorf("%s, %v", got, err)
				}
				if l.ltarget == "" {
					return
				}
				if got, err = w.Real("", l.open, false); err != nil || got != s.p(l.ltarget) {
					t.Errorf("unfollowed: %s, %v; want %s", got, err, l.ltarget)
				}
			})
		})
	}
}

func TestRealStartsAtAFolder(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("a/b/f", "l => a/b")
		w := s.open(Options{})
		for _, c := range []struct{ dir, name, want string }{
			{"", "", s.dir},
			{"", ".", s.dir},
			{s.p("a"), "", s.p("a")},
			{s.p("l"), "", s.p("a/b")},
			{s.p("l"), "..", s.p("a")},
			{s.p("a"), "b/f", s.p("a/b/f")},
			{s.p("a"), s.p("l/f"), s.p("a/b/f")},
			{"", "missing/../l", s.p("a/b")},
			{"", "missing/x/y", s.p("missing/x/y")},
			{"", "a/b/f/../..", s.p("a")},
			{"/", "etc", ""},
			{s.p("a"), "../../out", ""},
			{s.p("a"), "/etc", ""},
		} {
			got, err := w.Real(c.dir, c.name, true)
			if outside := errors.Is(err, refusal.ErrOutside); got != c.want || outside != (c.want == "") {
				t.Errorf("Real(%s, %s) = %s, %v; want %s", c.dir, c.name, got, err, c.want)
			}
		}
	})
}

func TestAbs(t *testing.T) {
	s := newSite(t, false)
	w := s.open(Options{})
	for _, c := range []struct{ dir, name, want string }{
		{"", "", s.dir},
		{"", ".", s.dir},
		{"", "a//b/../c/", s.p("a/c")},
		{"", "..", s.base},
		{"/x", "", "/x"},
		{"/x", "y", "/x/y"},
		{"/x", "../../..", "/"},
		{"/x", "/y/./z/", "/y/z"},
		{"", "/", "/"},
		{"", " a ", s.p(" a ")},
	} {
		if got := w.Abs(c.dir, c.name); got != c.want {
			t.Errorf("Abs(%q, %q) = %q; want %q", c.dir, c.name, got, c.want)
		}
	}
}

// The workspace may be spelled through links; both spellings count.
func TestSpellings(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("d/target=content", "../alias => ws", "../second => alias", "../far/alias2 => ../ws",
			"up => ..")
		for _, open := range []string{s.dir, s.base + "/alias", s.base + "/second",
			s.base + "/far/../alias"} {
			w := s.open(Options{Dir: open, NoSync: true})
			for _, dir := range []string{s.dir, open, s.base + "/alias", s.base + "/far/alias2",
				s.base + "/out/../second", "/proc/self/root" + s.dir} {
				if strings.HasPrefix(dir, "/proc") && !exists("/proc/self/root") {
					continue
				}
				if data, err := w.ReadFile(dir + "/d/target"); string(data) != "content" {
					t.Errorf("opened as %s, spelled %s: %q, %v", open, dir, data, err)
				}
				if list, err := w.ReadDir(dir); err != nil || len(list) != 2 {
					t.Errorf("opened as %s, spelled %s: %v, %v", open, dir, list, err)
				}
				c, err := w.WriteFile(t.Context(), dir+"/d/target", []byte("content"), WriteOptions{})
				must(t, c, err)
			}
			for _, outside := range []string{s.base, s.base + "/alias/../out/secret", s.base + "/aliases",
				open + "-evil/secret", s.dir + "/up/out/secret"} {
				_, err := w.ReadFile(outside)
				if !errors.Is(err, refusal.ErrOutside) {
					t.Errorf("opened as %s: %s: %v", open, outside, err)
				}
			}
		}
	})
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// As many links as Linux allows, and one more.
func TestManyLinks(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("0=content")
		for n := range maxLinks + 1 {
			s.layout(fmt.Sprintf("%d => %d", n+1, n))
		}
		w := s.open(Options{})
		if data, err := w.ReadFile(s.p("40")); string(data) != "content" {
			t.Errorf("%q, %v", data, err)
		}
		if _, err := w.ReadFile(s.p("41")); !errors.Is(err, syscall.ELOOP) {
			t.Error(err)
		}
		if _, err := w.Copy(t.Context(), s.p("41"), s.p("x"), CopyOptions{}); !errors.Is(err, syscall.ELOOP) {
			t.Error(err)
		}
	})
}

// Invalid names fail with the same error in every operation, and change nothing.
func TestBadNames(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("file=content", "folder/f", spare+"=new", spareTree+"/f=new")
		w := s.open(Options{NoSync: true})
		before := s.unspared()
		long := strings.Repeat("n", 300)
		for _, c := range []struct {
			name string
			want error
		}{
			{s.p("nul\x00byte"), syscall.EINVAL},
			{s.p("\x00"), syscall.EINVAL},
			{s.p("folder/\x00/x"), syscall.EINVAL},
			{s.p(long), syscall.ENAMETOOLONG},
			{s.p("folder/" + long + "/x"), syscall.ENAMETOOLONG},
			{s.p("file/x"), syscall.ENOTDIR},
			{s.p(strings.Repeat("d/", 1<<19)), syscall.ENAMETOOLONG},
			{s.p(strings.Repeat("../", 1<<18)), syscall.ENAMETOOLONG},
			{strings.Repeat("/d", 1<<19), syscall.ENAMETOOLONG},
			{"relative", nil},
			{"", nil},
			{"..", nil},
			{"/nul\x00byte", nil},
			{filepath.Join("/", long, "x"), nil},
		} {
			for _, o := range operations {
				err := o.run(w, s, c.name)
				outside := errors.Is(err, refusal.ErrOutside)
				if err == nil || c.want != nil &&
					!errors.Is(err, c.want) || c.want == nil && !outside {
					t.Errorf("%s of %.40q: %v; want %v", o.name, c.name, err, c.want)
				}
			}
		}
		if after := s.unspared(); after != before {
			t.Errorf("changed\n%s\nto\n%s", before, after)
		}
	})
}
