package dialect

import (
	"os"
	"testing"

	"textskill/skill"
	"textskill/testdata/needs"
)

func TestMain(m *testing.M) {
	skill.HelperMain()
	os.Exit(needs.Run(m))
}
