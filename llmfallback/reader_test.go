package llmfallback

import "testing"

// understand returns what a prompt asks for, if it is clear.
func understand(prompt string) (Extraction, bool) {
	r := Read(prompt)
	return r.Extraction, r.Answered
}

func TestRulesAnswer(t *testing.T) {
	for _, tt := range answered {
		got, ok := understand(tt.prompt)
		want := Extraction{tt.op, tt.path, tt.content, tt.dest, tt.op == "writeFile" || tt.op == "appendFile"}
		switch {
		case !ok:
			t.Errorf("%q is not understood", tt.prompt)
		case got != want:
			t.Errorf("%q\n got %+v\nwant %+v", tt.prompt, got, want)
		}
	}
}

func TestRulesAreSilent(t *testing.T) {
	for _, prompt := range unanswered {
		if got, ok := understand(prompt); ok {
			t.Errorf("%q is read as %+v", prompt, got)
		}
	}
}
