package dialect

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"textskill/parser/rawjson"
	"textskill/skill"
	"textskill/skill/internal/words"
)

// changeOutput is what the object of a change has; undo is missing if it was not recorded.
// Rare members, as in a dry run, are left out: all definitions have 9 KB.
type changeOutput struct {
	Path string `arg:"path" is:"required"`
	Undo string `arg:"undo"`
}

type movedOutput struct {
	From string `arg:"from" is:"required"`
	changeOutput
}

// conditions are the hidden arguments of all tools that change files.
type conditions struct {
	IfHash     string `arg:"if_hash" is:"hidden"`
	CreateOnly bool   `arg:"create_only" is:"hidden"`
	Force      bool   `arg:"force" is:"hidden"`
}

// condition is what the arguments of a call say of the file that it changes.
func (a conditions) condition() skill.Condition {
	c := skill.Condition{Hash: a.IfHash, Force: a.Force}
	if a.CreateOnly && c.Hash == "" {
		c.Hash = "none"
	}
	return c
}

var writeTool = row(Tool{Name: "write", Title: "Write a file", Effect: Destroys,
	Output: paramsOf(reflect.TypeFor[changeOutput]()),
	Doc: "Create a file, or replace all of it; edit changes parts. Missing parents are made. Refused if " +
		"others have changed it since you read it."},
	func(in *call, a struct {
		Path       string `arg:"path,file_path" is:"path,new,required" doc:"file"`
		Content    string `arg:"content,contents,file_text" is:"content,required,empty" doc:"text"`
		Append     bool   `arg:"append" doc:"add to the end"`
		IfHash     string `arg:"if_hash" doc:"SHA-256 it must have, 8 digits or more; none: it must not exist"`
		Force      bool   `arg:"force" doc:"replace it all the same"`
		CreateOnly bool   `arg:"create_only" is:"hidden"`
	}) (Reply, error) {
		on := conditions{a.IfHash, a.CreateOnly, a.Force}.condition()
		op := skill.Args(skill.WriteFile{Path: a.Path, Content: a.Content, Parents: true, Keep: true, If: on})
		if a.Append {
			op = skill.AppendFile{Path: a.Path, Content: a.Content, Parents: true, Keep: true, If: on}
		}
		c, err := do[skill.Changed](in, op)
		if err != nil {
			return Reply{}, err
		}
		text := fmt.Sprintf("wrote %s: %d bytes", in.name(c.Path), c.Bytes)
		if len(c.Kept) > 0 {
			text += "; kept the " + strings.Join(c.Kept, " and the ")
		}
		text += in.twin(c.Path)
		if c.Unread > 0 {
			text += fmt.Sprintf("; it replaced %s that you have not read", counted(c.Unread, "line"))
		}
		return in.changeReply(c, text), nil
	})

// twin says that beside a file that was written, or a folder that it is in, another one looks alike.
func (in *call) twin(abs string) string {
	for root := in.x.Abs(in.s, ""); len(abs) > len(root); abs = filepath.Dir(abs) {
		if !strings.ContainsFunc(filepath.Base(abs), mayLookAlike) {
			continue
		}
		if alike := in.x.Alike(abs); alike != "" {
			return fmt.Sprintf("; beside it is %s, which looks alike", strconv.QuoteToASCII(in.name(alike)))
		}
	}
	return ""
}

// mayLookAlike reports whether a letter of a name is one that others look like.
func mayLookAlike(r rune) bool { return r == ' ' || r == '\'' || r == '"' || r >= utf8.RuneSelf }

