package dialect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"textskill/skill"
)

const (
	editorName    = "str_replace_based_edit_tool"
	oldEditorName = "str_replace_editor"
)

// nativeEditor are Anthropic's editor, under the names that it has had, and memory.
var nativeEditor = []Tool{
	native(editorName, "View, create and edit files by commands: view, create, str_replace, insert.",
		Destroys, editor, editorParams...),
	native(oldEditorName, "The editor of older models, which has undo_edit.", Destroys, editor,
		editorParams...),
	native("create", "Make a file.", Adds, editorCommand("create"), nativePath("path"),
		nativeText("file_text", "what it holds")),
	native("view", "Show a file with numbered lines, or a folder.", Reads, editorCommand("view"),
		nativePath("path"),
		Param{Name: viewRange, Type: "array", Of: "integer", Doc: "first and last line; -1 is the end"}),
	native("memory", "Keep notes below /memories: view, create, str_replace, insert, delete, rename.",
		Destroys, memory,
		slices.Concat([]Param{editorParams[0]}, each(editorParams[1:], optional),
			[]Param{{Name: "old_path", Type: "string", Path: true, Doc: "for rename"},
				{Name: "new_path", Type: "string", Path: true, Doc: "for rename"}})...),
}

// viewRange is the argument with the lines to show.
const viewRange = "view_range"

var editorParams = []Param{
	{Name: "command", Type: "string", Required: true, Doc: "what to do"},
	nativePath("path"),
	{Name: viewRange, Type: "array", Of: "integer", Doc: "for view: first and last line; -1 is the end"},
	optional(nativeText("file_text", "for create")),
	optional(nativeText("old_str", "for str_replace: must occur once")),
	optional(nativeText("new_str", "for str_replace")),
	number("insert_line", "for insert: after this line, from 0"),
	optional(nativeText("insert_text", "for insert")),
}

const clipped = "<response clipped><NOTE>To save on context only part of this file has been shown to you. You should retry this tool after " +
	"you have searched inside the file with `grep -n` in order to find the line numbers of what you are looking for.</NOTE>"

// editor is Anthropic's editor. It checks its arguments in the order of the original.
func editor(ctx context.Context, in *call) (skill.Result, error) {
	return edit(ctx, in, in.str("command"), in.values["command"] != nil)
}

// editorCommand is a tool that is one command of the editor.
func editorCommand(command string) action {
	return func(ctx context.Context, in *call) (skill.Result, error) { return edit(ctx, in, command, true) }
}

var editorCommands = map[string]func(ctx context.Context, in *call, name string) (skill.Result, error){
	"view": editorView, "create": editorCreate, "str_replace": editorReplace, "insert": editorInsert,
	undoEdit: editorUndo,
}

const undoEdit = "undo_edit"

func edit(ctx context.Context, in *call, command string, given bool) (skill.Result, error) {
	name := in.str("path")
	switch {
	case !given:
		return nil, noCommand()
	case name == "":
		return nil, lacks("path", command)
	}
	at, err := in.place(name, true)
	if err != nil {
		return nil, err
	}
	commands, do := "view, create, str_replace, insert", editorCommands[command]
	if in.tool.Name == oldEditorName {
		commands += ", " + undoEdit
	} else if command == undoEdit {
		do = nil
	}
	switch creates := command == "create"; {
	case at == nothing && !creates && !(do != nil && command == undoEdit):
		return nil, failf("The path %s does not exist. Please provide a valid path.", name)
	case at != nothing && creates:
		return nil, editorExists(name)
	case at == folder && command != "view":
		return nil, failf("The path %s is a directory and only the `view` command can be used on directories", name)
	case do == nil:
		return nil, failf("Unrecognized command %s. The allowed commands for the %s tool are: %s", command,
			in.tool.Name, commands)
	case at == folder:
		return editorFolder(ctx, in, name)
	}
	return do(ctx, in, name)
}

func editorExists(name string) error {
	return failf("File already exists at: %s. Cannot overwrite files using command `create`.", name)
}

func lacks(param, command string) error {
	return failf("Parameter `%s` is required for command: %s", param, command)
}

func noCommand() error { return failf("Parameter `command` is required") }

// catLines are lines as `cat -n` prints them, from one on.
func catLines(text string, first int) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%6d\t%s", first+i, line)
	}
	return b.String()
}

