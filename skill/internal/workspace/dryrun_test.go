//go:build linux || darwin

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
)

// attempt is a change that would succeed in a site of attemptLayout.
type attempt struct {
	kind   Kind
	told   string // what the dry run says after "would"
	diff   string // without the header's two lines
	change func(w *Workspace, s *site, dry bool) (Change, error)
}

var attemptLayout = []string{"f=one\ntwo\nthree\n", "bin=\x00\x01", "d/a=x", "d/b/c=y", "l => f"}

var attempts = []attempt{
	{Write, "write $WS/f", "@@ -1,3 +1,2 @@\n one\n-two\n-three\n+2\n",
		func(w *Workspace, s *site, dry bool) (Change, error) {
			return w.WriteFile(bg, s.p("f"), []byte("one\n2\n"), WriteOptions{DryRun: dry})
		}},
	{Write, "write $WS/f", "", func(w *Workspace, s *site, dry bool) (Change, error) {
		return w.WriteFile(bg, s.p("f"), []byte("one\ntwo\nthree\n"), WriteOptions{DryRun: dry})
	}},
	{Write, "write $WS/l", "@@ -1,3 +0,0 @@\n-one\n-two\n-three\n",
		func(w *Workspace, s *site, dry bool) (Change, error) {
			return w.WriteFile(bg, s.p("l"), nil, WriteOptions{DryRun: dry})
		}},
	{Write, "write $WS/x/y/z", "@@ -0,0 +1 @@\n+new\n\\ No newline at end of file\n",
		func(w *Workspace, s *site, dry bool) (Change, error) {
			return w.WriteFile(bg, s.p("x/y/z"), []byte("new"), WriteOptions{Parents: true, DryRun: dry})
		}},
	{Write, "write $WS/bin", "Binary file: 2 bytes before, 1 after\n",
		func(w *Workspace, s *site, dry bool) (Change, error) {
			return w.WriteFile(bg, s.p("bin"), []byte("x"), WriteOptions{DryRun: dry})
		}},
	{Append, "append to $WS/f", "@@ -1,3 +1,4 @@\n one\n two\n three\n+four\n\\ No newline at end of file\n",
		func(w *Workspace, s *site, dry bool) (Change, error) {
			return w.AppendFile(bg, s.p("f"), []byte("four"), WriteOptions{DryRun: dry})
		}},
	{Append, "append to $WS/new", "@@ -0,0 +1 @@\n+four\n",
		func(w *Workspace, s *site, dry bool) (Change, error) {
			return w.AppendFile(bg, s.p("new"), []byte("four\n"), WriteOptions{DryRun: dry})
		}},
	{Edit, "edit $WS/f", "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
		func(w *Workspace, s *site, dry bool) (Change, error) {
			return w.EditFile(bg, s.p("f"), WriteOptions{DryRun: dry}, swap("two", "2"))
		}},
	{Copy, "copy $WS/f to $WS/g/h", "@@ -0,0 +1,3 @@\n+one\n+two\n+three\n",
		func(w *Workspace, s *site, dry bool) (Change, error) {
			return w.Copy(bg, s.p("f"), s.p("g/h"), CopyOptions{Parents: true, DryRun: dry})
		}},
	{Copy, "copy $WS/f to $WS/d/a", "@@ -1 +1,3 @@\n-x\n\\ No newline at end of file\n+one\n+two\n+three\n",
		func(w *Workspace, s *site, dry bool) (Change, error) {
			return w.Copy(bg, s.p("f"), s.p("d/a"), CopyOptions{Replace: true, DryRun: dry})
		}},
	{Copy, "copy $WS/d to $WS/e/e", "3 files and folders in $WS/d\n",
		func(w *Workspace, s *site, dry bool) (Change, error) {
			return w.Copy(bg, s.p("d"), s.p("e/e"), CopyOptions{Tree: true, Parents: true, DryRun: dry})
		}},
	{Move, "move $WS/d to $WS/e/e", "", func(w *Workspace, s *site, dry bool) (Change, error) {
		return w.Move(bg, s.p("d"), s.p("e/e"), MoveOptions{Parents: true, DryRun: dry})
	}},
	{Delete, "delete $WS/f", "@@ -1,3 +0,0 @@\n-one\n-two\n-three\n",
		func(w *Workspace, s *site, dry bool) (Change, error) {
			return w.Remove(bg, s.p("f"), RemoveOptions{DryRun: dry})
		}},
	{Delete, "delete $WS/l", "", func(w *Workspace, s *site, dry bool) (Change, error) {
		return w.Remove(bg, s.p("l"), RemoveOptions{DryRun: dry})
	}},
	{Delete, "delete $WS/d", "3 files and folders in $WS/d\n",
		func(w *Workspace, s *site, dry bool) (Change, error) {
			return w.Remove(bg, s.p("d"), RemoveOptions{Tree: true, DryRun: dry})
		}},
	{Mkdir, "create directory $WS/x/y", "", func(w *Workspace, s *site, dry bool) (Change, error) {
		return w.MakeDir(bg, s.p("x/y"), dry)
	}},
}

