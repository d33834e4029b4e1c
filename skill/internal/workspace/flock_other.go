//go:build !unix

package workspace

// tryFlock does nothing: on this system folders are locked within one Workspace only.
func tryFlock(int, bool) (bool, error) { return true, nil }

func unlock(int) {}
