//go:build !unix

package tree

import "os"

// lockTemp makes no file: this system has no locks between processes that end with them.
func lockTemp(string) (*os.File, error) { return nil, nil }

func sweepTemp(string) {}
