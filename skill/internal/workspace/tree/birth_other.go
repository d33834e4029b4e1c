//go:build !linux && !darwin

package tree

import (
	"time"
)

// Birth returns zero: the creation time is unknown on this system.
func Birth(string, FileID) time.Time { return time.Time{} }

// Boot returns "": the ID of the boot is unknown on this system.
func Boot() string { return "" }
