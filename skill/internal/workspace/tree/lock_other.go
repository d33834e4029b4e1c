//go:build !unix

package tree

// TryLock does nothing: this system has no locks between processes.
func TryLock(int, bool) (bool, error) { return true, nil }

// Unlock does nothing.
func Unlock(int) {}
