//go:build !linux

package workspace

import "os"

// announce has no counterpart on this system.
func announce(*os.File, bool) {}

func announced(*os.File) bool { return false }
