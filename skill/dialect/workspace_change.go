package dialect

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	rawjson "textskill/parser/json"
	"textskill/skill"
)

// changeOutput is what the object of a change has; undo is missing if it was not recorded.
// Rare members, as in a dry run, are left out: all definitions have 9 KB.
var changeOutput = []Param{{Name: "path", Type: "string", Required: true}, {Name: "undo", Type: "string"}}

var movedOutput = append([]Param{{Name: "from", Type: "string", Required: true}}, changeOutput...)

var onePath = Param{Name: "path", Aliases: []string{"file_path"}, Type: "string", Path: true, Required: true, Doc: "file"}

var writeTool = Tool{
	Name: "write", Title: "Write a file",
	Doc: "Create a file, or replace all of it. Missing parents are made.",
	Params: []Param{onePath,
		{Name: "content", Type: "string", Content: true, Required: true, Empty: true, Doc: "text"},
		{Name: "append", Type: "boolean", Doc: "add to the end"}},
	Output: changeOutput, Effect: Destroys,
	operation: func(in *call) (skill.Args, error) {
		if err := refuseHome(in, "path"); err != nil {
			return nil, err
		}
		if in.flag("append") {
			return skill.AppendFile{Path: in.str("path"), Content: in.str("content"), Parents: true}, nil
		}
		return skill.WriteFile{Path: in.str("path"), Content: in.str("content"), Parents: true}, nil
	},
	reply: typed(func(in *call, c skill.Changed) string {
		return changeText(in, c, fmt.Sprintf("wrote %s: %d bytes", in.name(c.Path), c.Bytes))
	}),
	data: changeData,
}

var editTool = Tool{
	Name: "edit", Title: "Edit a file",
	Doc: "Replace texts in a file: all edits or none. Each old_text must occur once, unless replace_all. Returns the diff.",
	Params: []Param{onePath,
		{Name: "edits", Type: "array", Of: "object", Content: true, Required: true, Doc: "made in this order", Fields: []Param{
			{Name: "old_text", Aliases: []string{"old_string", "oldText"}, Type: "string", Required: true, Empty: true},
			{Name: "new_text", Aliases: []string{"new_string", "newText"}, Type: "string", Required: true, Empty: true},
			{Name: "replace_all", Type: "boolean"}}}},
	Effect: Destroys,
	operation: func(in *call) (skill.Args, error) {
		a := skill.EditFile{Path: in.str("path"), Edits: []skill.Replacement{}, Diff: true}
		list, _ := in.values["edits"].([]any)
		for _, e := range list {
			one := e.(values)
			a.Edits = append(a.Edits, skill.Replacement{Old: one.str("old_text"), New: one.str("new_text"), All: one.flag("replace_all")})
		}
		if len(list) == 0 {
			return nil, errors.New("edits is empty; give an old_text and its new_text")
		}
		return a, nil
	},
	reword: func(_ *call, err error) error {
		if many, ok := errors.AsType[*skill.ManyMatchesError](err); ok {
			return fmt.Errorf("%v; add lines around it to old_text, or set replace_all", many) // without its hint
		}
		return err
	},
	reply: typed(func(in *call, c skill.Changed) string {
		if c.Applied && c.Diff == "" {
			return changeText(in, c, in.name(c.Path)+" is as it was: the new texts are the old ones")
		}
		return changeText(in, c, "edited "+in.name(c.Path)+"\n"+in.diff(c))
	}),
}

var patchTool = Tool{
	Name: "patch", Title: "Apply a patch",
	Doc: "Change, add, move and delete files by one patch, all or nothing. Returns the diff.",
	Params: []Param{{Name: "patch", Aliases: []string{"input"}, Type: "string", Content: true, Required: true,
		Doc: "*** Begin Patch … *** End Patch (Update File, Add File, Delete File, Move to), or a unified diff"}},
	Output:    append([]Param{{Name: "files", Type: "array", Of: "string", Required: true}}, changeOutput...),
	Effect:    Destroys,
	operation: func(in *call) (skill.Args, error) { return skill.Patch{Text: in.str("patch")}, nil },
	reply: typed(func(in *call, p skill.Patched) string {
		var b strings.Builder
		b.WriteString(p.Message() + "\n")
		for i, line := range patchedFiles(in, p) {
			b.WriteString(line + "\n" + rowsText(p.Files[i].Rows, false))
		}
		for _, note := range p.Notes {
			b.WriteString("[" + wellFormed(in.shorten(note)) + "]\n")
		}
		return changeText(in, p.Changed, cutDiff(b.String()))
	}),
	data: typed(func(in *call, p skill.Patched) any {
		return struct {
			Files []string `json:"files"`
			changeMembers
		}{patchedFiles(in, p), changeKeys(in, p.Changed)}
	}),
}

