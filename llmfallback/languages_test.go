package llmfallback

import (
	"os"
	"strings"
	"testing"
)

// The right answers of a model to requests in six languages are carried out where nothing is lost; what
// deletes or overwrites asks; a negation, a question about the past and a quotation do nothing.
func TestLanguages(t *testing.T) {
	data, err := os.ReadFile("testdata/languages.txt")
	if err != nil {
		t.Fatal(err)
	}
	done, all, language := 0, 0, ""
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSpace(line), " | ")
		if name, ok := strings.CutPrefix(line, "== "); ok {
			language = strings.TrimSpace(name)
		}
		if len(fields) < 4 || strings.HasPrefix(line, "#") {
			continue
		}
		line = strings.Join(fields, "|")
		parts := strings.SplitN(strings.ReplaceAll(strings.ReplaceAll(line, "| |", "||"), "| ", "|"), "|", 5)
		op, path, value, prompt := parts[1], parts[2], parts[3], parts[4]
		content, dest := value, ""
		if op == "copyFile" || op == "moveFile" {
			content, dest = "", value
		}
		x, err := New(Config{Mode: LLM, Complete: answers(op, path, content, dest),
			Stat: having("a.txt", "b.txt", "notes.md", "docs/", "src/", "docs/x.txt")})
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Extract(t.Context(), prompt)
		switch all++; {
		case parts[0] == "do" && err == nil && got.Operation == op:
			done++
		case parts[0] != "do" && isConfirm(err):
			done++
		default:
			t.Errorf("%s %s: %q: %+v, %v", language, parts[0], prompt, got.Extraction, err)
		}
	}
	if all != 380 {
		t.Errorf("%d sentences", all)
	}
	t.Logf("%d of %d", done, all)
}
