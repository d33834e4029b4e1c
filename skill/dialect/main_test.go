package dialect

import (
	"os"
	"testing"

	"textskill/skill"
	"textskill/testdata/needs"
)

func TestMain(m *testing.M) {
	skill.HelperMain()
	needs.Clean()
	remove := needs.OwnState()
	code := m.Run()
	remove()
	os.Exit(code)
}
