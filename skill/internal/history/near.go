package history

import (
	"sync"

	"textskill/skill/internal/workspace/tree"
)

// A nearby keeps the folder of the last path open. Most paths of a look lie beside the one before, and the plan of an
// undo looks several times at each. It may be a moment old: each step of the undo opens its folder anew.
type nearby struct {
	mu   sync.Mutex
	tree tree.Tree
	rel  string
	last *lentFolder
}

// A lentFolder is a folder that closes with the last of its users. The nearby is one of them.
type lentFolder struct {
	tree.Folder
	near  *nearby
	users int
}

// open is [tree.Tree.OpenFolder].
func (n *nearby) open(t tree.Tree, rel string) (tree.Folder, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == nil || n.tree != t || n.rel != rel {
		d, err := t.OpenFolder(rel)
		if err != nil {
			return nil, err
		}
		n.last.release()
		n.tree, n.rel, n.last = t, rel, &lentFolder{d, n, 1}
	}
	n.last.users++
	return n.last, nil
}

func (n *nearby) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last.release()
	n.last = nil
}

// Close implements [tree.Folder].
func (f *lentFolder) Close() error {
	f.near.mu.Lock()
	defer f.near.mu.Unlock()
	return f.release()
}

// release is Close with the lock held. It does nothing for a nil lentFolder.
func (f *lentFolder) release() error {
	if f == nil {
		return nil
	}
	if f.users--; f.users > 0 {
		return nil
	}
	return f.Folder.Close()
}
