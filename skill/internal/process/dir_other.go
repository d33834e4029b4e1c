//go:build !linux

package process

import "textskill/skill/internal/workspace"

// holdDir has no name for an open folder but its path.
func holdDir(path string, _ workspace.FileID) (handle string, release func(), err error) {
	return path, func() {}, nil
}