var editTool = row(Tool{Name: "edit", Title: "Edit a file", Effect: Destroys,
	Doc: "Change parts of a file that you have read, by texts or by lines: all edits or none. old_text must " +
		"occur once, unless replace_all. Returns the diff."},
	func(in *call, a struct {
		Path string `arg:"path,file_path" is:"path,required" doc:"file"`
		editArgs
		Edits []editArgs `arg:"edits" is:"content,brief" doc:"several of these"`
		conditions
	}) (string, error) {
		edits, err := editsOf(a.editArgs, a.Edits)
		if err != nil {
			return "", err
		}
		c, err := do[skill.Changed](in, skill.EditFile{Path: a.Path, Edits: edits, If: a.condition()})
		if many, ok := errors.AsType[*skill.ManyMatchesError](err); ok {
			// without its hint
			err = fmt.Errorf("%v; add lines around it to old_text, or set replace_all", many)
		}
		switch {
		case err != nil:
			return "", err
		case c.Applied && c.Added+c.Removed == 0:
			return in.changeText(c, in.name(c.Path)+" is as it was: the new texts are the old ones"), nil
		}
		letters := isFilled(a.Lines) || isFilled(a.After) || in.s.UsesLetters()
		return in.changeText(c, cutDiff(fmt.Sprintf("edited %s\n+%d -%d\n%s", in.name(c.Path), c.Added,
			c.Removed, rowsText(c.Rows, letters)))), nil
	})

var patchTool = row(Tool{Name: "patch", Title: "Apply a patch", Effect: Destroys,
	Output: paramsOf(reflect.TypeFor[struct {
		Files []string `arg:"files" is:"required"`
		changeOutput
	}]()),
	Doc: "Change several files at once, also add, move and delete them, by one patch, all or nothing. " +
		"Returns the diff."},
	func(in *call, a struct {
		Patch string `arg:"patch,input" is:"content,required" doc:"*** Begin Patch … *** End Patch (Update File, Add File, Delete File, Move to), or a unified diff"`
		conditions
	}) (Reply, error) {
		done, err := do[skill.Patched](in, skill.Patch{Text: a.Patch, If: a.condition()})
		if err != nil {
			return Reply{}, err
		}
		var b strings.Builder
		b.WriteString(done.Message() + "\n")
		files := patchedFiles(in, done)
		for i, line := range files {
			b.WriteString(line + "\n" + rowsText(done.Files[i].Rows, in.s.UsesLetters()))
		}
		for _, note := range done.Notes {
			b.WriteString("[" + wellFormed(in.shorten(note)) + "]\n")
		}
		return Reply{Body: in.changeText(done.Changed, cutDiff(b.String())), Structured: rawjson.Encode(struct {
			Files []string `json:"files"`
			changeMembers
		}{files, in.changeMembers(done.Changed)})}, nil
	})

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
			lines[i] = fmt.Sprintf("%s %s to %s +%d -%d", f.Kind, in.name(f.From), in.name(f.Path),
				f.Added, f.Removed)
		}
		if f.Kind == "add" || f.Kind == "move" {
			lines[i] += in.twin(f.Path)
		}
	}
	return lines
}

// transferArgs are the arguments of move and copy.
type transferArgs struct {
	Source    string `arg:"source" is:"path,required" doc:"file, folder, or lines: a.go:10ab-40cd"`
	Dest      string `arg:"destination" is:"path,required" doc:"path or folder; for lines a.go:7ef (after it), a.go:0 or a.go:end"`
	Overwrite bool   `arg:"overwrite" doc:"replace a file that is there"`
	conditions
}

// destination is where a move or copy leads to. In a folder, which is there or for a file ends
// with "/", the source keeps its name.
func (a transferArgs) destination(in *call) string {
	if in.isFolder(a.Dest) || strings.HasSuffix(a.Dest, "/") && !in.isFolder(a.Source) {
		return filepath.Join(a.Dest, filepath.Base(in.x.Abs(in.s, a.Source)))
	}
	return a.Dest
}

func (in *call) isFolder(path string) bool {
	info, err := in.x.Look(in.s, path, true)
	return err == nil && info.IsDir()
}

