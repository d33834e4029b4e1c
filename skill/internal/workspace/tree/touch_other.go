//go:build !unix

package tree

import (
	"os"
	"time"
)

// Touch sets the times of a file to now. It needs no room on the disk.
func Touch(f *os.File) error { return os.Chtimes(f.Name(), time.Now(), time.Now()) }
