package llmfallback

import "testing"

func BenchmarkRules(b *testing.B) {
	rows := corpus(b)
	understand("warm up")
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		understand(rows[n%len(rows)].Prompt)
		n++
	}
}

func BenchmarkGrammar(b *testing.B) {
	for b.Loop() {
		compileEnglish()
	}
}