// rowsText is the difference between two versions of a file, with numbers and letters as read
// shows them, or as a unified diff.
func rowsText(rows []skill.Row, numbers bool) string {
	var b strings.Builder
	for i, r := range rows {
		switch r.Mark {
		case '@':
			if numbers && i > 0 {
				b.WriteString("…\n")
			} else if !numbers {
				fmt.Fprintf(&b, "@@ -%d +%d @@\n", r.Old, r.N)
			}
			continue
		case '.':
			fmt.Fprintf(&b, "… %d more lines\n", r.N)
			continue
		case '\\':
			b.WriteString("\\ No newline at end of file\n")
			continue
		}
		b.WriteByte(r.Mark)
		if numbers {
			if r.Mark != '-' {
				fmt.Fprintf(&b, "%d%s", r.N, r.Letters)
			}
			b.WriteByte('\t')
		}
		b.WriteString(wellFormed(r.Text) + "\n")
	}
	return b.String()
}

// shorten names files in a text as replies name them.
func (in *call) shorten(text string) string {
	return strings.ReplaceAll(text, in.x.Abs(in.s, "")+string(filepath.Separator), "")
}

// patchedFiles describes the files of a patch, a line for each.
func patchedFiles(in *call, p skill.Patched) []string {
	lines := make([]string, len(p.Files))
	for i, f := range p.Files {
		lines[i] = fmt.Sprintf("%s %s +%d -%d", f.Kind, in.name(f.Path), f.Added, f.Removed)
		if f.From != "" {
			lines[i] = fmt.Sprintf("%s %s to %s +%d -%d", f.Kind, in.name(f.From), in.name(f.Path), f.Added, f.Removed)
		}
	}
	return lines
}

var (
	ownSource = Param{Name: "source", Type: "string", Path: true, Required: true, Doc: "file or folder"}
	ownDest   = Param{Name: "destination", Type: "string", Path: true, Required: true, Doc: "new path, or a folder; one that ends with / is made"}
	overwrite = Param{Name: "overwrite", Type: "boolean", Doc: "replace a file that is there"}
)

// destination is where a move or copy leads to. In a folder, which is there or for a file ends
// with "/", the source keeps its name.
func (in *call) destination() string {
	from, to := in.str("source"), in.str("destination")
	if in.isFolder(to) || strings.HasSuffix(to, "/") && !in.isFolder(from) {
		return filepath.Join(to, filepath.Base(in.x.Abs(in.s, from)))
	}
	return to
}

func (in *call) isFolder(path string) bool {
	info, err := in.x.Look(in.s, path, true)
	return err == nil && info.IsDir()
}

// refusedToReplace says of a destination that exists how a file is replaced.
func refusedToReplace(in *call, err error) error {
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	hint := "; set overwrite to replace a file"
	if in.x.Abs(in.s, in.str("source")) == in.x.Abs(in.s, in.destination()) {
		hint = "; source and destination are the same"
	} else if in.isFolder(in.str("source")) || in.isFolder(in.destination()) {
		hint = "; only a file replaces a file: name another path"
	}
	return &Failure{Message: plainMessage(err) + hint, Cause: err}
}

var moveTool = Tool{
	Name: "move", Title: "Move or rename", Doc: "Move or rename a file or folder.",
	Params: []Param{ownSource, ownDest, overwrite}, Output: movedOutput, Effect: Destroys,
	operation: func(in *call) (skill.Args, error) {
		return skill.MoveFile{Source: in.str("source"), Dest: in.destination(), Parents: true, NoReplace: !in.flag("overwrite")}, refuseHome(in, "destination")
	},
	reword: refusedToReplace,
	reply: typed(func(in *call, c skill.Changed) string {
		return changeText(in, c, "moved "+in.name(c.From)+" to "+in.name(c.Path))
	}),
	data: changeData,
}

var copyTool = Tool{
	Name: "copy", Title: "Copy", Doc: "Copy a file or folder with everything in it.",
	Params: []Param{ownSource, ownDest, overwrite}, Output: movedOutput, Effect: Destroys,
	operation: func(in *call) (skill.Args, error) {
		return skill.CopyFile{Source: in.str("source"), Dest: in.destination(), Tree: true, Parents: true, NoReplace: !in.flag("overwrite")}, refuseHome(in, "destination")
	},
	reword: refusedToReplace,
	reply: typed(func(in *call, c skill.Changed) string {
		return changeText(in, c, "copied "+in.name(c.From)+" to "+in.name(c.Path))
	}),
	data: changeData,
}

var deleteTool = Tool{
	Name: "delete", Title: "Delete", Doc: "Delete a file, or a folder with everything in it.",
	Params: []Param{{Name: "path", Type: "string", Path: true, Required: true, Doc: "file or folder"}}, Output: changeOutput, Effect: Destroys,
	operation: func(in *call) (skill.Args, error) { return skill.DeleteFile{Path: in.str("path"), Tree: true}, nil },
	reply:     typed(func(in *call, c skill.Changed) string { return changeText(in, c, "deleted "+in.name(c.Path)) }),
	data:      changeData,
}