// transfer moves or copies lines if the source names lines, else a file or folder by another operation.
func (in *call) transfer(a transferArgs, file skill.Args, duplicate bool) (Reply, error) {
	op, err := in.linesOr(a, file, duplicate)
	if err != nil {
		return Reply{}, err
	}
	r, err := do[skill.Result](in, op)
	if errors.Is(err, fs.ErrExist) {
		hint := "; set overwrite to replace a file"
		if to := a.destination(in); in.x.Abs(in.s, a.Source) == in.x.Abs(in.s, to) {
			hint = "; source and destination are the same"
		} else if in.isFolder(a.Source) || in.isFolder(to) {
			hint = "; only a file replaces a file: name another path"
		}
		err = &Failure{Message: plainMessage(err) + hint, Cause: err}
	}
	if err != nil {
		return Reply{}, err
	}
	if t, ok := r.(skill.Transferred); ok {
		members := in.changeMembers(t.Changed)
		members.From, members.Path = in.name(t.Source), in.name(t.Dest)
		return Reply{Body: in.changeText(t.Changed, in.shorten(t.Message())+"\n"+wellFormed(t.Rows)),
			Structured: rawjson.Encode(members)}, nil
	}
	c, did := r.(skill.Changed), "moved "
	if duplicate {
		did = "copied "
	}
	return in.changeReply(c, did+in.name(c.From)+" to "+in.name(c.Path)), nil
}

var moveTool = row(Tool{Name: "move", Title: "Move or rename", Effect: Destroys,
	Output: paramsOf(reflect.TypeFor[movedOutput]()),
	Doc:    "Move or rename a file or folder, or move lines."},
	func(in *call, a transferArgs) (Reply, error) {
		return in.transfer(a, skill.MoveFile{Source: a.Source, Dest: a.destination(in), Parents: true,
			NoReplace: !a.Overwrite, If: a.condition()}, false)
	})

var copyTool = row(Tool{Name: "copy", Title: "Copy", Effect: Destroys,
	Output: paramsOf(reflect.TypeFor[movedOutput]()),
	Doc:    "Copy a file or folder, or lines."},
	func(in *call, a struct {
		Source    string `arg:"source" is:"path,required" doc:"as for move"`
		Dest      string `arg:"destination" is:"path,required" doc:"as for move"`
		Overwrite bool   `arg:"overwrite" doc:"replace a file that is there"`
		conditions
	}) (Reply, error) {
		t := transferArgs(a)
		return in.transfer(t, skill.CopyFile{Source: a.Source, Dest: t.destination(in), Tree: true, Parents: true,
			NoReplace: !a.Overwrite, If: a.condition()}, true)
	})

var deleteTool = row(Tool{Name: "delete", Title: "Delete", Effect: Destroys,
	Output: paramsOf(reflect.TypeFor[changeOutput]()),
	Doc:    "Delete a file, or a folder with everything in it."},
	func(in *call, a struct {
		Path string `arg:"path" is:"path,required" doc:"file or folder"`
		conditions
	}) (Reply, error) {
		c, err := do[skill.Changed](in, skill.DeleteFile{Path: a.Path, Tree: true, If: a.condition()})
		if err != nil {
			return Reply{}, err
		}
		return in.changeReply(c, "deleted "+in.name(c.Path)), nil
	})

// changeReply is the reply to a change, as a text and as an object.
func (in *call) changeReply(c skill.Changed, did string) Reply {
	return Reply{Body: in.changeText(c, did), Structured: rawjson.Encode(in.changeMembers(c))}
}

// changeText adds to what a call did how it is undone, or in a dry run what it would have done.
func (in *call) changeText(c skill.Changed, did string) string {
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
	return cutDiff(strings.Replace(strings.Replace(c.Diff, "--- "+c.Path+"\n", "--- "+in.name(c.Path)+"\n",
		1), "+++ "+c.Path+"\n", "+++ "+in.name(c.Path)+"\n", 1))
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

	Kept []string `json:"kept,omitempty"`
}

func (in *call) changeMembers(c skill.Changed) changeMembers {
	k := changeMembers{Path: in.name(c.Path), Undo: c.ID, NotKept: c.NotKept, Diff: in.diff(c),
		DryRun: !c.Applied, Kept: c.Kept}
	if c.From != "" {
		k.From = in.name(c.From)
	}
	return k
}

