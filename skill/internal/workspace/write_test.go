//go:build linux || darwin

package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"textskill/skill/internal/workspace/tree"
)

var writeCases = []struct {
	name   string
	layout []string
	path   string
	o      WriteOptions
	want   string // the file that then holds the new content
	op     string // of the error
	at     string // its path, where it is not path
	err    error
}{
	{"new", nil, "f", WriteOptions{}, "f", "", "", nil},
	{"existing", []string{"f=old"}, "f", WriteOptions{}, "f", "", "", nil},
	{"in a folder", []string{"d/e/"}, "d/e/f", WriteOptions{}, "d/e/f", "", "", nil},
	{"no folder", nil, "d/f", WriteOptions{}, "", "open", "", syscall.ENOENT},
	{"no folder above the folder", nil, "d/e/f", WriteOptions{}, "", "open", "", syscall.ENOENT},
	{"folders made", nil, "d/e/f", WriteOptions{Parents: true}, "d/e/f", "", "", nil},
	{"folders there", []string{"d/e/"}, "d/e/f", WriteOptions{Parents: true}, "d/e/f", "", "", nil},
	{"some folders there", []string{"d/"}, "d/e/g/f", WriteOptions{Parents: true}, "d/e/g/f", "", "", nil},
	{"folders made through a link", []string{"d/", "l => d"}, "l/e/f", WriteOptions{Parents: true}, "d/e/f",
		"", "", nil},
	{"a file for a folder", []string{"d=x"}, "d/f", WriteOptions{}, "", "open", "", syscall.ENOTDIR},
	{"a file for a folder to make", []string{"d=x"}, "d/f", WriteOptions{Parents: true}, "", "mkdir",
		"d", syscall.EEXIST},
	{"a file above a folder to make", []string{"d=x"}, "d/e/f", WriteOptions{Parents: true}, "", "mkdir",
		"d/e", syscall.ENOTDIR},
	{"a folder for a file", []string{"f/"}, "f", WriteOptions{}, "", "open", "", syscall.EISDIR},
	{"a full folder for a file", []string{"f/x"}, "f", WriteOptions{Parents: true}, "", "open", "",
		syscall.EISDIR},
	{"must be new and is", nil, "f", WriteOptions{NoReplace: true}, "f", "", "", nil},
	{"must be new", []string{"f=old"}, "f", WriteOptions{NoReplace: true}, "", "open", "", syscall.EEXIST},
	{"must be new, a folder", []string{"f/"}, "f", WriteOptions{NoReplace: true}, "", "open", "",
		syscall.EEXIST},
	{"must be new, behind a link", []string{"l => f", "f=old"}, "l", WriteOptions{NoReplace: true}, "",
		"open", "", syscall.EEXIST},
	{"through a link", []string{"l => d/f", "d/f=old"}, "l", WriteOptions{}, "d/f", "", "", nil},
	{"through a dangling link", []string{"l => d/f", "d/"}, "l", WriteOptions{}, "d/f", "", "", nil},
	{"through links to a file that is new", []string{"l => m", "m => $WS/f"}, "l",
		WriteOptions{NoReplace: true}, "f", "", "", nil},
	{"dangling into nowhere", []string{"l => d/f"}, "l", WriteOptions{}, "", "open", "", syscall.ENOENT},
	{"dangling, made", []string{"l => d/f"}, "l", WriteOptions{Parents: true}, "d/f", "", "", nil},
	{"a dangling link for a folder", []string{"l => d"}, "l/f", WriteOptions{Parents: true}, "", "mkdir",
		"l", syscall.ENOENT},
	{"a dangling link above a folder to make", []string{"l => d"}, "l/e/f", WriteOptions{Parents: true},
		"", "mkdir", "l", syscall.ENOTDIR},
	{"a circle above a folder to make", []string{"l => l"}, "l/e/f", WriteOptions{Parents: true}, "",
		"mkdir", "l/e", syscall.ELOOP},
	{"a link in a circle", []string{"l => l"}, "l", WriteOptions{}, "", "open", "", syscall.ELOOP},
	{"a name that is no text", nil, odd(), WriteOptions{}, odd(), "", "", nil},
	{"a name as long as can be", nil, strings.Repeat("n", 255), WriteOptions{}, strings.Repeat("n", 255),
		"", "", nil},
}

