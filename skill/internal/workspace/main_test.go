package workspace

import (
	"os"
	"testing"

	"textskill/testdata/needs"
)

func TestMain(m *testing.M) {
	needs.Clean()
	os.Exit(m.Run())
}
