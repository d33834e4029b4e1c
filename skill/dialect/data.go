package dialect

import (
	"encoding/base64"
	"time"
	"unicode/utf8"

	"textskill/skill"
)

// Data returns the data of a result besides its sentence, with names for --json, or nil. Each
// result of a text command and of [Undo] needs a case; TestData finds a missing case.
func Data(r skill.Result) any {
	switch r := r.(type) {
	case skill.FileRead:
		d := data{"path": r.Path, "size": r.Size}
		return d.content(r.Content, !r.NotText).add(data{"encoding": r.Encoding, "truncated": r.Partial})
	case skill.Changed:
		return data{"path": r.Path, "applied": r.Applied}.add(data{"from": r.From, "bytes": r.Bytes,
			"diff": r.Diff, "not_kept": r.NotKept})
	case skill.Reverted:
		return data{"undone": undone(r)}.add(data{"damaged": r.Damaged})
	case skill.Changes:
		return data{"changes": recorded(r), "more": r.More}.add(data{"uncounted": r.More == skill.MaxMore,
			"damaged": r.Damaged})
	case skill.Restored:
		return data{"path": r.Path}.content(r.Content, utf8.Valid(r.Content))
	case skill.Compared:
		return data{"change": r.ID, "diff": r.Diff}
	case skill.Listed:
		return data{"path": r.Path, "entries": entryNames(r)}
	case skill.Described:
		d := data{"path": r.Path, "exists": r.Exists}
		if r.Exists {
			d["folder"], d["size"] = r.Info.IsDir(), r.Info.Size
			d["modified"] = r.Info.ModTime.UTC().Format(time.RFC3339Nano)
		}
		return d
	}
	return nil
}

// data are the members of an object.
type data map[string]any

// add adds the members of more that are not empty.
func (d data) add(more data) data {
	for name, value := range more {
		if !isEmpty(value) {
			d[name] = value
		}
	}
	return d
}

// content adds what a file holds.
func (d data) content(content []byte, isText bool) data {
	if isText {
		d["content"] = string(content)
	} else {
		d["content_base64"] = base64.StdEncoding.EncodeToString(content)
	}
	return d
}

func entryNames(l skill.Listed) []string {
	names := make([]string, len(l.Entries))
	for i, e := range l.Entries {
		names[i] = wellFormed(e.Name)
	}
	return names
}

func undone(r skill.Reverted) []data {
	list := make([]data, len(r.Changes))
	for i, u := range r.Changes {
		list[i] = data{"change": u.Of, "path": u.Path, "applied": u.Applied}
		list[i].add(data{"undo": u.ID, "more": u.More, "left": u.Left, "what": u.What,
			"passed": each(u.Passed, error.Error)})
		list[i].add(data{"merged": u.Merged, "lost": u.Lost, "stays": u.Stays, "unlinked": u.Unlinked,
			"skipped": each(u.Skipped, (*skill.UndoError).Error),
			"kept":    each(u.Kept, (*skill.UndoError).Error), "took": u.Took, "not_seen": u.NotSeen})
		if len(u.Steps) > 0 {
			steps := make([]data, len(u.Steps))
			for k, s := range u.Steps {
				steps[k] = data{"path": s.Path, "does": s.Does, "grade": s.Grade}
			}
			list[i]["steps"] = steps
		}
	}
	return list
}

func recorded(r skill.Changes) []data {
	list := make([]data, len(r.List))
	for i, c := range r.List {
		list[i] = data{"id": c.ID, "time": c.Time.Format(time.RFC3339Nano), "kind": c.Kind, "path": c.Path,
			"undone": c.Undone}
		list[i].add(data{"dialect": c.Dialect, "tool": c.Tool, "from": c.From, "undoes": c.Of,
			"not_kept": c.NotKept, "idle": c.Idle, "command": c.Command, "host": c.Host, "agent": c.Agent,
			"unsure": c.Unsure, "grade": c.Grade, "config": c.Config, "left": each(c.Left, skill.Untracked.String),
			"left_more": c.More})
		if c.Host != "" {
			list[i]["session"] = c.Run
		}
		if len(c.Paths) > 1 {
			list[i]["paths"] = c.Paths
		}
		if c.Partly {
			list[i]["partly"] = true
		}
	}
	return list
}
