package search

import (
	"path/filepath"
	"strings"
)

// The records of experts' runs are in perstack/runs of the workspace. Walks skip them, because
// these conversations also contain the text that a search looks for.
const (
	recordsParent = "perstack"
	recordsName   = "runs"
)

// IsRecords reports whether path is the folder of the run records of the workspace. Both paths are
// absolute and clean.
func IsRecords(workspace, path string) bool {
	return path == filepath.Join(workspace, recordsParent, recordsName)
}

// aboveRecords returns the path of the folder perstack relative to base, with slashes. If it is not
// below base, aboveRecords returns a string that is not a valid path.
func aboveRecords(workspace, base string) string {
	rel, err := filepath.Rel(base, filepath.Join(workspace, recordsParent))
	switch {
	case err != nil || strings.HasPrefix(rel, ".."):
		return "\x00"
	case rel == ".":
		return ""
	}
	return filepath.ToSlash(rel)
}
