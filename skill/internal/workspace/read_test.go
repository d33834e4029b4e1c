//go:build linux || darwin

package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"textskill/skill/internal/workspace/tree"

	"golang.org/x/sys/unix"

	"textskill/testdata/needs"
)

func TestReadFile(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		w := s.open(Options{})
		for _, n := range []int{0, 1, 511, 4095, 4096, 4097, 1 << 20} {
			want := bytes.Repeat([]byte{'x', 0, 0xff, '\r', '\n'}, n/5+1)[:n]
			s.put(s.p("f"), string(want))
			got, err := w.ReadFile(s.p("f"))
			if err != nil || got == nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes: %d, %v", n, len(got), err)
			}
		}
	})
}

// The errors for names that cannot be read, by system call.
func TestReadErrors(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("d/f", "file", "loop => loop", "dangling => missing", "todir => d")
		w := s.open(Options{})
		for _, c := range []struct {
			name   string
			op     string // of ReadFile and Open
			err    error
			listed error // of ReadDir
		}{
			{"d", "read", syscall.EISDIR, nil},
			{"todir", "read", syscall.EISDIR, nil},
			{"", "read", syscall.EISDIR, nil},
			{"missing", "open", syscall.ENOENT, syscall.ENOENT},
			{"missing/x", "open", syscall.ENOENT, syscall.ENOENT},
			{"dangling", "open", syscall.ENOENT, syscall.ENOENT},
			{"file/x", "open", syscall.ENOTDIR, syscall.ENOTDIR},
			{"loop", "open", syscall.ELOOP, syscall.ELOOP},
			{"file", "", nil, syscall.ENOTDIR},
		} {
			_, err := w.ReadFile(s.p(c.name))
			checkPathError(t, "ReadFile", err, c.op, s.p(c.name), c.err)
			f, _, err := w.Open(s.p(c.name))
			checkPathError(t, "Open", err, c.op, s.p(c.name), c.err)
			if (f == nil) != (err != nil) {
				t.Errorf("Open(%s): file %v with %v", c.name, f, err)
			}
			f.Close()
			_, err = w.ReadDir(s.p(c.name))
			checkPathError(t, "ReadDir", err, "scandir", s.p(c.name), c.listed)
			_, err = w.Stat(s.p(c.name), true)
			if c.err == syscall.EISDIR {
				c.err = nil
			}
			checkPathError(t, "Stat", err, "stat", s.p(c.name), c.err)
		}
	})
}

