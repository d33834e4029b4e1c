package dialect

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
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

// TestDataOfUndo says of an undo all that its sentence says: what it passed over, and what it left.
func TestDataOfUndo(t *testing.T) {
	var u skill.Reverted
	u.Changes = slices.Grow(u.Changes, 1)[:1]
	done := &u.Changes[0]
	done.Of, done.Path, done.Applied = "3", "/w/a.txt", true
	done.More, done.Left, done.What, done.Passed = 2, 1, "write", []error{errors.New("change 4 is not kept")}
	done.Skipped = []*skill.UndoError{{ID: "3", Path: "/w/b.txt", Reason: "is gone"}}
	got, err := json.Marshal(Data(u))
	if want := `{"undone":[{"applied":true,"change":"3","left":1,"more":2,"passed":["change 4 is not kept"],"path":"/w/a.txt","skipped":["change 3 cannot be undone: /w/b.txt is gone"],"what":"write"}]}`; string(got) != want || err != nil {
		t.Errorf("%s: %s, %v; want %s", u.Message(), got, err, want)
	}
}

// TestDataOfHistory says whether there may be more changes than were counted.
func TestDataOfHistory(t *testing.T) {
	for more, want := range map[int]string{2: `{"changes":[],"more":2}`,
		skill.MaxMore: `{"changes":[],"more":100,"uncounted":true}`} {
		got, err := json.Marshal(Data(skill.Changes{More: more}))
		if string(got) != want || err != nil {
			t.Errorf("%s, %v; want %s", got, err, want)
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
		for _, p := range tool.Params() {
			if p.Required {
				args[p.Name] = map[string]string{"path": path, "content": "x", "destination": "b.txt",
					"id": "1"}[p.Name]
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
