//go:build linux || darwin

package workspace

import (
	"cmp"
	"syscall"
	"testing"
)

func TestRemove(t *testing.T) {
	file, folder, tree := RemoveOptions{}, RemoveOptions{Folder: true}, RemoveOptions{Tree: true}
	for _, c := range []struct {
		name   string
		layout []string
		path   string
		o      RemoveOptions
		want   []string // what stays
		op     string
		err    error
	}{
		{"file", []string{"a=x", "b=y"}, "a", file, []string{"b=y"}, "", nil},
		{"file as a folder", []string{"a=x"}, "a", folder, []string{"a=x"}, "rmdir", syscall.ENOTDIR},
		{"file as a tree", []string{"a=x"}, "a", tree, nil, "", nil},
		{"missing", nil, "a", file, nil, "unlink", syscall.ENOENT},
		{"missing folder", nil, "a", folder, nil, "rmdir", syscall.ENOENT},
		{"missing tree", nil, "a", tree, nil, "unlink", syscall.ENOENT},
		{"in a missing folder", nil, "a/b", file, nil, "unlink", syscall.ENOENT},
		{"below a file", []string{"a=x"}, "a/b", file, nil, "unlink", syscall.ENOTDIR},
		{"folder as a file", []string{"a/"}, "a", file, []string{"a/"}, "unlink", syscall.EISDIR},
		{"empty folder", []string{"a/"}, "a", folder, nil, "", nil},
		{"full folder", []string{"a/b=x"}, "a", folder, []string{"a/b=x"}, "rmdir", syscall.ENOTEMPTY},
		{"empty tree", []string{"a/"}, "a", tree, nil, "", nil},
		{"tree", []string{"a/b/c/d=x", "a/e=y", "a/f/"}, "a", tree, nil, "", nil},
		{"link", []string{"a=x", "l => a"}, "l", file, []string{"a=x"}, "", nil},
		{"link as a folder", []string{"a/b=x", "l => a"}, "l", folder, []string{"a/b=x"}, "rmdir",
			syscall.ENOTDIR},
		{"link to a tree", []string{"a/b=x", "l => a"}, "l", tree, []string{"a/b=x"}, "", nil},
		{"link to outside", []string{"l => ../out"}, "l", tree, nil, "", nil},
		{"dangling link", []string{"l => a"}, "l", file, nil, "", nil},
		{"tree with links", []string{"a/l => ../b", "a/m => ../../out", "a/n => .", "b/c=x"}, "a", tree,
			[]string{"b/c=x"}, "", nil},
		{"through a link", []string{"a/b=x", "a/c=y", "l => a"}, "l/b", file, []string{"a/c=y"}, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				s.layout(c.layout...)
				w := s.open(Options{NoSync: true})
				before := s.snapshot()
				dry := c.o
				dry.DryRun = true
				_, err := w.Remove(t.Context(), s.p(c.path), dry)
				checkPathError(t, "dry run", err, c.op, s.p(c.path), c.err)
				s.unchanged(before)
				got, err := w.Remove(t.Context(), s.p(c.path), c.o)
				checkPathError(t, "Remove", err, c.op, s.p(c.path), c.err)
				if got.Applied != (c.err == nil) || got.Kind != Delete || got.Path != s.p(c.path) {
					t.Errorf("%+v", got)
				}
				if c.err != nil {
					s.unchanged(before)
				} else {
					s.lacks(c.path)
				}
				s.holds(c.want...)
				s.lacks(tempName)
				s.outside(before)
			})
		})
	}
}

func TestMakeDir(t *testing.T) {
	for _, c := range []struct {
		name   string
		layout []string
		path   string
		want   string
		at     string // the path of the error, where it is not path
		err    error
	}{
		{"new", nil, "a", "a", "", nil},
		{"deep", nil, "a/b/c", "a/b/c", "", nil},
		{"below one that is there", []string{"a/f=x"}, "a/b/c", "a/b/c", "", nil},
		{"there", []string{"a/f=x"}, "a", "a", "", nil},
		{"the workspace", nil, "", ".", "", nil},
		{"a file", []string{"a=x"}, "a", "", "", syscall.EEXIST},
		{"below a file", []string{"a=x"}, "a/b", "", "", syscall.ENOTDIR},
		{"deep below a file", []string{"a=x"}, "a/b/c", "", "", syscall.ENOTDIR},
		{"link to a folder", []string{"a/", "l => a"}, "l", "a", "", nil},
		{"link to a file", []string{"a=x", "l => a"}, "l", "", "", syscall.EEXIST},
		{"dangling link", []string{"l => a"}, "l", "", "", syscall.ENOENT},
		{"below a dangling link", []string{"l => a"}, "l/b", "", "l", syscall.ENOTDIR},
		{"through a link", []string{"a/", "l => a"}, "l/b/c", "a/b/c", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				s.layout(c.layout...)
				w := s.open(Options{NoSync: true})
				at := s.p(cmp.Or(c.at, c.path))
				before := s.snapshot()
				_, err := w.MakeDir(t.Context(), s.p(c.path), true)
				checkPathError(t, "dry run", err, "mkdir", at, c.err)
				s.unchanged(before)
				got, err := w.MakeDir(t.Context(), s.p(c.path), false)
				checkPathError(t, "MakeDir", err, "mkdir", at, c.err)
				if got.Applied != (c.err == nil) || got.Kind != Mkdir || got.Path != s.p(c.path) {
					t.Errorf("%+v", got)
				}
				if c.err != nil {
					s.unchanged(before)
				} else {
					isFolder(s, c.want)
				}
				s.outside(before)
			})
		})
	}
}
