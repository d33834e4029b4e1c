package dialect

import (
	"encoding/base64"
	"time"
	"unicode/utf8"

	"textskill/skill"
)

// Data returns what a result holds besides its sentence, with names for --json; nil if
// that is nothing. Each result of a text command and of Undo needs a case: TestData
// finds one that is missing.
func Data(r skill.Result) any {
	switch r := r.(type) {
	case skill.FileRead:
		d := map[string]any{"path": r.Path, "size": r.Size}
		if r.NotText {
			d["content_base64"] = base64.StdEncoding.EncodeToString(r.Content)
		} else {
			d["content"] = string(r.Content)
		}
		if r.Encoding != "" {
			d["encoding"] = r.Encoding
		}
		if r.Partial {
			d["truncated"] = true
		}
		return d
	case skill.Changed:
		d := map[string]any{"path": r.Path, "applied": r.Applied}
		if r.From != "" {
			d["from"] = r.From
		}
		if r.Bytes > 0 {
			d["bytes"] = r.Bytes
		}
		if r.Diff != "" {
			d["diff"] = r.Diff
		}
		if r.NotKept != "" {
			d["not_kept"] = r.NotKept
		}
		return d
	case skill.Reverted:
		return withDamaged(map[string]any{"undone": undone(r)}, r.Damaged)
	case skill.Changes:
		return withDamaged(map[string]any{"changes": recorded(r), "more": r.More}, r.Damaged)
	case skill.Restored:
		if utf8.Valid(r.Content) {
			return map[string]any{"path": r.Path, "content": string(r.Content)}
		}
		return map[string]any{"path": r.Path, "content_base64": base64.StdEncoding.EncodeToString(r.Content)}
	case skill.Compared:
		return map[string]any{"change": r.ID, "diff": r.Diff}
	case skill.Listed:
		names := make([]string, len(r.Entries))
		for i, e := range r.Entries {
			names[i] = wellFormed(e.Name)
		}
		return map[string]any{"path": r.Path, "entries": names}
	case skill.Described:
		d := map[string]any{"path": r.Path, "exists": r.Exists}
		if r.Exists {
			d["folder"], d["size"] = r.Info.IsDir(), r.Info.Size
			d["modified"] = r.Info.ModTime.UTC().Format(time.RFC3339Nano)
		}
		return d
	}
	return nil
}

// withDamaged adds how many records of the history are damaged, if some are.
func withDamaged(d map[string]any, damaged int) map[string]any {
	if damaged > 0 {
		d["damaged"] = damaged
	}
	return d
}

func undone(r skill.Reverted) []map[string]any {
	list := make([]map[string]any, len(r.Changes))
	for i, u := range r.Changes {
		m := map[string]any{"change": u.Of, "path": u.Path, "applied": u.Applied}
		if u.ID != "" {
			m["undo"] = u.ID
		}
		for key, n := range map[string]int{"more": u.More, "left": u.Left} {
			if n > 0 {
				m[key] = n
			}
		}
		var passed []string
		for _, err := range u.Passed {
			passed = append(passed, err.Error())
		}
		if passed != nil {
			m["passed"] = passed
		}
		list[i] = m
	}
	return list
}

func recorded(r skill.Changes) []map[string]any {
	list := make([]map[string]any, len(r.List))
	for i, c := range r.List {
		m := map[string]any{"id": c.ID, "time": c.Time.Format(time.RFC3339Nano), "kind": c.Kind, "path": c.Path, "undone": c.Undone}
		for key, text := range map[string]string{"dialect": c.Dialect, "tool": c.Tool, "from": c.From, "undoes": c.Of, "not_kept": c.NotKept, "command": c.Command} {
			if text != "" {
				m[key] = text
			}
		}
		if len(c.Paths) > 1 {
			m["paths"] = c.Paths
		}
		list[i] = m
	}
	return list
}