var takeBackTool = row(Tool{Name: "undo", Title: "Undo", Effect: Destroys,
	Output: paramsOf(reflect.TypeFor[struct {
		Undone []struct{} `arg:"undone" is:"required"`
	}]()),
	Doc: "Undo the last change, one, or all since one. An undo can be undone."},
	func(in *call, a struct {
		ID    string `arg:"id" doc:"default: the last"`
		Since string `arg:"since" doc:"this change and all later ones"`
		Force bool   `arg:"force" doc:"even if a file has changed since"`
	}) (Reply, error) {
		r, err := do[skill.Reverted](in, skill.Undo{ID: a.ID, Since: a.Since, Force: a.Force})
		if err != nil {
			return Reply{}, err
		}
		id := Reply{Result: r}.UndoID()
		text := strings.TrimSuffix(cutTo(r.Message(), "history lists them"), "\n")
		d := Data(r).(data)
		all, _ := d["undone"].([]data)
		for n := len(all); n > 1 && len(rawjson.Encode(d)) > maxReply; {
			n /= 2
			d["undone"], d["more"], d["undo"] = all[:n], len(all)-n, id
		}
		return Reply{Body: strings.TrimSuffix(text+"\nundo ID "+id, "\nundo ID "),
			Structured: rawjson.Encode(d)}, nil
	})

var versionTool = row(Tool{Name: "restore", Title: "Restore a version", Effect: Destroys,
	Doc: "Show what a file held before a change, or write it to a file."},
	func(in *call, a struct {
		ID   string `arg:"id" is:"required" doc:"the change"`
		Path string `arg:"path" is:"path" doc:"the file, if it changed several"`
		To   string `arg:"to" is:"path" doc:"the file to write"`
	}) (string, error) {
		r, err := do[skill.Result](in, skill.Restore{ID: a.ID, Path: a.Path, To: a.To})
		if err != nil {
			return "", err
		}
		if c, ok := r.(skill.Changed); ok {
			return in.changeText(c, "wrote "+in.name(c.Path)), nil
		}
		return cutTo(r.Message(), "write it to a file, and read that"), nil
	})

var changesTool = row(Tool{Name: "history", Title: "History",
	Doc: "List changes, the newest first; with id, show the diff of one."},
	func(in *call, a struct {
		Path  string      `arg:"path" is:"path" doc:"only of this file or folder"`
		Limit json.Number `arg:"limit" type:"integer" doc:"default 50"`
		ID    string      `arg:"id" doc:"the change to show"`
	}) (string, error) {
		if a.ID != "" {
			text, err := in.say(skill.Difference{ID: a.ID})
			return cutDiff(text), err
		}
		limit, err := historyLimit(a.Limit)
		if err != nil {
			return "", err
		}
		text, err := in.say(skill.History{Path: a.Path, Limit: limit})
		return cutTo(text, "a path lists those of one file or folder"), err
	})

// editArgs are the arguments of one edit. Those that are hidden are what other tools call them.
type editArgs struct {
	Old    *string `arg:"old_text,old_string,oldText,old_str" is:"content,empty" doc:"what new_text replaces"`
	New    any     `arg:"new_text,new_string,newText,new_str,text,content" type:"string" is:"content,empty,lenient" doc:"\"\" deletes"`
	All    *bool   `arg:"replace_all,replaceAll" doc:"all of them"`
	Lines  any     `arg:"lines" type:"string" is:"lenient" doc:"instead of old_text: 12ab or 12ab-14cd, as read numbers them"`
	After  any     `arg:"after,insert_line" type:"string" is:"lenient" doc:"or put new_text after this line: 12ab, 0 or end"`
	Before any     `arg:"before" type:"string" is:"hidden,lenient"`
	First  any     `arg:"start_line" type:"string" is:"hidden,lenient"`
	Last   any     `arg:"end_line" type:"string" is:"hidden,lenient"`
}

// given are the names of the arguments that an edit has, old_text also if that is empty.
func (a editArgs) given() (names []string) {
	for _, arg := range []struct {
		name string
		has  bool
	}{
		{"old_text", a.Old != nil}, {"new_text", isFilled(a.New)}, {"replace_all", a.All != nil},
		{"lines", isFilled(a.Lines)}, {"after", isFilled(a.After)}, {"before", isFilled(a.Before)},
		{"start_line", isFilled(a.First)}, {"end_line", isFilled(a.Last)},
	} {
		if arg.has {
			names = append(names, arg.name)
		}
	}
	return names
}

