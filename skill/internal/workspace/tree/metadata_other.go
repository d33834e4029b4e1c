//go:build !linux

package tree

import "os"

// Datasync makes the content of a file durable.
func Datasync(f *os.File) error { return f.Sync() }

// FlushesAll is false on this system.
func FlushesAll(int) bool { return false }

// Syncfs does nothing on this system.
func Syncfs(Folder) error { return nil }

// Reserve does nothing on this system.
func Reserve(*os.File, int64) error { return nil }

// CopyAttributes does nothing on this system.
func CopyAttributes(dst, src *os.File) bool { return true }

// Attributes returns nothing on this system.
func Attributes(*os.File) map[string][]byte { return nil }

// SetAttributes does nothing on this system.
func SetAttributes(*os.File, map[string][]byte) bool { return true }

// AttributesSum returns "" on this system.
func AttributesSum(interface{ Fd() uintptr }) string { return "" }

// CopyMetadata gives f the owner and mode of old, which describes the file that f will replace. It
// returns false if it cannot.
func CopyMetadata(f *os.File, _ Folder, _ string, old Info) bool {
	return CopyMetadataFrom(f, File{}, old)
}

// CopyMetadataFrom is CopyMetadata.
func CopyMetadataFrom(f *os.File, _ File, old Info) bool {
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	if now := InfoOf(fi); now.UID != old.UID || now.GID != old.GID {
		if f.Chown(int(old.UID), int(old.GID)) != nil {
			return false
		}
	}
	return f.Chmod(old.Mode&^os.ModeType) == nil
}
