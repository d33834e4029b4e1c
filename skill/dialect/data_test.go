package dialect

import (
	"encoding/json"
	"regexp"
	"testing"

	"textskill/parser"
	"textskill/skill"
)

// TestData calls each tool whose results --json prints, and looks for data with names
// for JSON.
func TestData(t *testing.T) {
	for _, d := range []*Dialect{Achilles, Undo} {
		for _, tool := range d.Tools {
			data := Data(resultOf(t, d, tool))
			raw, err := json.Marshal(data)
			if data == nil || err != nil {
				t.Errorf("%s %s: its result has data %v, %v", d.Name, tool.Name, data, err)
			}
			if name := regexp.MustCompile(`"\w*[A-Z]\w*":`).Find(raw); name != nil {
				t.Errorf("%s %s: its data has the name %s", d.Name, tool.Name, name)
			}
		}
	}
}

// resultOf calls a tool in a workspace that holds one file, which has been changed.
func resultOf(t *testing.T, d *Dialect, tool Tool) skill.Result {
	t.Helper()
	var r Reply
	for _, path := range []string{"a.txt", ".", "new"} {
		b := newBase(t, skill.Config{})
		b.file("a.txt", "one")
		Text(t.Context(), b.x, b.s, "writeFile a.txt content: two", nil)
		args := map[string]any{}
		for _, p := range tool.Params {
			if p.Required {
				args[p.Name] = map[string]string{"path": path, "content": "x", "destination": "b.txt", "id": "1"}[p.Name]
			}
		}
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		if r = d.Do(t.Context(), b.x, b.s, parser.ToolCall{Name: tool.Name, Arguments: raw}); r.Err == nil {
			return r.Result
		}
	}
	t.Fatalf("%s %s: %s", d.Name, tool.Name, r.Body)
	return nil
}