// A dry run describes the change and makes no file and no folder.
func TestDryRun(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout(attemptLayout...)
		wet, dry := s.open(Options{NoSync: true}), s.open(Options{DryRun: true})
		before := s.snapshot()
		for _, a := range attempts {
			for _, run := range []func() (Change, error){
				func() (Change, error) { return a.change(wet, s, true) },
				func() (Change, error) { return a.change(dry, s, false) },
			} {
				c, err := run()
				if err != nil || c.Applied || c.Kind != a.kind {
					t.Errorf("%s: %+v, %v", a.told, c, err)
				}
				inWS := strings.NewReplacer("$WS", s.dir)
				if got := c.String(); got != "would "+inWS.Replace(a.told) {
					t.Errorf("%s; want %s", got, a.told)
				}
				if got := withoutHeader(c.Diff); got != inWS.Replace(a.diff) {
					t.Errorf("%s:\n%s; want\n%s", a.told, got, a.diff)
				}
				s.unchanged(before)
			}
		}
	})
}

func withoutHeader(diff string) string {
	if strings.HasPrefix(diff, "--- ") {
		return strings.SplitN(diff, "\n", 3)[2]
	}
	return diff
}

// A change that a dry run describes can be made afterwards.
func TestDryRunIsTrue(t *testing.T) {
	for _, a := range attempts {
		each(t, func(t *testing.T, s *site) {
			s.layout(attemptLayout...)
			w := s.open(Options{NoSync: true})
			c, err := a.change(w, s, false)
			must(t, c, err)
			if c.Diff != "" {
				t.Errorf("%s: a diff of a change that was made", a.told)
			}
		})
	}
}

func TestReadOnly(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout(attemptLayout...)
		before := s.snapshot()
		for _, w := range []*Workspace{s.open(Options{ReadOnly: true}),
			s.open(Options{ReadOnly: true, DryRun: true})} {
			for _, a := range attempts {
				for _, dry := range []bool{false, true} {
					c, err := a.change(w, s, dry)
					if !errors.Is(err, syscall.EROFS) || c.Applied {
						t.Errorf("%s: %+v, %v", a.told, c, err)
					}
				}
			}
			if data, err := w.ReadFile(s.p("l")); err != nil || len(data) == 0 {
				t.Errorf("%q, %v", data, err)
			}
		}
		s.unchanged(before)
	})
}

// A read-only workspace and a dry run change no file times.
func TestReadOnlyLeavesTimes(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout(attemptLayout...)
		times := func() (times []fs.FileInfo) {
			for _, name := range []string{"", "d", "d/b", "f"} {
				fi, err := os.Stat(s.p(name))
				if err != nil {
					t.Fatal(err)
				}
				times = append(times, fi)
			}
			return times
		}
		before := times()
		w := s.open(Options{ReadOnly: true})
		for _, a := range attempts {
			a.change(w, s, false)
		}
		dry := s.open(Options{DryRun: true})
		for _, a := range attempts {
			a.change(dry, s, false)
		}
		for i, fi := range times() {
			if !fi.ModTime().Equal(before[i].ModTime()) {
				t.Errorf("%s changed", fi.Name())
			}
		}
	})
}
