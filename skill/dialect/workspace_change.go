package dialect

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"textskill/parser/rawjson"
	"unicode/utf8"

	"textskill/skill"
)

// changeOutput is what the object of a change has; undo is missing if it was not recorded.
// Rare members, as in a dry run, are left out: all definitions have 9 KB.
var changeOutput = []Param{{Name: "path", Type: "string", Required: true}, {Name: "undo", Type: "string"}}

var movedOutput = append([]Param{{Name: "from", Type: "string", Required: true}}, changeOutput...)

var onePath = Param{Name: "path", Aliases: []string{"file_path"}, Type: "string", Path: true, Required: true,
	Doc: "file"}

var writeTool = Tool{
	Name: "write", Title: "Write a file",
	Doc: "Create a file, or replace all of it; edit changes parts. Missing parents are made. Refused if others have changed it since you read it.",
	Params: []Param{newFile(onePath),
		{Name: "content", Type: "string", Aliases: []string{"contents", "file_text"}, Content: true,
			Required: true, Empty: true, Doc: "text"},
		{Name: "append", Type: "boolean", Doc: "add to the end"},
		{Name: "if_hash", Type: "string",
			Doc: "SHA-256 it must have, 8 digits or more; none: it must not exist"},
		{Name: "force", Type: "boolean", Doc: "replace it all the same"},
		{Name: "create_only", Type: "boolean", Hidden: true}},
	Output: changeOutput, Effect: Destroys,
	operation: func(in *call) (skill.Args, error) {
		if in.flag("append") {
			return skill.AppendFile{Path: in.str("path"), Content: in.str("content"), Parents: true,
				Keep: true}, nil
		}
		return skill.WriteFile{Path: in.str("path"), Content: in.str("content"), Parents: true,
			Keep: true}, nil
	},
	reply: typed(func(in *call, c skill.Changed) string {
		text := fmt.Sprintf("wrote %s: %d bytes", in.name(c.Path), c.Bytes)
		if len(c.Kept) > 0 {
			text += "; kept the " + strings.Join(c.Kept, " and the ")
		}
		text += in.twin(c.Path)
		if c.Unread > 0 {
			text += fmt.Sprintf("; it replaced %s that you have not read", counted(c.Unread, "line"))
		}
		return changeText(in, c, text)
	}),
	data: changeData,
}

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

var editTool = Tool{
	Name: "edit", Title: "Edit a file",
	Doc: "Change parts of a file that you have read, by texts or by lines: all edits or none. old_text must occur once, unless replace_all. Returns the diff.",
	Params: slices.Concat([]Param{onePath}, editParams, []Param{
		{Name: "edits", Type: "array", Of: "object", Content: true, Doc: "several of these",
			Fields: undescribed(editParams)}}, conditions),
	Effect: Destroys,
	operation: func(in *call) (skill.Args, error) {
		edits, err := in.edits()
		return skill.EditFile{Path: in.str("path"), Edits: edits}, err
	},
	reword: func(_ *call, err error) error {
		if many, ok := errors.AsType[*skill.ManyMatchesError](err); ok {
			// without its hint
			return fmt.Errorf("%v; add lines around it to old_text, or set replace_all", many)
		}
		return err
	},
	reply: typed(func(in *call, c skill.Changed) string {
		if c.Applied && c.Added+c.Removed == 0 {
			return changeText(in, c, in.name(c.Path)+" is as it was: the new texts are the old ones")
		}
		text := fmt.Sprintf("edited %s\n+%d -%d\n%s", in.name(c.Path), c.Added, c.Removed,
			rowsText(c.Rows, in.usesLetters()))
		return changeText(in, c, cutDiff(text))
	}),
}

// usesLetters reports whether a reply shows lines with letters: if the call or the session has
// used some.
func (in *call) usesLetters() bool {
	return in.filled("lines") || in.filled("after") || in.s.UsesLetters()
}

