package llmfallback

import "testing"

// Words for lines make the text whole lines; append and attach alone do not.
func TestLines(t *testing.T) {
	for prompt, want := range map[string]bool{
		`add ".env" to .gitignore`:                       true,
		`add a line 'x' to a.txt`:                        true,
		`append 'x' to a.txt as a new line`:              true,
		`append 'x' at the end of a.txt`:                 true,
		`add a task to todo.md: call Bob`:                true,
		`echo hi there >> a.txt`:                         true,
		`echo 'hi there' > a.txt`:                        true,
		`append 'x' to a.txt`:                            false,
		`append the text 'x' to a.txt`:                   false,
		`write the line 'x' to a.txt`:                    false,
		`touch a.txt`:                                    false,
		`create a.txt with the following lines: one two`: false,
	} {
		if r := Read(prompt); !r.Answered || r.Lines != want {
			t.Errorf("%q: answered %t, lines %t; %s", prompt, r.Answered, r.Lines, r.Why)
		}
	}
}
