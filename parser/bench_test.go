package parser_test

import (
	"encoding/json"
	"strings"
	"testing"

	"textskill/parser"
)

// BenchmarkToolCalls reads an envelope of 8 calls beside encoding/json into structs.
func BenchmarkToolCalls(b *testing.B) {
	call := `{"id":"c","type":"function","function":{"name":"edit_file","arguments":"{\"path\":\"/app/main.py\",\"old_text\":\"foo\",\"new_text\":\"bar\"}"}}`
	text := `{"tool_calls":[` + strings.Repeat(call+",", 7) + call + "]}"
	b.Run("ToolCalls", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			parser.ToolCalls(text)
		}
	})
	b.Run("reference=encoding/json", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			var e struct {
				Calls []struct {
					ID, Type string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			json.Unmarshal([]byte(text), &e)
			for _, c := range e.Calls {
				var arguments map[string]json.RawMessage
				json.Unmarshal([]byte(c.Function.Arguments), &arguments)
			}
		}
	})
}

// BenchmarkHostile reads 100 KB of what is worst for a decoder.
func BenchmarkHostile(b *testing.B) {
	for _, unit := range []string{"[", `{"a":`, `\`, `"`, `'`, "[x]", "{}"} {
		text := strings.Repeat(unit, 100<<10/len(unit))
		b.Run(unit, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				parser.ToolCalls(text)
			}
		})
	}
}

func BenchmarkCalls(b *testing.B) {
	text := "I write it down.\n\n```\nwrite(path: 'a.txt', content: '" +
		strings.Repeat("one more line, said \"he\"\n", 1<<10) + "')\n```\n" +
		strings.Repeat("Some words of prose (in brackets) follow.\n", 1<<8)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if calls, _, err := parser.Calls(text, offered); err != nil || len(calls) != 1 {
			b.Fatal(err)
		}
	}
}
