package dialect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	"textskill/skill"
)

// JSON encodes v as JavaScript would print it: nothing escaped but quotes,
// backslashes and control characters; bytes that are no UTF-8 become U+FFFD. It
// panics on a value that has no JSON form.
func JSON(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return unescape(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// plainly are the characters that encoding/json escapes and JavaScript does not.
var plainly = map[string]string{`\u2028`: "\u2028", `\u2029`: "\u2029", `\ufffd`: "\ufffd"}

// unescape prints the characters of plainly as themselves.
func unescape(b []byte) []byte {
	if !bytes.Contains(b, []byte(`\u2`)) && !bytes.Contains(b, []byte(`\uf`)) {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			out = append(out, b[i])
			continue
		}
		if len(b) >= i+6 && plainly[string(b[i:i+6])] != "" {
			out = append(out, plainly[string(b[i:i+6])]...)
			i += 5
			continue
		}
		out = append(out, b[i], b[i+1])
		i++
	}
	return out
}

// Data returns what a result holds beside its sentence, for --json.
func Data(r skill.Result) any {
	switch r := r.(type) {
	case skill.FileRead:
		d := map[string]any{"path": r.Path, "size": r.Size}
		if utf8.Valid(r.Content) {
			d["content"] = string(r.Content)
		} else {
			d["content_base64"] = base64.StdEncoding.EncodeToString(r.Content)
		}
		if r.Partial {
			d["partial"] = true
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
		list := make([]map[string]any, len(r.Changes))
		for i, u := range r.Changes {
			list[i] = map[string]any{"change": u.Of, "path": u.Path, "applied": u.Applied}
			if u.ID != "" {
				list[i]["undo"] = u.ID
			}
		}
		return map[string]any{"undone": list}
	case skill.Changes:
		return map[string]any{"changes": recorded(r), "more": r.More}
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
	return r
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
