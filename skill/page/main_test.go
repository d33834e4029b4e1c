package page_test

import (
	"os"
	"testing"

	"textskill/testdata/needs"
)

func TestMain(m *testing.M) {
	os.Exit(needs.Run(m))
}
