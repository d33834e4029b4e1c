//go:build linux || darwin

package workspace

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"textskill/testdata/needs"
)

// A site is a folder "ws" to open, beside folders that no test may change.
type site struct {
	t        testing.TB
	base     string // holds ws, ws-evil and out
	dir      string // base/ws
	portable bool
}

// stateHome is the folder beside the site's folder that holds the histories.
const stateHome = "state"

// each runs a test with both backends, openat2 and os.Root.
func each(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	for _, portable := range []bool{false, true} {
		if !portable && runtime.GOOS != "linux" {
			continue // there is one way
		}
		t.Run(backend(portable), func(t *testing.T) { test(t, newSite(t, portable)) })
	}
}

// odd is the strangest file name that the system accepts.
func odd() string {
	if runtime.GOOS == "linux" {
		return "\xff\n"
	}
	return "\u00e9\n"
}

func backend(portable bool) string {
	if portable {
		return "root"
	}
	return "kernel"
}

func newSite(t testing.TB, portable bool) *site {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, base: base, dir: filepath.Join(base, "ws"), portable: portable}
	t.Setenv("XDG_STATE_HOME", filepath.Join(base, stateHome)) // also for children
	for name, content := range map[string]string{"out/secret": "secret", "out/sub/deep": "deep",
		"ws-evil/secret": "evil"} {
		s.put(filepath.Join(base, name), content)
	}
	if err := os.Mkdir(s.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return s
}

// open opens the site's folder, or what o names instead, until the test ends.
func (s *site) open(o Options) *Workspace {
	s.t.Helper()
	if o.Dir == "" {
		o.Dir = s.dir
	}
	o.Portable = s.portable
	w, err := Open(o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { w.Close() })
	return w
}

// p returns the absolute path of a name in the site's folder.
func (s *site) p(rel string) string { return s.dir + "/" + rel }

// layout makes files ("f", "f=content"), folders ("d/") and links ("l => target").
// $WS and $BASE stand for the site's folders.
func (s *site) layout(entries ...string) {
	s.t.Helper()
	for _, e := range entries {
		e = strings.NewReplacer("$WS", s.dir, "$BASE", s.base).Replace(e)
		name, target, link := strings.Cut(e, " => ")
		name, content, _ := strings.Cut(name, "=")
		abs := s.p(name)
		if err := os.MkdirAll(filepath.Dir(abs), 0o777); err != nil {
			s.t.Fatal(err)
		}
		var err error
		switch {
		case link:
			err = os.Symlink(target, abs)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(abs, 0o777)
		default:
			s.put(abs, content)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *site) put(abs, content string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(abs), 0o777); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(abs, []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// has fails the test unless the file holds the content.
func (s *site) has(rel, content string) {
	s.t.Helper()
	got, err := os.ReadFile(s.p(rel))
	if err != nil || string(got) != content {
		s.t.Errorf("%s holds %.80q, %v; want %.80q", rel, got, err, content)
	}
}

// lacks fails the test if the name exists.
func (s *site) lacks(rel string) {
	s.t.Helper()
	if _, err := os.Lstat(s.p(rel)); err == nil {
		s.t.Errorf("%s exists", rel)
	}
}

// snapshot describes everything below the site, one line for each name: type,
// mode, owner, links, inode, time and content.
func (s *site) snapshot() string {
	s.t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(s.base, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		st := fi.Sys().(*syscall.Stat_t)
		rel, _ := filepath.Rel(s.base, p)
		if rel == stateHome || d.Name() == StateDir && d.IsDir() {
			return filepath.SkipDir
		}
		fmt.Fprintf(&b, "%s %v %d:%d inode %d", rel, fi.Mode(), st.Uid, st.Gid, st.Ino)
		switch {
		case fi.Mode().IsRegular():
			data, err := os.ReadFile(p)
			fmt.Fprintf(&b, " links %d %v %d %.200q %v", st.Nlink, fi.ModTime(), fi.Size(), data, err)
		case fi.Mode().Type() == fs.ModeSymlink:
			target, _ := os.Readlink(p)
			fmt.Fprintf(&b, " -> %s", target)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return b.String()
}

// unchanged fails the test if the site has changed.
func (s *site) unchanged(before string) {
	s.t.Helper()
	after := s.snapshot()
	if after == before {
		return
	}
	old, now := strings.Split(before, "\n"), strings.Split(after, "\n")
	for _, line := range now {
		if !slices.Contains(old, line) {
			s.t.Errorf("now:    %s", line)
		}
	}
	for _, line := range old {
		if !slices.Contains(now, line) {
			s.t.Errorf("before: %s", line)
		}
	}
}

// must fails the test unless the change was applied.
func must(t testing.TB, c Change, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if !c.Applied {
		t.Fatalf("%v: not applied", c)
	}
}

// swap returns a splice that replaces the first occurrence of old by new.
func swap(old, new string) func(io.ReaderAt, int64) (Splice, error) {
	return func(src io.ReaderAt, size int64) (Splice, error) {
		data, err := io.ReadAll(io.NewSectionReader(src, 0, size))
		at := strings.Index(string(data), old)
		if err == nil && at < 0 {
			err = fmt.Errorf("there is no %q", old)
		}
		return Splice{Offset: int64(at), Old: int64(len(old)), New: []byte(new)}, err
	}
}

const nobody = 65534

// asNobody reports whether this process is without privileges. Where it has them, it
// runs the test once more in a process that has none.
func asNobody(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	needs.Users(t)
	var names []string
	for name := range strings.SplitSeq(t.Name(), "/") {
		names = append(names, "^"+name+"$")
	}
	tmp, err := os.MkdirTemp("", "nobody")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run", strings.Join(names, "/"))
	cmd.Dir, cmd.Env = tmp, append(os.Environ(), "TMPDIR="+tmp, "HOME="+tmp, "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
	return false
}

// A statFunc is a file that a walk visits.
type statFunc func() (Info, error)

func (f statFunc) Stat() (Info, error) { return f() }
