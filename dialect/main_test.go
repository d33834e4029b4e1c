package dialect

import (
	"os"
	"testing"

	"textskill/operation"
)

func TestMain(m *testing.M) {
	operation.HelperMain()
	os.Exit(m.Run())
}
