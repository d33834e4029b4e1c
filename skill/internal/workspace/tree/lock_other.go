//go:build !unix

package tree

// TryLock does nothing: on this system folders are locked within one process only.
func TryLock(int, bool) (bool, error) { return true, nil }

// Unlock does nothing.
func Unlock(int) {}
