//go:build !linux && !darwin

package skill

import (
	"time"

	"textskill/skill/internal/workspace"
)

// birth returns when a file was made: zero, for that is not known here.
func birth(string, workspace.FileID) time.Time { return time.Time{} }