// isFilled reports whether an argument holds more than an empty text.
func isFilled(v any) bool { return v != nil && v != "" }

// newText is the new text of an edit, or its lines.
func (a editArgs) newText() (text string, err error) {
	switch v := a.New.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case []any:
		lines := make([]string, len(v))
		for i, line := range v {
			if lines[i], _ = line.(string); lines[i] == "" && line != "" {
				return "", errors.New("new_text must be a text, or a list of lines")
			}
		}
		return strings.Join(lines, "\n"), nil
	case nil:
		return "", errors.New(`new_text is required; "" deletes`)
	}
	return "", errors.New("new_text must be a text")
}

// replacement reads one edit.
func (a editArgs) replacement() (r skill.Replacement, err error) {
	if isFilled(a.First) || isFilled(a.Last) {
		if a.First == nil {
			a.First = a.Last
		}
		if a.Last == nil {
			a.Last = a.First
		}
		a.Lines = fmt.Sprintf("%v-%v", a.First, a.Last)
	}
	var kinds []string
	var where any
	for i, v := range []any{a.Lines, a.After, a.Before} {
		if isFilled(v) {
			kinds, where = append(kinds, []string{"lines", "after", "before"}[i]), v
		}
	}
	if a.Old != nil && (*a.Old != "" || len(kinds) == 0) {
		kinds = slices.Insert(kinds, 0, "old_text")
	}
	switch len(kinds) {
	case 0:
		return r, errors.New("give one of old_text, lines, after and before")
	case 1:
	default:
		return r, errors.New("give one of old_text, lines, after and before, not " +
			strings.Join(kinds, " and "))
	}
	if r.New, err = a.newText(); err != nil {
		return r, err
	}
	r.All = a.All != nil && *a.All
	if kinds[0] == "old_text" {
		r.Old = *a.Old
		return r, nil
	}
	place := map[string]skill.Place{"lines": skill.These, "after": skill.After,
		"before": skill.Before}[kinds[0]]
	r.Lines, err = lineRange(kinds[0], where, place)
	return r, err
}

// edits reads the edits of a call, one that is flat or a list.
func editsOf(one editArgs, list []editArgs) ([]skill.Replacement, error) {
	flat := one.given()
	switch {
	case len(list) > 0 && len(flat) > 0:
		return nil, fmt.Errorf("edits and %s are both given; give one of them", strings.Join(flat, ", "))
	case len(list) == 0 && len(flat) == 0:
		return nil, errors.New("edits is empty; give old_text and new_text, or lines and new_text")
	case len(list) == 0:
		list = []editArgs{one}
	}
	made := make([]skill.Replacement, len(list))
	for i, e := range list {
		var err error
		if made[i], err = e.replacement(); err != nil {
			if len(list) > 1 {
				err = fmt.Errorf("edit %d of %d: %w", i+1, len(list), err)
			}
			return nil, err
		}
	}
	return made, nil
}

var (
	oneLine      = words.Pattern(`(?s)^\s*L?(\d+):?([a-z]{2})?(?:[\t|│: ].*)?$`)
	severalLines = words.Pattern(`^\s*L?(\d+):?([a-z]{2})?\s*(?:-|\.\.|–|,|to)\s*L?(?:(\d+):?([a-z]{2})?|(end|\$))\s*$`)
)

// lineRange reads a line, or a range of lines, as a model writes them.
func lineRange(name string, v any, place skill.Place) (*skill.LineRange, error) {
	if pair, ok := v.([]any); ok && len(pair) == 2 {
		v = fmt.Sprintf("%v-%v", pair[0], pair[1])
	}
	text := fmt.Sprint(v)
	word := strings.TrimSpace(text)
	switch {
	case place == skill.After && (word == "end" || word == "$"):
		return &skill.LineRange{From: skill.LineRef{End: true}, Place: place}, nil
	case place == skill.After && (word == "0" || word == "start" || word == "^"):
		return &skill.LineRange{Place: place}, nil
	}
	if m := severalLines().FindStringSubmatch(text); m != nil && place == skill.These {
		return &skill.LineRange{From: lineRef(m[1], m[2]), To: lineRefOr(m[3], m[4], m[5])}, nil
	}
	if m := oneLine().FindStringSubmatch(text); m != nil {
		ref := lineRef(m[1], m[2])
		return &skill.LineRange{From: ref, To: ref, Place: place}, nil
	}
	return nil, fmt.Errorf("%s is %.80q; it must be like 12ab or 12ab-14cd, as read numbers them", name, text)
}

