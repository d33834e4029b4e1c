//go:build !linux && !darwin

package operation

import (
	"time"

	"textskill/operation/workspace"
)

// birth returns when a file was made: zero, for that is not known here.
func birth(string, workspace.FileID) time.Time { return time.Time{} }
