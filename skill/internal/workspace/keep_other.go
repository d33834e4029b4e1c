//go:build !linux

package workspace

import "os"

func datasync(f *os.File) error { return f.Sync() }

// syncAll has no counterpart on this system.
func syncAll(folder) error { return nil }

// reserve promises nothing on this system.
func reserve(*os.File, int64) error { return nil }

// keepAll gives f the owner and mode of the file that it is about to replace.
// It returns false where they cannot be kept.
func keepAll(f *os.File, _ folder, _ string, old Info) bool {
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	if now := infoOf(fi); now.UID != old.UID || now.GID != old.GID {
		if f.Chown(int(old.UID), int(old.GID)) != nil {
			return false
		}
	}
	return f.Chmod(old.Mode&^os.ModeType) == nil
}