func TestWriteFile(t *testing.T) {
	for _, c := range writeCases {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				s.layout(c.layout...)
				w := s.open(Options{})
				before := s.snapshot()
				for _, run := range []struct {
					kind Kind
					do   func(WriteOptions) (Change, error)
				}{
					{Write, func(o WriteOptions) (Change, error) {
						return w.WriteFile(t.Context(), s.p(c.path), []byte("a\r\n\xff\x00"), o)
					}},
					{Append, func(o WriteOptions) (Change, error) {
						os.Truncate(s.p(c.want), 0)
						return w.AppendFile(t.Context(), s.p(c.path), []byte("a\r\n\xff\x00"), o)
					}},
				} {
					got, err := run.do(c.o)
					if c.o.NoReplace && run.kind == Append && c.err == nil {
						continue // the write before it made the file
					}
					at := c.at
					if at == "" {
						at = c.path
					}
					checkPathError(t, string(run.kind), err, c.op, s.p(at), c.err)
					if got.Kind != run.kind || got.Path != s.p(c.path) || got.Applied != (c.err == nil) ||
						got.Diff != "" {
						t.Errorf("%+v", got)
					}
					if c.err != nil {
						s.unchanged(before)
						continue
					}
					s.has(c.want, "a\r\n\xff\x00")
				}
				s.lacks(tempName)
			})
		})
	}
}

func TestWriteMode(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		defer syscall.Umask(syscall.Umask(0o027))
		w := s.open(Options{NoSync: true})
		c, err := w.WriteFile(t.Context(), s.p("d/f"), nil, WriteOptions{Parents: true})
		must(t, c, err)
		c, err = w.AppendFile(t.Context(), s.p("g"), nil, WriteOptions{})
		must(t, c, err)
		c, err = w.MakeDir(t.Context(), s.p("e"), false)
		must(t, c, err)
		for name, want := range map[string]fs.FileMode{"d": 0o750 | fs.ModeDir, "d/f": 0o640, "g": 0o640,
			"e": 0o750 | fs.ModeDir} {
			if info, err := w.Stat(s.p(name), true); err != nil || info.Mode != want {
				t.Errorf("%s: %v, %v; want %v", name, info.Mode, err, want)
			}
		}
	})
}

func TestAppendFile(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=one", "l => f")
		fi, err := os.Stat(s.p("f"))
		if err != nil {
			t.Fatal(err)
		}
		w := s.open(Options{})
		for _, text := range []string{"\r\n", "", "\xef\xbb\xbftwo", "\x00"} {
			c, err := w.AppendFile(t.Context(), s.p("l"), []byte(text), WriteOptions{})
			must(t, c, err)
		}
		s.has("f", "one\r\n\xef\xbb\xbftwo\x00")
		if info, err := w.Stat(s.p("f"), true); err != nil || info.ID != tree.InfoOf(fi).ID {
			t.Errorf("another file: %+v, %v", info, err)
		}
		_, err = w.AppendFile(t.Context(), s.p("f"), []byte("x"), WriteOptions{NoReplace: true})
		checkPathError(t, "AppendFile", err, "open", s.p("f"), syscall.EEXIST)
	})
}

// An edit changes only the bytes of its splice.
func TestEditFile(t *testing.T) {
	for _, c := range []struct{ content, old, new, want string }{
		{"a b c", "b", "B", "a B c"},
		{"a b c", "b", "", "a  c"},
		{"a b c", "", "x", "xa b c"},
		{"", "", "x", "x"},
		{"abc", "abc", "", ""},
		{"abc", "c", "cdefg", "abcdefg"},
		{"\xef\xbb\xbfa\r\nb\r\n", "b", "$1$&\\1", "\xef\xbb\xbfa\r\n$1$&\\1\r\n"},
		{"\xff\xfe\x00x\xc3", "x", "\x00", "\xff\xfe\x00\x00\xc3"},
		{"x x", "x", "y", "y x"},
		{strings.Repeat("0123456789", 1<<17) + "end", "end", "END",
			strings.Repeat("0123456789", 1<<17) + "END"},
	} {
		each(t, func(t *testing.T, s *site) {
			s.layout("d/f="+c.content, "l => d/f")
			if err := os.Chmod(s.p("d/f"), 0o640); err != nil {
				t.Fatal(err)
			}
			w := s.open(Options{})
			got, err := w.EditFile(t.Context(), s.p("l"), WriteOptions{}, swap(c.old, c.new))
			must(t, got, err)
			s.has("d/f", c.want)
			if info, err := w.Stat(s.p("d/f"), false); err != nil || info.Mode != 0o640 {
				t.Errorf("%v, %v", info.Mode, err)
			}
			if fi, err := os.Lstat(s.p("l")); err != nil || fi.Mode().Type() != fs.ModeSymlink {
				t.Errorf("the link is %v, %v", fi, err)
			}
		})
	}
}

