package search

import (
	"path/filepath"
	"strings"
)

// The records of experts' runs, perstack/runs in the workspace, are conversations: what
// is searched for is in them, too.
const (
	recordsParent = "perstack"
	recordsName   = "runs"
)

// IsRecords reports whether a path is that of the records of the workspace. Both are absolute
// and clean.
func IsRecords(workspace, path string) bool {
	return path == filepath.Join(workspace, recordsParent, recordsName)
}

// aboveRecords returns the folder that holds the records of the workspace, relative to base,
// with slashes. If they are not below base it returns what no folder is called.
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
