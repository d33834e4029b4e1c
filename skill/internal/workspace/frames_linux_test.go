package workspace

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"textskill/skill/internal/workspace/tree"
)

// A probedTree counts the functions of this module between a test and the system call that names a new file.
type probedTree struct {
	tree.Tree
	frames *[]string
}

func (p probedTree) OpenFolder(rel string) (tree.Folder, error) {
	d, err := p.Tree.OpenFolder(rel)
	return probedFolder{d, p.frames}, err
}

type probedFolder struct {
	tree.Folder
	frames *[]string
}

func (p probedFolder) LinkUnnamed(f *os.File, name string) error {
	pc := make([]uintptr, 100)
	list := runtime.CallersFrames(pc[:runtime.Callers(1, pc)])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = list.Next()
		if strings.Contains(frame.Function, ".Test") {
			break
		}
		*p.frames = append(*p.frames, frame.Function)
	}
	return p.Folder.LinkUnnamed(f, name)
}

// A write can be followed: few functions lie between the operation and its system call. An executor adds two.
func TestFrames(t *testing.T) {
	s := newSite(t, false)
	w := s.open(Options{})
	var frames []string
	w.roots[0].tree = probedTree{w.roots[0].tree, &frames}
	c, err := w.WriteFile(bg, s.p("f"), []byte("new"), WriteOptions{})
	must(t, c, err)
	s.has("f", "new")
	if n := len(frames); n == 0 || n > 11 {
		t.Errorf("%d functions:\n%s", n, strings.Join(frames, "\n"))
	}
}