// catOf is a text as the editor shows it, under a heading.
func (in *call) catOf(text, what string, first int) string {
	if most := in.dialect.shown; most > 0 && len(text) > most && utf8.RuneCountInString(text) > most {
		end := 0
		for range most {
			_, size := utf8.DecodeRuneInString(text[end:])
			end += size
		}
		text = text[:end] + clipped
	}
	return fmt.Sprintf("Here's the result of running `cat -n` on %s:\n%s\n", what, catLines(text, first))
}

// allCRLF reports whether each line of a text ends with CRLF.
func allCRLF(text string) bool {
	n := strings.Count(text, "\r\n")
	return n > 0 && n == strings.Count(text, "\n")
}

// likeLines gives a text the line ends of a file.
func likeLines(text, of string) string {
	if !allCRLF(of) {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}

// plainLines is a text as it is shown: with LF, if all of its lines end with CRLF.
func plainLines(text string) string {
	if allCRLF(text) {
		return strings.ReplaceAll(text, "\r\n", "\n")
	}
	return text
}

// occurrences are the lines, from 1, in which a text begins in another, each once.
func occurrences(text, old string) (lines []int, count int) {
	line, rest := 1, text
	for {
		i := strings.Index(rest, old)
		if i < 0 {
			return lines, count
		}
		line += strings.Count(rest[:i], "\n")
		if count++; !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
		line += strings.Count(old, "\n")
		rest = rest[i+len(old):]
	}
}

// listed are numbers with a separator.
func listed(numbers []int) string {
	return strings.Join(each(numbers, func(n int) string { return fmt.Sprint(n) }), ", ")
}

func editorView(ctx context.Context, in *call, name string) (skill.Result, error) {
	picture, text, err := in.contents(ctx, name)
	if picture != nil || err != nil {
		return picture, err
	}
	if strings.IndexByte(text, 0) >= 0 {
		return nil, failf("Ran into a binary file while trying to read %s", name)
	}
	first := 1
	if in.values[viewRange] != nil {
		if text, first, err = in.viewed(text); err != nil {
			return nil, err
		}
	}
	return answer(in.catOf(plainLines(text), name, first))
}

// viewed returns the lines of a text that the editor is asked for.
func (in *call) viewed(text string) (part string, first int, err error) {
	from, to, ok := in.lines(viewRange)
	lines := strings.Split(text, "\n")
	n, head := len(lines), fmt.Sprintf("Invalid `view_range`: [%d, %d]. Its ", from, to)
	switch {
	case !ok:
		return "", 0, failf("Invalid `view_range`. It should be a list of two integers.")
	case from < 1 || from > n:
		return "", 0, failf("%sfirst element `%d` should be within the range of lines of the file: [1, %d]",
			head, from, n)
	case to > n:
		return "", 0, failf("%ssecond element `%d` should be smaller than the number of lines in the file: `%d`", head, to, n)
	case to != -1 && to < from:
		return "", 0, failf("%ssecond element `%d` should be larger or equal than its first `%d`",
			head, to, from)
	case to == -1:
		to = n
	}
	return strings.Join(lines[from-1:to], "\n"), from, nil
}

// contents returns what a file holds: a picture as it is shown, or the text.
func (in *call) contents(ctx context.Context, name string) (picture skill.Result, text string, err error) {
	if picture, err = in.picture(ctx, name); picture == nil && err == nil {
		text, err = in.text(ctx, name)
	}
	return picture, text, err
}

// picture shows a file that is a picture; it returns nil for other files.
func (in *call) picture(ctx context.Context, name string) (skill.Result, error) {
	r, err := in.x.Execute(ctx, in.s, skill.Media{Path: name})
	if err != nil {
		return nil, err
	}
	m := r.(skill.MediaFound)
	if !slices.Contains(image.types, m.Type) || m.Size > image.limit {
		return nil, nil
	}
	data, err := in.text(ctx, name)
	return worded{text: name, blocks: []Block{{Type: m.Type, Path: m.Path, Data: []byte(data)}}}, err
}

// maxEntries is how many entries of a folder are shown.
const maxEntries = 1000

// editorFolder lists a folder two levels deep, without what is hidden.
func editorFolder(ctx context.Context, in *call, name string) (skill.Result, error) {
	if list, _ := in.values[viewRange].([]any); len(list) > 0 {
		return nil, failf("The `view_range` parameter is not allowed when `path` points to a directory.")
	}
	shown := []string{name}
	var walk func(at, as string, depth int) error
	walk = func(at, as string, depth int) error {
		r, err := in.x.Execute(ctx, in.s, skill.ListFolder{Path: at})
		if err != nil {
			return err
		}
		for _, e := range r.(skill.Listed).Entries {
			if strings.HasPrefix(e.Name, ".") {
				continue
			}
			below := strings.TrimSuffix(as, "/") + "/" + e.Name
			shown = append(shown, below)
			if depth < 2 && e.Type.IsDir() {
				if err := walk(filepath.Join(at, e.Name), below, depth+1); err != nil &&
					!errors.Is(err, fs.ErrPermission) {
					return err
				}
			}
		}
		return nil
	}
	if err := walk(name, name, 1); err != nil {
		return nil, err
	}
	slices.Sort(shown)
	text := strings.Join(shown[:min(len(shown), maxEntries)], "\n") + "\n"
	if more := len(shown) - maxEntries; more > 0 {
		text += fmt.Sprintf("… %d more\n", more)
	}
	return answer(fmt.Sprintf("Here's the files and directories up to 2 levels deep in %s, excluding hidden items:\n%s\n", name, text))
}

func editorCreate(ctx context.Context, in *call, name string) (skill.Result, error) {
	text, ok := in.values["file_text"].(string)
	if !ok {
		return nil, lacks("file_text", "create")
	}
	r, err := in.x.Execute(ctx, in.s,
		skill.WriteFile{Path: name, Content: text, Parents: true, NoReplace: true})
	if errors.Is(err, fs.ErrExist) {
		err = editorExists(name)
	}
	in.remember(name, r, err)
	return in.changed(r, err, "File created successfully at: "+name)
}

// replaceOnce replaces the one occurrence of a text, and returns where it is. name is the file's in a
// refusal, and places the format of the lines in which the text occurs.
func replaceOnce(text, old, new, name, places string) (after string, at int, err error) {
	o := likeLines(old, text)
	lines, count := occurrences(text, o)
	switch at = strings.Index(text, o); count {
	case 0:
		return "", 0, failf("No replacement was performed, old_str `%s` did not appear verbatim in %s.", old, name)
	case 1:
		return text[:at] + likeLines(new, text) + text[at+len(o):], at, nil
	}
	return "", 0, failf("No replacement was performed. Multiple occurrences of old_str `%s` %s. Please ensure it is unique",
		old, fmt.Sprintf(places, listed(lines)))
}

// around are the lines of a text from so many before a place to so many after an inserted text.
func around(text string, at int, added string, context int) (snippet string, first int) {
	line := strings.Count(text[:at], "\n")
	lines := strings.Split(text, "\n")
	first = max(0, line-context)
	lines = lines[first:min(len(lines), line+context+strings.Count(added, "\n")+1)]
	return strings.Join(each(lines, func(l string) string { return strings.TrimSuffix(l, "\r") }),
		"\n"), first + 1
}

func editorReplace(ctx context.Context, in *call, name string) (skill.Result, error) {
	old, ok := in.values["old_str"].(string)
	if !ok {
		return nil, lacks("old_str", "str_replace")
	}
	if old == "" {
		return nil, failf("No replacement was performed. Parameter `old_str` must not be empty")
	}
	said := ""
	r, err := in.reviseText(ctx, name, func(text string) (string, error) {
		after, at, err := replaceOnce(text, old, in.str("new_str"), name, "in lines [%s]")
		if err == nil {
			snippet, first := around(after, at, in.str("new_str"), 4)
			said = fmt.Sprintf("The file %s has been edited. %sReview the changes and make sure they are as expected. Edit the file again if necessary.",
				name, in.catOf(snippet, "a snippet of "+name, first))
		}
		return after, err
	})
	in.remember(name, r, err)
	return in.changed(r, err, said)
}

// inserted returns the argument with the text of an insertion.
func (in *call) inserted() (string, error) {
	text, ok := in.values["insert_text"].(string)
	other, also := in.values["new_str"].(string)
	switch {
	case ok && also && text != other:
		return "", failf("Parameters `insert_text` and `new_str` differ; give one of them")
	case also:
		text = other
	case !ok:
		return "", lacks("insert_text", "insert")
	}
	return text, nil
}

// insertLines puts whole lines after a line of a text. A number behind its last newline is its end.
func insertLines(text string, n int, added string) (after string, at int, lines []string) {
	end := "\n"
	if allCRLF(text) {
		end = "\r\n"
	}
	added = strings.TrimSuffix(strings.ReplaceAll(added, "\r\n", "\n"), "\n")
	lines = strings.Split(text, end)
	if lines[len(lines)-1] == "" {
		n = min(n, len(lines)-1)
	}
	new := strings.Split(added, "\n")
	return strings.Join(slices.Concat(lines[:n], new, lines[n:]), end), n,
		slices.Concat(lines[max(0, n-4):n], new, lines[n:min(len(lines), n+4)])
}

// insertAt returns the line of an insertion, if a text has it.
func (in *call) insertAt(text, prefix string) (int, error) {
	n, ok := in.integer("insert_line")
	if most := strings.Count(text, "\n") + 1; !ok || n < 0 || n > most {
		return 0, failf("%sInvalid `insert_line` parameter: %v. It should be within the range of lines of the file: [0, %d]", prefix, in.values["insert_line"], most)
	}
	return n, nil
}

func editorInsert(ctx context.Context, in *call, name string) (skill.Result, error) {
	if in.values["insert_line"] == nil {
		return nil, lacks("insert_line", "insert")
	}
	added, err := in.inserted()
	if err != nil {
		return nil, err
	}
	text := ""
	r, err := in.reviseText(ctx, name, func(before string) (string, error) {
		n, err := in.insertAt(before, "")
		if err != nil {
			return "", err
		}
		after, at, lines := insertLines(before, n, added)
		text = fmt.Sprintf("The file %s has been edited. %sReview the changes and make sure they are as expected (correct indentation, "+
			"no duplicate lines, etc). Edit the file again if necessary.", name,
			in.catOf(strings.Join(lines, "\n"), "a snippet of the edited file", max(1, at-3)))
		return after, nil
	})
	in.remember(name, r, err)
	return in.changed(r, err, text)
}

type editLogKey struct{}

// An editLog has the IDs of the changes that a session has made to files, by their real paths.
type editLog struct {
	mu  sync.Mutex
	ids map[string][]string
}

func (in *call) editLog() *editLog {
	return in.s.Keep(editLogKey{}, func() any { return &editLog{ids: map[string][]string{}} }).(*editLog)
}

// remember notes a change of a file for undo_edit.
func (in *call) remember(name string, r skill.Result, err error) {
	id := Reply{Result: r}.UndoID()
	real, rerr := in.x.Real(in.s, name, true)
	if err != nil || rerr != nil || id == "" {
		return
	}
	l := in.editLog()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids[real] = append(l.ids[real], id)
}

func editorUndo(ctx context.Context, in *call, name string) (skill.Result, error) {
	real, err := in.x.Real(in.s, name, true)
	if err != nil {
		return nil, err
	}
	l := in.editLog()
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := l.ids[real]
	if len(ids) == 0 {
		return nil, failf("No edit history found for %s.", name)
	}
	r, err := in.x.Execute(ctx, in.s, skill.Undo{ID: ids[len(ids)-1]})
	if err != nil {
		return nil, err
	}
	l.ids[real] = ids[:len(ids)-1]
	done := fmt.Sprintf("Last edit to %s undone successfully. ", name)
	at, err := in.place(name, true)
	if err != nil || at == nothing {
		return worded{text: done + fmt.Sprintf("The file %s does not exist any more.", name), of: r}, err
	}
	text, err := in.text(ctx, name)
	return worded{text: done + in.catOf(plainLines(text), name, 1), of: r}, err
}

// The folder of the notes, as a model names it and in the workspace.
const (
	memoryRoot   = "/memories"
	memoryFolder = "memory/memories"
)

// memory keeps notes of a model in files of the workspace.
func memory(ctx context.Context, in *call) (skill.Result, error) {
	command := in.str("command")
	do := map[string]func(ctx context.Context, in *call, n note) (skill.Result, error){
		"view": memoryView, "create": memoryCreate, "str_replace": memoryReplace, "insert": memoryInsert,
		"delete": memoryDelete,
	}[command]
	switch {
	case in.values["command"] == nil:
		return nil, noCommand()
	case command == "rename":
		return memoryRename(ctx, in)
	case do == nil:
		return nil, failf("Unrecognized command %s. The allowed commands for the memory tool are: view, create, str_replace, insert, delete, rename", command)
	}
	n, err := in.note("path", command)
	if err != nil {
		return nil, err
	}
	return do(ctx, in, n)
}

// A note is a file or folder below the root of memory.
type note struct {
	name string // as the call has it
	path string // absolute
	root bool   // it is the root
	at   place
}

// note returns the note that an argument names.
func (in *call) note(param, command string) (n note, err error) {
	name, ok := in.values[param].(string)
	switch {
	case in.values[param] == nil:
		return n, lacks(param, command)
	case !ok || name != memoryRoot && !strings.HasPrefix(name, memoryRoot+"/"):
		return n, failf("Error: Path must start with %s, got: %v", memoryRoot, in.values[param])
	}
	base := filepath.Join(in.x.Dir(), memoryFolder)
	n = note{name: name, path: filepath.Join(base,
		path.Clean("./"+strings.TrimLeft(strings.TrimPrefix(name, memoryRoot), "/")))}
	n.root = n.path == base
	if !n.root && !strings.HasPrefix(n.path, base+string(filepath.Separator)) {
		return n, failf("Error: Path %s would escape %s directory", name, memoryRoot)
	}
	real, err := in.x.Real(in.s, n.path, true)
	if err == nil {
		base, err = in.x.Real(in.s, base, true)
	}
	if errors.Is(err, skill.ErrOutside) || err == nil && real != base &&
		!strings.HasPrefix(real, base+string(filepath.Separator)) {
		return n, failf("Error: Path would escape %s directory via symlink", memoryRoot)
	}
	if err == nil {
		n.at, err = in.place(n.path, false)
	}
	return n, err
}

// followed says what is at a note, through a link.
func (n note) followed(in *call) (place, error) { return in.place(n.path, true) }

func memoryView(ctx context.Context, in *call, n note) (skill.Result, error) {
	at, err := n.followed(in)
	switch {
	case err != nil:
		return nil, err
	case n.at == nothing && !n.root:
		return nil, failf("The path %s does not exist. Please provide a valid path.", n.name)
	case at != file:
		return memoryTree(ctx, in, n)
	}
	text, err := in.text(ctx, n.path)
	if err != nil {
		return nil, err
	}
	lines, first := strings.Split(text, "\n"), 1
	if len(lines) > 999_999 {
		return nil, failf("File %s exceeds maximum line limit of 999,999 lines.", n.name)
	}
	if from, to, ok := in.lines(viewRange); ok {
		first = max(1, from)
		if to == -1 || to > len(lines) {
			to = len(lines)
		}
		lines = lines[min(first-1, len(lines)):max(min(first-1, len(lines)), to)]
	}
	text = fmt.Sprintf("Here's the content of %s with line numbers:\n", n.name)
	if len(lines) > 0 {
		text += catLines(strings.Join(lines, "\n"), first)
	}
	return answer(text)
}

// memoryTree lists a folder of notes two levels deep, with sizes.
func memoryTree(ctx context.Context, in *call, n note) (skill.Result, error) {
	shown := strings.TrimRight(n.name, "/")
	head := fmt.Sprintf("Here're the files and directories up to 2 levels deep in %s, excluding hidden items and node_modules:\n", n.name)
	if n.at == nothing {
		return answer(head + "0B\t" + shown)
	}
	var lines []string
	var walk func(at, as string, depth int) (int64, error)
	walk = func(at, as string, depth int) (total int64, err error) {
		r, err := in.x.Execute(ctx, in.s, skill.ListFolder{Path: at, Details: true})
		if err != nil {
			return 0, err
		}
		for i, e := range r.(skill.Listed).Entries {
			info, below := r.(skill.Listed).Infos[i], as+"/"+e.Name
			hidden := depth > 2 || strings.HasPrefix(e.Name, ".") || e.Name == "node_modules"
			deeper := depth
			if hidden {
				deeper = 3 // counted, not listed
			}
			size, line, mark := info.Size, len(lines), ""
			if !hidden {
				lines = append(lines, "")
			}
			if info.IsDir() {
				if size, err = walk(filepath.Join(at, e.Name), below, deeper+1); err != nil {
					return 0, err
				}
				mark = "/"
			}
			if !hidden {
				lines[line] = sizeText(size) + "\t" + below + mark
			}
			total += size
		}
		return total, nil
	}
	total, err := walk(n.path, shown, 1)
	if err != nil {
		return nil, err
	}
	return answer(head + strings.Join(append([]string{sizeText(total) + "\t" + shown}, lines...), "\n"))
}

// sizeText is a size as `du -h` prints it, with one decimal.
func sizeText(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%dB", n)
	}
	size, unit := float64(n)/1024, 0
	for size >= 1024 && unit < 2 {
		size /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f%c", size, "KMG"[unit])
}

func memoryCreate(ctx context.Context, in *call, n note) (skill.Result, error) {
	text, ok := in.values["file_text"].(string)
	switch {
	case !ok:
		return nil, lacks("file_text", "create")
	case n.at != nothing:
		return nil, failf("Error: File %s already exists", n.name)
	}
	r, err := in.x.Execute(ctx, in.s, skill.WriteFile{Path: n.path, Content: text, Parents: true,
		NoReplace: true})
	return in.changed(r, err, "File created successfully at: "+n.name)
}

func memoryReplace(ctx context.Context, in *call, n note) (skill.Result, error) {
	old, ok := in.values["old_str"].(string)
	if !ok {
		return nil, lacks("old_str", "str_replace")
	}
	at, err := n.followed(in)
	switch {
	case err != nil:
		return nil, err
	case at != file:
		return nil, failf("Error: The path %s does not exist. Please provide a valid path.", n.name)
	case old == "":
		return nil, failf("No replacement was performed. Parameter `old_str` must not be empty")
	}
	text := ""
	r, err := in.reviseText(ctx, n.path, func(before string) (string, error) {
		after, at, err := replaceOnce(before, old, in.str("new_str"), n.name, "in lines: %s")
		if err == nil {
			snippet, first := around(after, at, in.str("new_str"), 2)
			text = "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n" + catLines(snippet, first)
		}
		return after, err
	})
	return in.changed(r, err, text)
}

func memoryInsert(ctx context.Context, in *call, n note) (skill.Result, error) {
	if in.values["insert_line"] == nil {
		return nil, lacks("insert_line", "insert")
	}
	added, err := in.inserted()
	if err != nil {
		return nil, err
	}
	at, err := n.followed(in)
	switch {
	case err != nil:
		return nil, err
	case at != file:
		return nil, failf("Error: The path %s does not exist", n.name)
	}
	r, err := in.reviseText(ctx, n.path, func(text string) (string, error) {
		line, err := in.insertAt(text, "Error: ")
		if err != nil {
			return "", err
		}
		after, _, _ := insertLines(text, line, added)
		return after, nil
	})
	return in.changed(r, err, fmt.Sprintf("The file %s has been edited.", n.name))
}

func memoryDelete(ctx context.Context, in *call, n note) (skill.Result, error) {
	switch {
	case n.root:
		return nil, failf("Error: Cannot delete the %s directory itself", memoryRoot)
	case n.at == nothing:
		return nil, failf("Error: The path %s does not exist", n.name)
	}
	r, err := in.x.Execute(ctx, in.s, skill.DeleteFile{Path: n.path, Tree: true})
	return in.changed(r, err, "Successfully deleted "+n.name)
}

func memoryRename(ctx context.Context, in *call) (skill.Result, error) {
	const command = "rename"
	for _, param := range []string{"old_path", "new_path"} {
		if in.values[param] == nil {
			return nil, lacks(param, command)
		}
	}
	from, err := in.note("old_path", command)
	if err != nil {
		return nil, err
	}
	to, err := in.note("new_path", command)
	switch {
	case err != nil:
		return nil, err
	case from.root:
		return nil, failf("Error: Cannot rename the %s directory itself", memoryRoot)
	case from.at == nothing:
		return nil, failf("Error: The path %s does not exist", from.name)
	case to.at != nothing:
		return nil, failf("Error: The destination %s already exists", to.name)
	}
	r, err := in.x.Execute(ctx, in.s, skill.MoveFile{Source: from.path, Dest: to.path, Parents: true,
		NoReplace: true})
	return in.changed(r, err, fmt.Sprintf("Successfully renamed %s to %s", from.name, to.name))
}