// changeText adds to what a call did how it is undone, or in a dry run what it would have done.
func changeText(in *call, c skill.Changed, did string) string {
	switch {
	case !c.Applied:
		return strings.TrimSuffix(c.Change.String()+"\n"+in.diff(c), "\n")
	case c.ID != "":
		did = strings.TrimSuffix(did, "\n") + "\nundo ID " + c.ID
	case c.NotKept != "":
		did = strings.TrimSuffix(did, "\n") + "\nit cannot be undone: " + c.NotKept
	}
	return strings.TrimSuffix(did, "\n")
}

// diff is what a change did to one file, or to several.
func (in *call) diff(c skill.Changed) string {
	return cutDiff(strings.Replace(strings.Replace(c.Diff, "--- "+c.Path+"\n", "--- "+in.name(c.Path)+"\n", 1), "+++ "+c.Path+"\n", "+++ "+in.name(c.Path)+"\n", 1))
}

// cutDiff is a diff as far as a reply has room for it.
func cutDiff(diff string) string { return cutTo(diff, "read shows the file") }

// cutTo is a text as far as a reply has room for it; rest says how to get at what is cut.
func cutTo(text, rest string) string {
	if text = wellFormed(text); len(text) <= maxReply {
		return text
	}
	end := strings.LastIndexByte(text[:maxReply], '\n') + 1
	if end > 0 {
		return text[:end] + fmt.Sprintf("[%d bytes more; %s]\n", len(text)-end, rest)
	}
	for end = maxReply; !utf8.RuneStart(text[end]); end-- { // it is one line
	}
	return text[:end] + fmt.Sprintf("\n[%d bytes more; %s]\n", len(text)-end, rest)
}

type changeMembers struct {
	Path    string `json:"path"`
	From    string `json:"from,omitempty"`
	Undo    string `json:"undo,omitempty"`
	NotKept string `json:"not_undoable,omitempty"`
	Diff    string `json:"diff,omitempty"`
	DryRun  bool   `json:"dry_run,omitempty"`
}

func changeKeys(in *call, c skill.Changed) changeMembers {
	k := changeMembers{Path: in.name(c.Path), Undo: c.ID, NotKept: c.NotKept, Diff: in.diff(c), DryRun: !c.Applied}
	if c.From != "" {
		k.From = in.name(c.From)
	}
	return k
}

func changeData(in *call, r skill.Result) any { return changeKeys(in, r.(skill.Changed)) }

var takeBackTool = Tool{
	Name: undoTool.Name, Title: "Undo", Doc: "Undo the last change, one, or all since one. An undo can be undone.",
	Params: []Param{
		{Name: "id", Type: "string", Doc: "default: the last"},
		{Name: "since", Type: "string", Doc: "this change and all later ones"},
		{Name: "force", Type: "boolean", Doc: "even if a file has changed since"}},
	Output: []Param{{Name: "undone", Type: "array", Of: "object", Required: true}}, Effect: Destroys,
	operation: undoTool.operation,
	reply: func(in *call, r skill.Result) string {
		text := strings.TrimSuffix(cutTo(r.Message(), "history lists them"), "\n")
		return strings.TrimSuffix(text+"\nundo ID "+Reply{Result: r}.UndoID(), "\nundo ID ")
	},
	data: func(_ *call, r skill.Result) any {
		d := Data(r).(data)
		all, _ := d["undone"].([]data)
		for n := len(all); n > 1 && len(rawjson.Encode(d)) > maxReply; {
			n /= 2
			d["undone"], d["more"], d["undo"] = all[:n], len(all)-n, Reply{Result: r}.UndoID()
		}
		return d
	},
}

var versionTool = Tool{
	Name: restoreTool.Name, Title: "Restore a version", Doc: "Show what a file held before a change, or write it to a file.",
	Params: []Param{
		{Name: "id", Type: "string", Required: true, Doc: "the change"},
		{Name: "path", Type: "string", Path: true, Doc: "the file, if it changed several"},
		{Name: "to", Type: "string", Path: true, Doc: "the file to write"}},
	Effect:    Destroys,
	operation: restoreTool.operation,
	reply: func(in *call, r skill.Result) string {
		if c, ok := r.(skill.Changed); ok {
			return changeText(in, c, "wrote "+in.name(c.Path))
		}
		return cutTo(r.Message(), "write it to a file, and read that")
	},
}

var changesTool = Tool{
	Name: historyTool.Name, Title: "History", Doc: "List changes, the newest first; with id, show the diff of one.",
	Params: []Param{
		{Name: "path", Type: "string", Path: true, Doc: "only of this file or folder"},
		{Name: "limit", Type: "integer", Doc: "default 50"},
		{Name: "id", Type: "string", Doc: "the change to show"}},
	operation: func(in *call) (skill.Args, error) {
		if id := in.str("id"); id != "" {
			return skill.Difference{ID: id}, nil
		}
		return historyTool.operation(in)
	},
	reply: func(_ *call, r skill.Result) string {
		if _, ok := r.(skill.Changes); ok {
			return cutTo(r.Message(), "a path lists those of one file or folder")
		}
		return cutDiff(r.Message())
	},
}
