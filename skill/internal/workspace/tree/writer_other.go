//go:build !linux

package tree

import "time"

// HasWriter returns false: other systems do not tell.
func HasWriter(Folder, string, time.Duration) (bool, error) { return false, nil }
