package textskill_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestSkipsHaveReasons has every test that is skipped say why, or what to install.
func TestSkipsHaveReasons(t *testing.T) {
	silent := regexp.MustCompile(`\b\w+\.(SkipNow\(|Skipf?\(\s*(""\s*)?\))`)
	for _, file := range sources(t) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range silent.FindAllIndex(data, -1) {
			t.Errorf("%s:%d: %s gives no reason", file, 1+bytes.Count(data[:at[0]], []byte("\n")),
				data[at[0]:at[1]])
		}
	}
}
