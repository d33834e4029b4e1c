//go:build !linux

package tree

// Open opens the folder dir for confined access.
func Open(dir string, _ bool) (Tree, error) { return openRootTree(dir) }
