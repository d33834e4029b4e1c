package agent

import (
	"strings"
	"testing"
)

// TestWords passes texts on in pieces of each size: they are whole at the end, without
// secrets, and no secret is ever seen in part.
func TestWords(t *testing.T) {
	clean := NewRedactor([]string{"s3cr3t-value", "s3cr3t"})
	const text = "The key is s3cr3t-value, the\nother s3cr3t. s3cr3t-valu\ns3cr3\n\nünd s3cr3t-value"
	for size := 1; size <= len(text); size++ {
		var got strings.Builder
		w := liveWords{clean: clean, heard: func(s string) { got.WriteString(s) }}
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			w.add(rest[:min(size, len(rest))])
			if strings.Contains(got.String(), "s3cr3t") {
				t.Fatalf("pieces of %d bytes: %q was passed on", size, got.String())
			}
		}
		w.end()
		if want := clean.Text(text); got.String() != want {
			t.Errorf("pieces of %d bytes: %q, want %q", size, got.String(), want)
		}
	}
}
