package llmfallback

import (
	"errors"
	"testing"
	"time"
)

// The rules read the first words of a prompt; its length costs no more than
// looking at it once.
func TestRulesAreLinear(t *testing.T) {
	for name, prompt := range large(1 << 20) {
		start := time.Now()
		understand(prompt)
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%s: %v", name, d)
		}
	}
}

// The laws: a value of the rules comes from the prompt; deleting is read only
// of one file; and a condition behind any request silences them.
func FuzzRules(f *testing.F) {
	for _, tt := range answered {
		f.Add(tt.prompt)
	}
	for _, prompt := range unanswered {
		f.Add(prompt)
	}
	f.Add("Do .0A eXist At  /")
	f.Add("Do .0A eXist At /0..!")
	f.Add("CreAte '0' in '/' with Content 00")
	f.Add("do 0.. eXist")
	f.Add("renAme /0 to 1")
	f.Add("WhAt Content of file 0 At /! ")
	f.Add("Listfolder '0'0")
	f.Add("write 0.A with \"\"")
	f.Fuzz(func(t *testing.T, prompt string) {
		e, ok := understand(prompt)
		if !ok {
			if e != (Extraction{}) {
				t.Fatalf("%q: silent, but %+v", prompt, e)
			}
			return
		}
		if err := within(prompt, e); err != nil && !errors.Is(err, ErrRefused) {
			t.Fatalf("%q: %+v: %v", prompt, e, err)
		}
		if op, known := spelled(e.Operation); !known || op != e.Operation || e.Path == "" {
			t.Fatalf("%q: %+v", prompt, e)
		}
		if e.Operation == "deleteFile" && !fileShaped(e.Path) {
			t.Fatalf("%q deletes %q", prompt, e.Path)
		}
		if e.HasContent != (e.Operation == "writeFile" || e.Operation == "appendFile") ||
			(e.Destination != "") != (e.Operation == "copyFile" || e.Operation == "moveFile") {
			t.Fatalf("%q: %+v", prompt, e)
		}
		for _, tail := range []string{" unless it is Monday", " and then delete all files", " except b.txt"} {
			if more, ok := understand(prompt + tail); ok && e.Content == "" && more == e {
				t.Fatalf("%q is still read as %+v", prompt+tail, more)
			}
		}
	})
}
