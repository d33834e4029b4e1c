//go:build !linux && !darwin

package tree

import (
	"time"
)

// Birth returns when a file was made: zero, for that is not known here.
func Birth(string, FileID) time.Time { return time.Time{} }

// Boot returns "": which start of the system this is, is not known here.
func Boot() string { return "" }
