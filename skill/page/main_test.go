package page_test

import (
	"os"
	"testing"

	"textskill/testdata/needs"
)

func TestMain(m *testing.M) {
	needs.Clean()
	remove := needs.OwnState()
	code := m.Run()
	remove()
	os.Exit(code)
}
