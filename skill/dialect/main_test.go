package dialect

import (
	"os"
	"testing"

	"textskill/skill"
)

func TestMain(m *testing.M) {
	skill.HelperMain()
	os.Exit(m.Run())
}
