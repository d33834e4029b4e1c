//go:build !linux

package tree

// HasWriter returns false: other systems do not tell.
func HasWriter(Folder, string) (bool, error) { return false, nil }
