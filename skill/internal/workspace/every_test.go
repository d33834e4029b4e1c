//go:build linux || darwin

package workspace

import (
	"context"
	"iter"
	"os"
	"slices"
	"strings"
)

// operation is one way to use a name, for tests that apply to all operations.
type operation struct {
	name    string
	needs   string // what the name must lead to: "file", "folder", "nothing", "link"
	follow  bool   // a link in the last part is followed
	changes bool
	run     func(w *Workspace, s *site, abs string) error
	// done checks what the operation did to the name rel that abs led to.
	done func(s *site, rel string)
}

// Every site may hold these besides the tested name.
const (
	spare     = "spare"      // a file
	spareTree = "spare-tree" // a folder with a file "f"
)

func stays(s *site, rel string) { s.has(rel, "content") }
func gone(s *site, rel string)  { s.lacks(rel) }
func written(s *site, rel string) {
	s.t.Helper()
	s.has(rel, "new")
}

var bg = context.Background()

func failed[T any](_ T, err error) error { return err }

// listed returns what [Workspace.History] iterates over, the oldest first.
func listed(all iter.Seq2[HistoryEntry, error]) (list []HistoryEntry, err error) {
	for e, err := range all {
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	slices.Reverse(list)
	return list, nil
}

var operations = []operation{
	{"ReadFile", "file", true, false, func(w *Workspace, s *site, abs string) error {
		data, err := w.ReadFile(abs)
		if err == nil && string(data) != "content" {
			s.t.Errorf("ReadFile(%s) = %q", abs, data)
		}
		return err
	}, stays},
	{"Open", "file", true, false, func(w *Workspace, s *site, abs string) error {
		f, info, err := w.Open(abs)
		if err == nil {
			buf := make([]byte, 20)
			if n, _ := f.Read(buf); string(buf[:n]) != "content" || info.Size != 7 {
				s.t.Errorf("Open(%s) = %q, %+v", abs, buf[:n], info)
			}
			f.Close()
		}
		return err
	}, stays},
	{"Stat", "file", true, false, func(w *Workspace, s *site, abs string) error {
		info, err := w.Stat(abs, true)
		if err == nil && (info.Size != 7 || !info.Mode.IsRegular()) {
			s.t.Errorf("Stat(%s) = %+v", abs, info)
		}
		return err
	}, stays},
	{"Stat folder", "folder", true, false, func(w *Workspace, s *site, abs string) error {
		info, err := w.Stat(abs, true)
		if err == nil && !info.IsDir() {
			s.t.Errorf("Stat(%s) = %+v", abs, info)
		}
		return err
	}, nil},
	{"ReadDir", "folder", true, false, func(w *Workspace, s *site, abs string) error {
		list, err := w.ReadDir(abs)
		if err == nil && (len(list) != 1 || list[0].Name != "f") {
			s.t.Errorf("ReadDir(%s) = %v", abs, list)
		}
		return err
	}, nil},
	{"Readlink", "link", false, false, func(w *Workspace, s *site, abs string) error {
		return failed(w.Readlink(abs))
	}, nil},
	{"Stat link", "link", false, false, func(w *Workspace, s *site, abs string) error {
		info, err := w.Stat(abs, false)
		if err == nil && !info.IsLink() {
			s.t.Errorf("Stat(%s, false) = %+v", abs, info)
		}
		return err
	}, nil},
	{"WriteFile", "file", true, true, func(w *Workspace, s *site, abs string) error {
		return failed(w.WriteFile(bg, abs, []byte("new"), WriteOptions{}))
	}, written},
	{"WriteFile new", "nothing", true, true, func(w *Workspace, s *site, abs string) error {
		return failed(w.WriteFile(bg, abs, []byte("new"), WriteOptions{NoReplace: true}))
	}, written},
	{"WriteFile below", "folder", true, true, func(w *Workspace, s *site, abs string) error {
		return failed(w.WriteFile(bg, abs+"/x/y", []byte("new"), WriteOptions{Parents: true}))
	}, func(s *site, rel string) { s.has(rel+"/x/y", "new") }},
	{"AppendFile", "file", true, true, func(w *Workspace, s *site, abs string) error {
		return failed(w.AppendFile(bg, abs, []byte("+"), WriteOptions{}))
	}, func(s *site, rel string) { s.has(rel, "content+") }},
	{"EditFile", "file", true, true, func(w *Workspace, s *site, abs string) error {
		return failed(w.EditFile(bg, abs, WriteOptions{}, swap("content", "new")))
	}, written},
	{"ChangeFiles", "file", true, true, func(w *Workspace, s *site, abs string) error {
		return failed(w.ChangeFiles(bg,
			fixed(FileChange{Path: abs, Before: []byte("content"), After: []byte("new")})))
	}, written},
	{"ChangeFiles remove", "file", false, true, func(w *Workspace, s *site, abs string) error {
		return failed(w.ChangeFiles(bg, fixed(FileChange{Path: abs, Before: []byte("content")})))
	}, gone},
	{"MakeDir", "folder", true, true, func(w *Workspace, s *site, abs string) error {
		return failed(w.MakeDir(bg, abs+"/x/y", false))
	}, func(s *site, rel string) { s.lacks(rel + "/x/y/z"); isFolder(s, rel+"/x/y") }},
	{"Remove", "file", false, true, func(w *Workspace, s *site, abs string) error {
		return failed(w.Remove(bg, abs, RemoveOptions{}))
	}, gone},
	{"Remove tree", "folder", false, true, func(w *Workspace, s *site, abs string) error {
		return failed(w.Remove(bg, abs, RemoveOptions{Tree: true}))
	}, gone},
	{"Copy from", "file", true, true, func(w *Workspace, s *site, abs string) error {
		err := failed(w.Copy(bg, abs, s.p("copied"), CopyOptions{}))
		if err == nil {
			s.has("copied", "content")
		}
		return err
	}, stays},
	{"Copy to", "file", true, true, func(w *Workspace, s *site, abs string) error {
		s.layout(spare + "=new")
		return failed(w.Copy(bg, s.p(spare), abs, CopyOptions{Replace: true}))
	}, written},
	{"Copy tree from", "folder", true, true, func(w *Workspace, s *site, abs string) error {
		err := failed(w.Copy(bg, abs, s.p("copied"), CopyOptions{Tree: true}))
		if err == nil {
			s.has("copied/f", "content")
		}
		return err
	}, func(s *site, rel string) { s.has(rel+"/f", "content") }},
	{"Copy tree to", "nothing", true, true, func(w *Workspace, s *site, abs string) error {
		s.layout(spareTree + "/f=new")
		return failed(w.Copy(bg, s.p(spareTree), abs, CopyOptions{Tree: true}))
	}, func(s *site, rel string) { s.has(rel+"/f", "new") }},
	{"Move from", "file", false, true, func(w *Workspace, s *site, abs string) error {
		err := failed(w.Move(bg, abs, s.p("moved"), MoveOptions{}))
		if _, lerr := os.Lstat(s.p("moved")); err == nil && lerr != nil {
			s.t.Error(lerr)
		}
		return err
	}, gone},
	{"Move to", "file", false, true, func(w *Workspace, s *site, abs string) error {
		s.layout(spare + "=new")
		return failed(w.Move(bg, s.p(spare), abs, MoveOptions{}))
	}, written},
	{"Move tree from", "folder", false, true, func(w *Workspace, s *site, abs string) error {
		return failed(w.Move(bg, abs, s.p("moved"), MoveOptions{}))
	}, gone},
}

func isFolder(s *site, rel string) {
	s.t.Helper()
	if fi, err := os.Lstat(s.p(rel)); err != nil || !fi.IsDir() {
		s.t.Errorf("%s: %v; want a folder", rel, err)
	}
}

// unspared is snapshot without the files that Copy to and Move to create.
func (s *site) unspared() string {
	var keep []string
	for line := range strings.Lines(s.snapshot()) {
		if !strings.HasPrefix(line, "ws/"+spare) {
			keep = append(keep, line)
		}
	}
	return strings.Join(keep, "")
}

// place makes what the operation needs at rel.
func (o operation) place(s *site, rel string) {
	s.t.Helper()
	switch o.needs {
	case "file":
		s.layout(rel + "=content")
	case "folder":
		s.layout(rel + "/f=content")
	}
}
