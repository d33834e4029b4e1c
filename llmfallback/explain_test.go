package llmfallback

import (
	"strings"
	"testing"
)

// What a silent reader says of a prompt.
func TestWhy(t *testing.T) {
	tests := []struct{ prompt, why string }{
		{"read a.txt and then delete b.txt", "it asks for two things; type them apart: readFile a.txt, and deleteFile b.txt"},
		{"read a.txt and b.txt", "it names a.txt and b.txt; type one command for each: readFile a.txt"},
		{"delete a.txt if it is empty", "it has a condition: if"},
		{"show me a.txt sorted", `it is not clear what "sorted" adds`},
		{"copy a.txt", "it does not say where to"},
		{"save 'a.txt' as b.txt", "it is not clear whether a.txt is a file or the text itself; for the text, write: the text 'a.txt'"},
		{"create a note called x.md", "it does not say what to write"},
		{"delete the folder src", "a request in plain words deletes files, not folders"},
		{"delete everything", "it is not clear what to delete"},
		{"list the python files in the docs folder", "it lists all names, not those of one sort (python)"},
		{"sing me a song", ""},
		{"", ""},
	}
	for _, tt := range tests {
		if got := Read(tt.prompt); got.Why != tt.why || got.Answered {
			t.Errorf("%q: %q\nwant %q", tt.prompt, got.Why, tt.why)
		}
	}
}

// A reading shows the request in the prompt, and what each part of it is.
func TestReading(t *testing.T) {
	r := Read("I'm tidying up. Please move notes.md from Inbox to the Archive folder.")
	got := []string{r.Clause, r.Verb}
	for _, role := range r.Roles {
		got = append(got, role.Name+" "+role.Value)
	}
	const want = "move notes.md from Inbox to the Archive folder.|move|operation moveFile|object notes.md|to Archive|from Inbox"
	if strings.Join(got, "|") != want || !r.Answered {
		t.Errorf("got %q", got)
	}
}
