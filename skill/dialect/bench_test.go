package dialect_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"textskill/parser"
	"textskill/skill"
	"textskill/skill/dialect"
)

func executor(b *testing.B) *skill.Executor {
	b.Helper()
	x, err := skill.New(skill.Config{Dir: b.TempDir(), NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { x.Close() })
	if err := os.WriteFile(filepath.Join(x.Dir(), "a.txt"), []byte("one\ntwo\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	return x
}

// BenchmarkText carries out text commands whole.
func BenchmarkText(b *testing.B) {
	for _, prompt := range []string{"fileExists a.txt", "readFile a.txt", "writeFile b.txt content: hi"} {
		b.Run(parser.Text(prompt).Operation, func(b *testing.B) {
			x, s := executor(b), &skill.Session{}
			b.ReportAllocs()
			for b.Loop() {
				if r := dialect.Text(b.Context(), x, s, prompt, nil); r.Err != nil {
					b.Fatal(r.Err)
				}
			}
		})
	}
}

// BenchmarkDo carries out calls. The refused one is the layer alone, without files.
func BenchmarkDo(b *testing.B) {
	for _, bb := range []struct {
		name string
		call parser.ToolCall
	}{
		{"refused", parser.ToolCall{Name: "read_file", Arguments: json.RawMessage(`{}`)}},
		{"read_file", parser.ToolCall{Name: "read_file", Arguments: json.RawMessage(`{"path":"a.txt"}`)}},
		{"edit_file", parser.ToolCall{Name: "edit_file",
			Arguments: json.RawMessage(`{"path":"a.txt","old_text":"one","new_text":"one"}`)}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			x, s := executor(b), &skill.Session{}
			b.ReportAllocs()
			for b.Loop() {
				if r := dialect.Filesystem.Do(b.Context(), x, s, bb.call); (r.Err != nil) != (bb.name == "refused") {
					b.Fatal(r.Err)
				}
			}
		})
	}
}