func TestEditErrors(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=content", "d/")
		w := s.open(Options{})
		before := s.snapshot()
		mine := errors.New("mine")
		for _, dry := range []bool{false, true} {
			edit := func(name string, sp Splice, ferr error) error {
				c, err := w.EditFile(t.Context(), s.p(name), WriteOptions{DryRun: dry},
					func(src io.ReaderAt, size int64) (Splice, error) {
						if size != 7 {
							t.Errorf("size %d", size)
						}
						return sp, ferr
					})
				if c.Applied || err == nil {
					t.Errorf("%s %+v: %+v, %v", name, sp, c, err)
				}
				return err
			}
			if err := edit("f", Splice{}, mine); err != mine {
				t.Error(err)
			}
			for _, sp := range []Splice{{Offset: -1}, {Offset: 8}, {Old: 8}, {Offset: 7, Old: 1}, {Old: -1},
				{Offset: 2, Old: 1<<63 - 1}, {Offset: 1<<63 - 1, Old: 1}} {
				edit("f", sp, nil)
			}
			checkPathError(t, "EditFile", edit("missing", Splice{}, nil), "open", s.p("missing"),
				syscall.ENOENT)
			checkPathError(t, "EditFile", edit("d", Splice{}, nil), "open", s.p("d"), syscall.EISDIR)
			checkPathError(t, "EditFile", edit("f/x", Splice{}, nil), "open", s.p("f/x"), syscall.ENOTDIR)
			checkPathError(t, "EditFile", edit("d/x/y", Splice{}, nil), "open", s.p("d/x/y"), syscall.ENOENT)
		}
		s.unchanged(before)
	})
}

// A failed change removes only the folders that it made.
func TestFoldersGoBack(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("there/", "dir/f", "file=x")
		w := s.open(Options{NoSync: true})
		before := s.snapshot()
		long := strings.Repeat("n", 300)
		for _, to := range []string{"new/" + long, "new/deep/er/" + long, "there/new/" + long,
			"there/" + long} {
			for _, err := range []error{
				failed(w.WriteFile(t.Context(), s.p(to), nil, WriteOptions{Parents: true})),
				failed(w.AppendFile(t.Context(), s.p(to), nil, WriteOptions{Parents: true})),
				failed(w.MakeDir(t.Context(), s.p(to), false)),
				failed(w.Copy(t.Context(), s.p("file"), s.p(to), CopyOptions{Parents: true})),
				failed(w.Copy(t.Context(), s.p("dir"), s.p(to), CopyOptions{Parents: true, Tree: true})),
				failed(w.Move(t.Context(), s.p("file"), s.p(to), MoveOptions{Parents: true})),
				failed(w.Move(t.Context(), s.p("dir"), s.p(to), MoveOptions{Parents: true})),
			} {
				if !errors.Is(err, syscall.ENAMETOOLONG) {
					t.Errorf("%.60s: %v", to, err)
				}
				s.unchanged(before)
			}
		}
	})
}

// TestFolderNameTooLong writes below a folder with an invalid name: making the folder fails, at any depth
// of the file.
func TestFolderNameTooLong(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		w := s.open(Options{NoSync: true})
		long := strings.Repeat("n", 300)
		for _, dir := range []string{long, "a/" + long, long + "/x", "a/" + long + "/x/y"} {
			for _, err := range []error{
				failed(w.WriteFile(t.Context(), s.p(dir+"/f"), nil, WriteOptions{Parents: true})),
				failed(w.AppendFile(t.Context(), s.p(dir+"/f"), nil, WriteOptions{Parents: true})),
			} {
				pe, ok := errors.AsType[*fs.PathError](err)
				if !ok || pe.Op != "mkdir" || pe.Path != s.p(dir) || pe.Err != syscall.ENAMETOOLONG {
					t.Errorf("below %.10s: %.100s", dir, err)
				}
			}
		}
	})
}

// A canceled change leaves nothing, and returns the context's error.
func TestCanceled(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=content", "d/f=content", spare+"=new", spareTree+"/f=new")
		w := s.open(Options{NoSync: true})
		before := s.unspared()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range []error{
			failed(w.WriteFile(ctx, s.p("x/y"), nil, WriteOptions{Parents: true})),
			failed(w.AppendFile(ctx, s.p("f"), []byte("x"), WriteOptions{})),
			failed(w.EditFile(ctx, s.p("f"), WriteOptions{}, swap("c", "C"))),
			failed(w.MakeDir(ctx, s.p("x/y"), false)),
			failed(w.Copy(ctx, s.p("f"), s.p("x"), CopyOptions{})),
			failed(w.Copy(ctx, s.p("d"), s.p("x"), CopyOptions{Tree: true})),
			failed(w.Move(ctx, s.p("d"), s.p("x"), MoveOptions{})),
			failed(w.Remove(ctx, s.p("d"), RemoveOptions{Tree: true})),
		} {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		if after := s.unspared(); after != before {
			t.Errorf("changed\n%s\nto\n%s", before, after)
		}
	})
}
