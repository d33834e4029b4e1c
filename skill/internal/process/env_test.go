package process

import (
	"slices"
	"testing"
)

func TestLookProgramDefaultsToTheSystemsFolders(t *testing.T) {
	path, err := LookProgram("sh", "/", nil)
	if err != nil || !slices.Contains([]string{"/bin/sh", "/usr/bin/sh"}, path) {
		t.Errorf("%q, %v", path, err)
	}
}