// lineRef reads the number of a line. It returns 0 if there is no number.
func lineRef(number, letters string) skill.LineRef {
	n, err := strconv.Atoi(number)
	if err != nil && number != "" {
		n = 1 << 40 // it has more digits than any line
	}
	return skill.LineRef{Number: n, Letters: letters}
}

func lineRefOr(number, letters, end string) skill.LineRef {
	if end != "" {
		return skill.LineRef{End: true}
	}
	return lineRef(number, letters)
}

// linesOr returns the move or copy of lines if the source names lines, else that of a file.
func (in *call) linesOr(a transferArgs, file skill.Args, duplicate bool) (skill.Args, error) {
	dest := a.Dest
	n, ok := in.namedLines(a.Source, false)
	if !ok || n.at > 0 || n.count > 0 {
		return file, nil
	}
	t := skill.TransferLines{Source: n.path, From: n.from, To: n.to, Dest: dest,
		After: skill.LineRef{End: true}, Copy: duplicate, If: a.condition()}
	_, err := in.x.Look(in.s, dest, false)
	switch colon := strings.LastIndexByte(dest, ':'); {
	case err == nil:
		return nil, fmt.Errorf("%[1]s is there; say after which line: %[1]s:40ab, %[1]s:0 or %[1]s:end", dest)
	case colon > 0:
		if at, err := lineRange("destination", dest[colon+1:], skill.After); err == nil {
			t.Dest, t.After = dest[:colon], at.From
		}
	}
	return t, nil
}

var replaceTool = row(Tool{Name: "replace", Title: "Replace in files", Effect: Destroys,
	Doc: "Replace a text in many files, such as a name: all or none."},
	func(in *call, a struct {
		Glob    string      `arg:"glob,pattern" is:"required" doc:"like src/**/*.{js,ts}"`
		Old     string      `arg:"old_text,old_string,oldText,old_str" is:"content,required,empty" doc:"what new_text replaces"`
		New     string      `arg:"new_text,new_string,newText,new_str" is:"content,required,empty" doc:"\"\" deletes"`
		Regex   bool        `arg:"regex" doc:"old_text is RE2; $1 in new_text"`
		Count   json.Number `arg:"count" type:"integer" doc:"refuse unless it occurs so often"`
		Preview bool        `arg:"preview,dry_run" doc:"only count"`
		Path    string      `arg:"path" is:"path,hidden"`
	}) (string, error) {
		n, err := count("count", a.Count, -1, 1<<40)
		glob, e := skill.LocalName(a.Glob)
		if err = cmp.Or(e, err); err != nil {
			return "", err
		}
		r, err := do[skill.Replaced](in, skill.ReplaceText{Path: a.Path, Glob: glob, Old: a.Old, New: a.New,
			Regex: a.Regex, Count: n, Preview: a.Preview})
		if c, ok := errors.AsType[*skill.CountError](err); ok {
			err = fmt.Errorf("%w.\n%s", err, strings.Join(countsOf(in, c.Found), "\n"))
		}
		if err != nil {
			return "", err
		}
		text := r.Message() + "\n" + strings.Join(countsOf(in, r), "\n")
		if r.Preview {
			return text + "\n" + strings.TrimSuffix(rowsText(r.Example[:min(len(r.Example), 12)], false), "\n"), nil
		}
		return in.changeText(r.Changed, text), nil
	})

// countsOf says how often a text is in each file.
func countsOf(in *call, r skill.Replaced) (list []string) {
	for i, f := range r.Files {
		if i == 20 {
			return append(list, fmt.Sprintf("… %d more files", len(r.Files)-i))
		}
		list = append(list, fmt.Sprintf("%s %d", in.name(f.Path), f.Count))
	}
	return list
}
