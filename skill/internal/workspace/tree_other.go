//go:build !linux

package workspace

func openTree(dir string, _ bool) (tree, error) { return openRootTree(dir) }
