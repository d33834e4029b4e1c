package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyTemplatesWriteHTML looks for code outside of page.html that converts text to HTML.
func TestOnlyTemplatesWriteHTML(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "template.go" {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"HTML", "HTMLAttr", "URL", "JS", "CSS", "Srcset"} {
			if strings.Contains(string(data), "template."+kind+"(") {
				t.Errorf("%s takes text for template.%s", name, kind)
			}
		}
	}
}
