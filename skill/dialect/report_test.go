package dialect

import (
	"strings"
	"testing"

	"textskill/parser"
	"textskill/skill"
)

// The reported part of a long argument ends between two words, so that no part of a secret is
// left which no longer looks like one.
func TestReportCutsBetweenWords(t *testing.T) {
	var got []string
	x, err := skill.New(skill.Config{Dir: t.TempDir(), NoSync: true, Called: func(c skill.Call) {
		got = append(got, c.Arguments["pattern"].(string))
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	words := strings.Repeat("word ", 102)
	for _, pattern := range []string{"word", words + "sk-secret-and-more", strings.Repeat("s", 600)} {
		Workspace.Do(t.Context(), x, &skill.Session{},
			parser.ToolCall{Name: "grep", Arguments: []byte(`{"pattern":"` + pattern + `"}`)})
	}
	want := []string{"word", words + "… [528 bytes]", "… [600 bytes]"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
