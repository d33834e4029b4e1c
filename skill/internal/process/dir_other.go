//go:build !linux

package process

import "textskill/skill/internal/workspace"

// openDirHandle returns path: only Linux has names for open directories.
func openDirHandle(path string, _ workspace.FileID) (handle string, release func(), err error) {
	return path, func() {}, nil
}
