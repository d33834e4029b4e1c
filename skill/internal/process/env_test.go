package process

import (
	"slices"
	"testing"

	"textskill/testdata/needs"
)

func TestLookProgramWithoutPATHSearchesBin(t *testing.T) {
	needs.Shell(t)
	path, err := lookProgram("sh", "/", nil)
	if err != nil || !slices.Contains([]string{"/bin/sh", "/usr/bin/sh"}, path) {
		t.Errorf("%q, %v", path, err)
	}
}
