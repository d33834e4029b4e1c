package llmfallback

import "testing"

func BenchmarkRules(b *testing.B) {
	rows := corpus(b, corpora[:2]...)
	understand("warm up")
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		understand(rows[n%len(rows)].Prompt)
		n++
	}
}
