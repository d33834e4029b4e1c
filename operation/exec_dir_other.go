//go:build !linux

package operation

import "textskill/operation/workspace"

// holdDir has no name for an open folder but its path.
func holdDir(path string, _ workspace.FileID) (handle string, release func(), err error) {
	return path, func() {}, nil
}