func checkPathError(t *testing.T, what string, err error, op, path string, want error) {
	t.Helper()
	if want == nil {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	pe, ok := err.(*fs.PathError)
	if !ok || pe.Op != op || pe.Path != path || pe.Err != want {
		t.Errorf("%s: %#v; want %s %s: %v", what, err, op, path, want)
	}
}

func TestUnreadable(t *testing.T) {
	if !asNobody(t) {
		return
	}
	each(t, func(t *testing.T, s *site) {
		s.layout("f=x", "shut/f=x", "blind/f=x")
		for name, mode := range map[string]fs.FileMode{"f": 0, "shut": 0, "blind": 0o300} {
			if err := os.Chmod(s.p(name), mode); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(s.p(name), 0o700)
		}
		w := s.open(Options{NoSync: true})
		_, err := w.ReadFile(s.p("f"))
		checkPathError(t, "ReadFile", err, "open", s.p("f"), syscall.EACCES)
		_, err = w.ReadFile(s.p("shut/f"))
		checkPathError(t, "ReadFile", err, "open", s.p("shut/f"), syscall.EACCES)
		_, err = w.ReadDir(s.p("shut"))
		checkPathError(t, "ReadDir", err, "scandir", s.p("shut"), syscall.EACCES)
		_, err = w.ReadDir(s.p("blind"))
		checkPathError(t, "ReadDir", err, "scandir", s.p("blind"), syscall.EACCES)
		// A folder that cannot be listed can be written in, for who knows the names.
		c, err := w.WriteFile(t.Context(), s.p("blind/f"), []byte("new"), WriteOptions{})
		if s.portable { // os.Root opens folders for reading only
			checkPathError(t, "WriteFile", err, "open", s.p("blind/f"), syscall.EACCES)
			return
		}
		must(t, c, err)
		s.has("blind/f", "new")
	})
}

func TestStat(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=12345", "d/", "l => f", "out => ../out/secret")
		then := time.Date(2001, 2, 3, 4, 5, 6, 789000000, time.UTC)
		if err := os.Chtimes(s.p("f"), then.Add(time.Hour), then); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(s.p("f"), 0o4751); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(s.p("d"), 0o1777|fs.ModeSticky); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(s.p("f"), s.p("f2")); err != nil {
			t.Fatal(err)
		}
		w := s.open(Options{})
		fi, err := os.Stat(s.p("f"))
		if err != nil {
			t.Fatal(err)
		}
		want := tree.InfoOf(fi)
		for _, name := range []string{"f", "l", "f2"} {
			got, err := w.Stat(s.p(name), true)
			if err != nil || !got.ModTime.Equal(then) || !got.Accessed.Equal(then.Add(time.Hour)) ||
				time.Since(got.Changed) > time.Minute ||
				got.Size != 5 || got.Links != 2 ||
				got.Mode != fi.Mode() || got.ID != want.ID ||
				got.UID != uint32(os.Getuid()) {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
		if got, err := w.Stat(s.p("d"), true); err != nil || !got.IsDir() || got.Mode&fs.ModeSticky == 0 {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err := w.Stat(s.p("out"), false); err != nil || !got.IsLink() {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err := w.Stat(s.p("out"), true); err == nil {
			t.Errorf("%+v", got)
		}
	})
}

func TestReadlink(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("d/l => ../../out/secret", "abs => /etc/passwd", "in => d", "f", "odd => "+odd())
		w := s.open(Options{})
		for name, want := range map[string]string{"d/l": "../../out/secret", "abs": "/etc/passwd",
			"in/l": "../../out/secret", "in": "d", "odd": odd()} {
			if got, err := w.Readlink(s.p(name)); got != want || err != nil {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		for name, want := range map[string]error{"f": syscall.EINVAL, "": syscall.EINVAL,
			"missing": syscall.ENOENT, "abs/x": nil} {
			_, err := w.Readlink(s.p(name))
			if want != nil {
				checkPathError(t, "Readlink", err, "readlink", s.p(name), want)
			} else if err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	})
}

func TestReadDir(t *testing.T) {
	needs.InMemory(t)
	each(t, func(t *testing.T, s *site) {
		s.layout("d/f", "d/sub/x", "d/l => f", "d/dangling => y", "d/"+odd(), "empty/")
		if err := syscall.Mkfifo(s.p("d/fifo"), 0o600); err != nil {
			t.Fatal(err)
		}
		w := s.open(Options{})
		list, err := w.ReadDir(s.p("d"))
		slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
		want := []Entry{{Name: "dangling", Type: fs.ModeSymlink}, {Name: "f"},
			{Name: "fifo", Type: fs.ModeNamedPipe},
			{Name: "l", Type: fs.ModeSymlink}, {Name: "sub", Type: fs.ModeDir}, {Name: odd()}}
		if err != nil || !slices.Equal(list, want) {
			t.Errorf("%v, %v; want %v", list, err, want)
		}
		if list, err := w.ReadDir(s.p("empty")); err != nil || len(list) != 0 {
			t.Errorf("%v, %v", list, err)
		}
		for n := range 3000 {
			s.layout(fmt.Sprintf("many/%0100d", n))
		}
		if list, err := w.ReadDir(s.p("many")); err != nil || len(list) != 3000 {
			t.Errorf("%d, %v", len(list), err)
		}
	})
}

// A file of 8 EB is not read into memory.
func TestReadHuge(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("huge", "small")
		if err := os.Truncate(s.p("huge"), 1<<43); err != nil {
			t.Fatal(err)
		}
		w := s.open(Options{})
		_, err := w.ReadFile(s.p("huge"))
		checkPathError(t, "ReadFile", err, "open", s.p("huge"), syscall.EFBIG)
		f, info, err := w.Open(s.p("huge"))
		if err != nil || info.Size != 1<<43 {
			t.Fatal(info, err)
		}
		f.Close()
		for _, c := range []struct {
			run func() (Change, error)
		}{
			{func() (Change, error) {
				return w.WriteFile(t.Context(), s.p("huge"), []byte("x"), WriteOptions{DryRun: true})
			}},
			{func() (Change, error) {
				return w.AppendFile(t.Context(), s.p("huge"), []byte("x"), WriteOptions{DryRun: true})
			}},
			{func() (Change, error) {
				return w.Copy(t.Context(), s.p("huge"), s.p("new"), CopyOptions{DryRun: true})
			}},
			{func() (Change, error) {
				return w.Copy(t.Context(), s.p("small"), s.p("huge"),
					CopyOptions{DryRun: true, Replace: true})
			}},
			{func() (Change, error) { return w.Remove(t.Context(), s.p("huge"), RemoveOptions{DryRun: true}) }},
		} {
			if c, err := c.run(); err != nil || c.Diff == "" || len(c.Diff) > 1000 {
				t.Errorf("%v: %v, %.200s", c, err, c.Diff)
			}
		}
	})
}

// Reading a FIFO, socket or device fails at once. It can be moved and removed.
func TestSpecialFiles(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		kinds := []string{"named pipe", "socket"}
		if err := syscall.Mkfifo(s.p("named pipe"), 0o666); err != nil {
			t.Fatal(err)
		}
		t.Chdir(s.dir) // the name of a socket is short
		l, err := net.Listen("unix", "socket")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := unix.Mknod(s.p("device"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err == nil {
			kinds = append(kinds, "device")
		} else if os.Geteuid() == 0 {
			t.Log(err)
		}
		w := s.open(Options{NoSync: true})
		for _, kind := range kinds {
			s.layout("l " + kind + " => " + kind)
			for _, name := range []string{kind, "l " + kind} {
				for _, o := range operations {
					if o.needs != "file" || o.name == "Stat" || o.name == "Remove" ||
						o.name == "ChangeFiles remove" || strings.HasPrefix(o.name, "Move") {
						continue
					}
					err := within(t, time.Minute, func() error { return o.run(w, s, s.p(name)) })
					special, ok := errors.AsType[*NotRegularError](err)
					if !ok || special.Kind != kind {
						t.Errorf("%s of %s: %v", o.name, name, err)
					}
				}
			}
			c, err := w.Move(t.Context(), s.p(kind), s.p("moved"), MoveOptions{})
			must(t, c, err)
			c, err = w.Remove(t.Context(), s.p("moved"), RemoveOptions{})
			must(t, c, err)
		}
	})
}

func TestSpecialFileInATree(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("d/a/f")
		if err := syscall.Mkfifo(s.p("d/a/fifo"), 0o666); err != nil {
			t.Fatal(err)
		}
		w := s.open(Options{NoSync: true})
		before := s.snapshot()
		err := within(t, time.Minute, func() error {
			return failed(w.Copy(t.Context(), s.p("d"), s.p("e"), CopyOptions{Tree: true}))
		})
		if _, ok := errors.AsType[*NotRegularError](err); !ok ||
			!strings.Contains(err.Error(), s.p("d/a/fifo")) {
			t.Error(err)
		}
		s.unchanged(before)
		c, err := w.Remove(t.Context(), s.p("d"), RemoveOptions{Tree: true})
		must(t, c, err)
	})
}

// within fails the test if do blocks.
func within(t *testing.T, d time.Duration, do func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(d):
		t.Fatal("it hangs")
		return nil
	}
}

// An open file keeps its content when another file takes its name.
func TestOpenStays(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=old content")
		w := s.open(Options{NoSync: true})
		f, info, err := w.Open(s.p("f"))
		if err != nil || info.Size != 11 {
			t.Fatal(info, err)
		}
		defer f.Close()
		c, err := w.WriteFile(t.Context(), s.p("f"), []byte("new"), WriteOptions{})
		must(t, c, err)
		if data, err := io.ReadAll(f); string(data) != "old content" || err != nil {
			t.Errorf("%q, %v", data, err)
		}
	})
}