var patchTool = Tool{
	Name: "patch", Title: "Apply a patch",
	Doc: "Change several files at once, also add, move and delete them, by one patch, all or nothing. Returns the diff.",
	Params: slices.Concat([]Param{{Name: "patch", Aliases: []string{"input"}, Type: "string", Content: true,
		Required: true,
		Doc:      "*** Begin Patch … *** End Patch (Update File, Add File, Delete File, Move to), or a unified diff"}}, conditions),
	Output:    append([]Param{{Name: "files", Type: "array", Of: "string", Required: true}}, changeOutput...),
	Effect:    Destroys,
	operation: func(in *call) (skill.Args, error) { return skill.Patch{Text: in.str("patch")}, nil },
	reply: typed(func(in *call, p skill.Patched) string {
		var b strings.Builder
		b.WriteString(p.Message() + "\n")
		for i, line := range patchedFiles(in, p) {
			b.WriteString(line + "\n" + rowsText(p.Files[i].Rows, in.s.UsesLetters()))
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
			lines[i] = fmt.Sprintf("%s %s to %s +%d -%d", f.Kind, in.name(f.From), in.name(f.Path),
				f.Added, f.Removed)
		}
		if f.Kind == "add" || f.Kind == "move" {
			lines[i] += in.twin(f.Path)
		}
	}
	return lines
}

var (
	ownSource = Param{Name: "source", Type: "string", Path: true, Required: true,
		Doc: "file, folder, or lines: a.go:10ab-40cd"}
	ownDest = Param{Name: "destination", Type: "string", Path: true, Required: true,
		Doc: "path or folder; for lines a.go:7ef (after it), a.go:0 or a.go:end"}
	overwrite = Param{Name: "overwrite", Type: "boolean", Doc: "replace a file that is there"}
	sameAs    = "as for move"
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

// transferred is the reply to a move or copy, of files or of lines.
func transferred(did string) func(*call, skill.Result) string {
	return func(in *call, r skill.Result) string {
		if t, ok := r.(skill.Transferred); ok {
			return transferReply(in, t)
		}
		c := r.(skill.Changed)
		return changeText(in, c, did+" "+in.name(c.From)+" to "+in.name(c.Path))
	}
}

var moveTool = Tool{
	Name: "move", Title: "Move or rename", Doc: "Move or rename a file or folder, or move lines.",
	Params: slices.Concat([]Param{ownSource, ownDest, overwrite}, conditions), Output: movedOutput,
	Effect: Destroys,
	operation: func(in *call) (skill.Args, error) {
		return in.linesOr(skill.MoveFile{Source: in.str("source"), Dest: in.destination(), Parents: true,
			NoReplace: !in.flag("overwrite")}, false)
	},
	reword: refusedToReplace,
	reply:  transferred("moved"),
	data:   changeData,
}

var copyTool = Tool{
	Name: "copy", Title: "Copy", Doc: "Copy a file or folder, or lines.",
	Params: slices.Concat([]Param{{Name: "source", Type: "string", Path: true, Required: true, Doc: sameAs},
		{Name: "destination", Type: "string", Path: true, Required: true, Doc: sameAs},
		{Name: "overwrite", Type: "boolean", Doc: overwrite.Doc}}, conditions),
	Output: movedOutput, Effect: Destroys,
	operation: func(in *call) (skill.Args, error) {
		return in.linesOr(skill.CopyFile{Source: in.str("source"), Dest: in.destination(), Tree: true,
			Parents: true, NoReplace: !in.flag("overwrite")}, true)
	},
	reword: refusedToReplace,
	reply:  transferred("copied"),
	data:   changeData,
}

var deleteTool = Tool{
	Name: "delete", Title: "Delete", Doc: "Delete a file, or a folder with everything in it.",
	Params: slices.Concat([]Param{{Name: "path", Type: "string", Path: true, Required: true,
		Doc: "file or folder"}}, conditions),
	Output: changeOutput, Effect: Destroys,
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

func changeKeys(in *call, c skill.Changed) changeMembers {
	k := changeMembers{Path: in.name(c.Path), Undo: c.ID, NotKept: c.NotKept, Diff: in.diff(c),
		DryRun: !c.Applied, Kept: c.Kept}
	if c.From != "" {
		k.From = in.name(c.From)
	}
	return k
}

func changeData(in *call, r skill.Result) any {
	if t, ok := r.(skill.Transferred); ok {
		keys := changeKeys(in, t.Changed)
		keys.From, keys.Path = in.name(t.Source), in.name(t.Dest)
		return keys
	}
	return changeKeys(in, r.(skill.Changed))
}

var takeBackTool = Tool{
	Name: "undo", Title: "Undo",
	Doc: "Undo the last change, one, or all since one. An undo can be undone.",
	Params: []Param{
		{Name: "id", Type: "string", Doc: "default: the last"},
		{Name: "since", Type: "string", Doc: "this change and all later ones"},
		{Name: "force", Type: "boolean", Doc: "even if a file has changed since"}},
	Output: []Param{{Name: "undone", Type: "array", Of: "object", Required: true}}, Effect: Destroys,
	operation: func(in *call) (skill.Args, error) {
		return skill.Undo{ID: in.str("id"), Since: in.str("since"), Force: in.flag("force")}, nil
	},
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
	Name: "restore", Title: "Restore a version",
	Doc: "Show what a file held before a change, or write it to a file.",
	Params: []Param{
		{Name: "id", Type: "string", Required: true, Doc: "the change"},
		{Name: "path", Type: "string", Path: true, Doc: "the file, if it changed several"},
		{Name: "to", Type: "string", Path: true, Doc: "the file to write"}},
	Effect: Destroys,
	operation: func(in *call) (skill.Args, error) {
		return skill.Restore{ID: in.str("id"), Path: in.str("path"), To: in.str("to")}, nil
	},
	reply: func(in *call, r skill.Result) string {
		if c, ok := r.(skill.Changed); ok {
			return changeText(in, c, "wrote "+in.name(c.Path))
		}
		return cutTo(r.Message(), "write it to a file, and read that")
	},
}

var changesTool = Tool{
	Name: "history", Title: "History",
	Doc: "List changes, the newest first; with id, show the diff of one.",
	Params: []Param{
		{Name: "path", Type: "string", Path: true, Doc: "only of this file or folder"},
		{Name: "limit", Type: "integer", Doc: "default 50"},
		{Name: "id", Type: "string", Doc: "the change to show"}},
	operation: func(in *call) (skill.Args, error) {
		if id := in.str("id"); id != "" {
			return skill.Difference{ID: id}, nil
		}
		given, _ := in.values["limit"].(json.Number)
		limit, err := historyLimit(given)
		return skill.History{Path: in.str("path"), Limit: limit}, err
	},
	reply: func(_ *call, r skill.Result) string {
		if _, ok := r.(skill.Changes); ok {
			return cutTo(r.Message(), "a path lists those of one file or folder")
		}
		return cutDiff(r.Message())
	},
}

// editParams are the arguments of one edit. Those that are hidden are what other tools call
// them.
var editParams = []Param{
	{Name: "old_text", Aliases: []string{"old_string", "oldText", "old_str"}, Type: "string", Content: true,
		Empty: true, Doc: "what new_text replaces"},
	{Name: "new_text", Aliases: []string{"new_string", "newText", "new_str", "text", "content"},
		Type: "string", Content: true, Empty: true, Lenient: true, Doc: `"" deletes`},
	{Name: "replace_all", Aliases: []string{"replaceAll"}, Type: "boolean", Doc: "all of them"},
	{Name: "lines", Type: "string", Lenient: true,
		Doc: "instead of old_text: 12ab or 12ab-14cd, as read numbers them"},
	{Name: "after", Aliases: []string{"insert_line"}, Type: "string", Lenient: true,
		Doc: "or put new_text after this line: 12ab, 0 or end"},
	{Name: "before", Type: "string", Lenient: true, Hidden: true},
	{Name: "start_line", Type: "string", Lenient: true, Hidden: true},
	{Name: "end_line", Type: "string", Lenient: true, Hidden: true},
}

// conditions are the hidden arguments of all tools that change files.
var conditions = []Param{
	{Name: "if_hash", Type: "string", Hidden: true},
	{Name: "create_only", Type: "boolean", Hidden: true},
	{Name: "force", Type: "boolean", Hidden: true},
}

// condition is what the arguments of a call say of the file that it changes.
func (in *call) condition() skill.Condition {
	c := skill.Condition{Hash: in.str("if_hash"), Force: in.flag("force")}
	if in.flag("create_only") && c.Hash == "" {
		c.Hash = "none"
	}
	return c
}

// undescribed returns arguments without their descriptions.
func undescribed(params []Param) []Param {
	params = slices.Clone(params)
	for i := range params {
		params[i].Doc = ""
	}
	return params
}

// filled reports whether an argument holds more than an empty text.
func (in values) filled(name string) bool {
	v, ok := in[name]
	return ok && v != nil && v != ""
}

// newText is the new text of an edit, or its lines.
func (in values) newText() (text string, err error) {
	switch v := in["new_text"].(type) {
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
func (in values) replacement() (r skill.Replacement, err error) {
	if in.filled("start_line") || in.filled("end_line") {
		first, last := in["start_line"], in["end_line"]
		if first == nil {
			first = last
		}
		if last == nil {
			last = first
		}
		in["lines"] = fmt.Sprintf("%v-%v", first, last)
	}
	var kinds []string
	for _, name := range []string{"lines", "after", "before"} {
		if in.filled(name) {
			kinds = append(kinds, name)
		}
	}
	if _, ok := in["old_text"].(string); ok && (in.filled("old_text") || len(kinds) == 0) {
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
	if r.New, err = in.newText(); err != nil {
		return r, err
	}
	r.Old, r.All = in.str("old_text"), in.flag("replace_all")
	if kinds[0] == "old_text" {
		return r, nil
	}
	r.Old = ""
	place := map[string]skill.Place{"lines": skill.These, "after": skill.After,
		"before": skill.Before}[kinds[0]]
	r.Lines, err = lineRange(kinds[0], in[kinds[0]], place)
	return r, err
}

// edits reads the edits of a call, one that is flat or a list.
func (in *call) edits() ([]skill.Replacement, error) {
	list, _ := in.values["edits"].([]any)
	var flat []string
	for _, p := range editParams {
		if in.filled(p.Name) || p.Name == "old_text" && in.values["old_text"] != nil {
			flat = append(flat, p.Name)
		}
	}
	switch {
	case len(list) > 0 && len(flat) > 0:
		return nil, fmt.Errorf("edits and %s are both given; give one of them", strings.Join(flat, ", "))
	case len(list) == 0 && len(flat) == 0:
		return nil, errors.New("edits is empty; give old_text and new_text, or lines and new_text")
	case len(list) == 0:
		list = []any{in.values}
	}
	made := make([]skill.Replacement, len(list))
	for i, e := range list {
		one, err := e.(values).replacement()
		if err != nil && len(list) > 1 {
			err = fmt.Errorf("edit %d of %d: %w", i+1, len(list), err)
		}
		if made[i] = one; err != nil {
			return nil, err
		}
	}
	return made, nil
}

var (
	oneLine      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^\s*L?(\d+):?([a-z]{2})?(?:[\t|│: ].*)?$`) })
	severalLines = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*L?(\d+):?([a-z]{2})?\s*(?:-|\.\.|–|,|to)\s*L?(?:(\d+):?([a-z]{2})?|(end|\$))\s*$`)
	})
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
func (in *call) linesOr(file skill.Args, duplicate bool) (skill.Args, error) {
	dest := in.str("destination")
	n, ok := in.namedLines(in.str("source"), false)
	if !ok || n.at > 0 || n.count > 0 {
		return file, nil
	}
	t := skill.TransferLines{Source: n.path, From: n.from, To: n.to, Dest: dest,
		After: skill.LineRef{End: true}, Copy: duplicate}
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

func transferReply(in *call, t skill.Transferred) string {
	return changeText(in, t.Changed, in.shorten(t.Message())+"\n"+wellFormed(t.Rows))
}

var replaceTool = Tool{
	Name: "replace", Title: "Replace in files",
	Doc: "Replace a text in many files, such as a name: all or none.",
	Params: []Param{
		{Name: "glob", Aliases: []string{"pattern"}, Type: "string", Required: true,
			Doc: "like src/**/*.{js,ts}"},
		{Name: "old_text", Aliases: []string{"old_string", "oldText", "old_str"}, Type: "string",
			Content: true, Required: true, Empty: true, Doc: "what new_text replaces"},
		{Name: "new_text", Aliases: []string{"new_string", "newText", "new_str"}, Type: "string",
			Content: true, Required: true, Empty: true, Doc: `"" deletes`},
		{Name: "regex", Type: "boolean", Doc: "old_text is RE2; $1 in new_text"},
		{Name: "count", Type: "integer", Doc: "refuse unless it occurs so often"},
		{Name: "preview", Aliases: []string{"dry_run"}, Type: "boolean", Doc: "only count"},
		{Name: "path", Type: "string", Path: true, Hidden: true}},
	Effect: Destroys,
	operation: func(in *call) (skill.Args, error) {
		count, err := in.count("count", -1, 1<<40)
		if _, given := in.values["count"]; !given {
			count = -1
		}
		glob, e := skill.LocalName(in.str("glob"))
		err = cmp.Or(e, err)
		return skill.ReplaceText{Path: in.str("path"), Glob: glob, Old: in.str("old_text"),
			New:   in.str("new_text"),
			Regex: in.flag("regex"), Count: count, Preview: in.flag("preview")}, err
	},
	reword: func(in *call, err error) error {
		if c, ok := errors.AsType[*skill.CountError](err); ok {
			return fmt.Errorf("%w.\n%s", err, strings.Join(countsOf(in, c.Found), "\n"))
		}
		return err
	},
	reply: typed(func(in *call, r skill.Replaced) string {
		text := r.Message() + "\n" + strings.Join(countsOf(in, r), "\n")
		if r.Preview {
			return text + "\n" + strings.TrimSuffix(rowsText(r.Example[:min(len(r.Example), 12)],
				false), "\n")
		}
		return changeText(in, r.Changed, text)
	}),
}

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
