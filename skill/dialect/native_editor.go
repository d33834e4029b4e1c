package dialect

import (
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
	row(Tool{Name: editorName, Effect: Destroys,
		Doc: "View, create and edit files by commands: view, create, str_replace, insert."}, editor),
	row(Tool{Name: oldEditorName, Effect: Destroys, Doc: "The editor of older models, which has undo_edit."}, editor),
	row(Tool{Name: "create", Doc: "Make a file.", Effect: Adds}, func(in *call, a struct {
		Path string  `arg:"path" is:"path,required" doc:"path in the workspace"`
		Text *string `arg:"file_text" is:"content,required,empty" doc:"what it holds"`
	}) (Reply, error) {
		return editor(in, editorArgs{Command: "create", Path: a.Path, editorTexts: editorTexts{Text: a.Text}})
	}),
	row(Tool{Name: "view", Doc: "Show a file with numbered lines, or a folder."}, func(in *call, a struct {
		Path  string `arg:"path" is:"path,required" doc:"path in the workspace"`
		Range any    `arg:"view_range" type:"array" of:"integer" doc:"first and last line; -1 is the end"`
	}) (Reply, error) {
		return editor(in, editorArgs{Command: "view", Path: a.Path, Range: a.Range})
	}),
	row(Tool{Name: "memory", Effect: Destroys,
		Doc: "Keep notes below /memories: view, create, str_replace, insert, delete, rename."}, memory),
}

type editorArgs struct {
	Command any    `arg:"command" type:"string" is:"required" doc:"what to do"`
	Path    string `arg:"path" is:"path,required" doc:"path in the workspace"`
	Range   any    `arg:"view_range" type:"array" of:"integer" doc:"for view: first and last line; -1 is the end"`
	editorTexts
}

// editorTexts are arguments of the editor and of memory.
type editorTexts struct {
	Text  *string `arg:"file_text" is:"content,empty" doc:"for create"`
	Old   *string `arg:"old_str" is:"content,empty" doc:"for str_replace: must occur once"`
	New   *string `arg:"new_str" is:"content,empty" doc:"for str_replace"`
	Line  any     `arg:"insert_line" type:"integer" doc:"for insert: after this line, from 0"`
	Added *string `arg:"insert_text" is:"content,empty" doc:"for insert"`
}

const clipped = "<response clipped><NOTE>To save on context only part of this file has been shown to you. You should retry this tool after " +
	"you have searched inside the file with `grep -n` in order to find the line numbers of what you are looking for.</NOTE>"

const undoEdit = "undo_edit"

// editor is Anthropic's editor. It checks its arguments in the order of the original.
func editor(in *call, a editorArgs) (Reply, error) {
	command := textOf(a.Command)
	switch {
	case a.Command == nil:
		return Reply{}, noCommand()
	case a.Path == "":
		return Reply{}, lacks("path", command)
	}
	at, err := in.place(a.Path, true)
	if err != nil {
		return Reply{}, err
	}
	commands := []string{"view", "create", "str_replace", "insert"}
	if in.tool.Name == oldEditorName {
		commands = append(commands, undoEdit)
	}
	known := slices.Contains(commands, command)
	switch {
	case at == nothing && command != "create" && !(known && command == undoEdit):
		return Reply{}, failf("The path %s does not exist. Please provide a valid path.", a.Path)
	case at != nothing && command == "create":
		return Reply{}, editorExists(a.Path)
	case at == folder && command != "view":
		return Reply{}, failf("The path %s is a directory and only the `view` command can be used on directories", a.Path)
	case !known:
		return Reply{}, failf("Unrecognized command %s. The allowed commands for the %s tool are: %s", command,
			in.tool.Name, strings.Join(commands, ", "))
	}
	text := ""
	switch {
	case at == folder:
		text, err = in.editorFolder(a)
	case command == "view":
		return in.editorView(a)
	case command == "create":
		text, err = in.editorCreate(a)
	case command == "str_replace":
		text, err = in.editorReplace(a)
	case command == "insert":
		text, err = in.editorInsert(a)
	default:
		text, err = in.editorUndo(a.Path)
	}
	return Reply{Body: text}, err
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

// editorView shows a file: a picture itself, a text with numbered lines.
func (in *call) editorView(a editorArgs) (Reply, error) {
	r, err := in.x.Execute(in.ctx, in.s, skill.Media{Path: a.Path})
	if err != nil {
		return Reply{}, err
	}
	text, err := in.text(a.Path)
	m, first := r.(skill.MediaFound), 1
	switch {
	case err != nil:
		return Reply{}, err
	case slices.Contains(image.types, m.Type) && m.Size <= image.limit:
		return Reply{Body: a.Path, Blocks: []Block{{Type: m.Type, Path: m.Path, Data: []byte(text)}}}, nil
	case strings.IndexByte(text, 0) >= 0:
		return Reply{}, failf("Ran into a binary file while trying to read %s", a.Path)
	case a.Range != nil:
		if text, first, err = viewed(text, a.Range); err != nil {
			return Reply{}, err
		}
	}
	return Reply{Body: in.catOf(plainLines(text), a.Path, first)}, nil
}

// viewed returns the lines of a text that the editor is asked for.
func viewed(text string, lineRange any) (part string, first int, err error) {
	from, to, ok := linesOfRange(lineRange)
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

// maxEntries is how many entries of a folder are shown.
const maxEntries = 1000

// editorFolder lists a folder two levels deep, without what is hidden.
func (in *call) editorFolder(a editorArgs) (string, error) {
	if list, _ := a.Range.([]any); len(list) > 0 {
		return "", failf("The `view_range` parameter is not allowed when `path` points to a directory.")
	}
	shown := []string{a.Path}
	var walk func(at, as string, depth int) error
	walk = func(at, as string, depth int) error {
		listed, err := do[skill.Listed](in, skill.ListFolder{Path: at})
		if err != nil {
			return err
		}
		for _, e := range listed.Entries {
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
	if err := walk(a.Path, a.Path, 1); err != nil {
		return "", err
	}
	slices.Sort(shown)
	text := strings.Join(shown[:min(len(shown), maxEntries)], "\n") + "\n"
	if more := len(shown) - maxEntries; more > 0 {
		text += fmt.Sprintf("… %d more\n", more)
	}
	return fmt.Sprintf("Here's the files and directories up to 2 levels deep in %s, excluding hidden items:\n%s\n",
		a.Path, text), nil
}

func (in *call) editorCreate(a editorArgs) (string, error) {
	if a.Text == nil {
		return "", lacks("file_text", "create")
	}
	_, err := do[skill.Result](in,
		skill.WriteFile{Path: a.Path, Content: *a.Text, Parents: true, NoReplace: true})
	if errors.Is(err, fs.ErrExist) {
		err = editorExists(a.Path)
	}
	in.remember(a.Path, err)
	return in.changed(err, "File created successfully at: "+a.Path)
}

// replaceOnce replaces the one occurrence of the old text by the new one, and returns where it is. name
// is the file's in a refusal, and places the format of the lines in which the text occurs.
func (a editorTexts) replaceOnce(text, name, places string) (after string, at int, err error) {
	old := likeLines(*a.Old, text)
	lines, count := occurrences(text, old)
	switch at = strings.Index(text, old); count {
	case 0:
		return "", 0, failf("No replacement was performed, old_str `%s` did not appear verbatim in %s.", *a.Old, name)
	case 1:
		return text[:at] + likeLines(a.new(), text) + text[at+len(old):], at, nil
	}
	return "", 0, failf("No replacement was performed. Multiple occurrences of old_str `%s` %s. Please ensure it is unique",
		*a.Old, fmt.Sprintf(places, listed(lines)))
}

// new is the new text, "" if it is missing.
func (a editorTexts) new() string {
	if a.New == nil {
		return ""
	}
	return *a.New
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

func (in *call) editorReplace(a editorArgs) (string, error) {
	switch {
	case a.Old == nil:
		return "", lacks("old_str", "str_replace")
	case *a.Old == "":
		return "", emptyOld()
	}
	said := ""
	err := in.reviseText(a.Path, func(text string) (string, error) {
		after, at, err := a.replaceOnce(text, a.Path, "in lines [%s]")
		if err == nil {
			snippet, first := around(after, at, a.new(), 4)
			said = fmt.Sprintf("The file %s has been edited. %sReview the changes and make sure they are as expected. Edit the file again if necessary.",
				a.Path, in.catOf(snippet, "a snippet of "+a.Path, first))
		}
		return after, err
	})
	in.remember(a.Path, err)
	return in.changed(err, said)
}

func emptyOld() error {
	return failf("No replacement was performed. Parameter `old_str` must not be empty")
}

// inserted returns the text of an insertion, which has two names.
func (a editorTexts) inserted() (string, error) {
	switch {
	case a.Line == nil:
		return "", lacks("insert_line", "insert")
	case a.Added != nil && a.New != nil && *a.Added != *a.New:
		return "", failf("Parameters `insert_text` and `new_str` differ; give one of them")
	case a.New != nil:
		return *a.New, nil
	case a.Added == nil:
		return "", lacks("insert_text", "insert")
	}
	return *a.Added, nil
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
func (a editorTexts) insertAt(text, prefix string) (int, error) {
	n, ok := integer(a.Line)
	if most := strings.Count(text, "\n") + 1; !ok || n < 0 || n > most {
		return 0, failf("%sInvalid `insert_line` parameter: %v. It should be within the range of lines of the file: [0, %d]", prefix, a.Line, most)
	}
	return n, nil
}

func (in *call) editorInsert(a editorArgs) (string, error) {
	added, err := a.inserted()
	if err != nil {
		return "", err
	}
	text := ""
	err = in.reviseText(a.Path, func(before string) (string, error) {
		n, err := a.insertAt(before, "")
		if err != nil {
			return "", err
		}
		after, at, lines := insertLines(before, n, added)
		text = fmt.Sprintf("The file %s has been edited. %sReview the changes and make sure they are as expected (correct indentation, "+
			"no duplicate lines, etc). Edit the file again if necessary.", a.Path,
			in.catOf(strings.Join(lines, "\n"), "a snippet of the edited file", max(1, at-3)))
		return after, nil
	})
	in.remember(a.Path, err)
	return in.changed(err, text)
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

// remember notes the change that the call has made to a file for undo_edit.
func (in *call) remember(name string, err error) {
	id := Reply{Result: in.did}.UndoID()
	real, rerr := in.x.Real(in.s, name, true)
	if err != nil || rerr != nil || id == "" {
		return
	}
	l := in.editLog()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids[real] = append(l.ids[real], id)
}

func (in *call) editorUndo(name string) (string, error) {
	real, err := in.x.Real(in.s, name, true)
	if err != nil {
		return "", err
	}
	l := in.editLog()
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := l.ids[real]
	if len(ids) == 0 {
		return "", failf("No edit history found for %s.", name)
	}
	if _, err := do[skill.Result](in, skill.Undo{ID: ids[len(ids)-1]}); err != nil {
		return "", err
	}
	l.ids[real] = ids[:len(ids)-1]
	done := fmt.Sprintf("Last edit to %s undone successfully. ", name)
	at, err := in.place(name, true)
	if err != nil || at == nothing {
		return done + fmt.Sprintf("The file %s does not exist any more.", name), err
	}
	text, err := in.text(name)
	return done + in.catOf(plainLines(text), name, 1), err
}

// The folder of the notes, as a model names it and in the workspace.
const (
	memoryRoot   = "/memories"
	memoryFolder = "memory/memories"
)

type memoryArgs struct {
	Command any `arg:"command" type:"string" is:"required" doc:"what to do"`
	Path    any `arg:"path" type:"string" is:"path" doc:"path in the workspace"`
	Range   any `arg:"view_range" type:"array" of:"integer" doc:"for view: first and last line; -1 is the end"`
	editorTexts
	From any `arg:"old_path" type:"string" is:"path" doc:"for rename"`
	To   any `arg:"new_path" type:"string" is:"path" doc:"for rename"`
}

// memory keeps notes of a model in files of the workspace.
func memory(in *call, a memoryArgs) (string, error) {
	command := textOf(a.Command)
	do := map[string]func(in *call, a memoryArgs, n note) (string, error){
		"view": memoryView, "create": memoryCreate, "str_replace": memoryReplace, "insert": memoryInsert,
		"delete": memoryDelete,
	}[command]
	switch {
	case a.Command == nil:
		return "", noCommand()
	case command == "rename":
		return memoryRename(in, a)
	case do == nil:
		return "", failf("Unrecognized command %s. The allowed commands for the memory tool are: view, create, str_replace, insert, delete, rename", command)
	case a.Path == nil:
		return "", lacks("path", command)
	}
	n, err := in.note(a.Path)
	if err != nil {
		return "", err
	}
	return do(in, a, n)
}

// A note is a file or folder below the root of memory.
type note struct {
	name string // as the call has it
	path string // absolute
	root bool   // it is the root
	at   place
}

// note returns the note that an argument names.
func (in *call) note(given any) (n note, err error) {
	name, ok := given.(string)
	if !ok || name != memoryRoot && !strings.HasPrefix(name, memoryRoot+"/") {
		return n, failf("Error: Path must start with %s, got: %v", memoryRoot, given)
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

func memoryView(in *call, a memoryArgs, n note) (string, error) {
	at, err := n.followed(in)
	switch {
	case err != nil:
		return "", err
	case n.at == nothing && !n.root:
		return "", failf("The path %s does not exist. Please provide a valid path.", n.name)
	case at != file:
		return in.memoryTree(n)
	}
	text, err := in.text(n.path)
	if err != nil {
		return "", err
	}
	lines, first := strings.Split(text, "\n"), 1
	if len(lines) > 999_999 {
		return "", failf("File %s exceeds maximum line limit of 999,999 lines.", n.name)
	}
	if from, to, ok := linesOfRange(a.Range); ok {
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
	return text, nil
}

// memoryTree lists a folder of notes two levels deep, with sizes.
func (in *call) memoryTree(n note) (string, error) {
	shown := strings.TrimRight(n.name, "/")
	head := fmt.Sprintf("Here're the files and directories up to 2 levels deep in %s, excluding hidden items and node_modules:\n", n.name)
	if n.at == nothing {
		return head + "0B\t" + shown, nil
	}
	var lines []string
	var walk func(at, as string, depth int) (int64, error)
	walk = func(at, as string, depth int) (total int64, err error) {
		list, err := do[skill.Listed](in, skill.ListFolder{Path: at, Details: true})
		if err != nil {
			return 0, err
		}
		for i, e := range list.Entries {
			info, below := list.Infos[i], as+"/"+e.Name
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
	return head + strings.Join(append([]string{sizeText(total) + "\t" + shown}, lines...), "\n"), err
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

func memoryCreate(in *call, a memoryArgs, n note) (string, error) {
	switch {
	case a.Text == nil:
		return "", lacks("file_text", "create")
	case n.at != nothing:
		return "", failf("Error: File %s already exists", n.name)
	}
	_, err := do[skill.Result](in, skill.WriteFile{Path: n.path, Content: *a.Text, Parents: true, NoReplace: true})
	return in.changed(err, "File created successfully at: "+n.name)
}

func memoryReplace(in *call, a memoryArgs, n note) (string, error) {
	if a.Old == nil {
		return "", lacks("old_str", "str_replace")
	}
	at, err := n.followed(in)
	switch {
	case err != nil:
		return "", err
	case at != file:
		return "", failf("Error: The path %s does not exist. Please provide a valid path.", n.name)
	case *a.Old == "":
		return "", emptyOld()
	}
	text := ""
	err = in.reviseText(n.path, func(before string) (string, error) {
		after, at, err := a.replaceOnce(before, n.name, "in lines: %s")
		if err == nil {
			snippet, first := around(after, at, a.new(), 2)
			text = "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n" + catLines(snippet, first)
		}
		return after, err
	})
	return in.changed(err, text)
}

func memoryInsert(in *call, a memoryArgs, n note) (string, error) {
	added, err := a.inserted()
	if err != nil {
		return "", err
	}
	at, err := n.followed(in)
	switch {
	case err != nil:
		return "", err
	case at != file:
		return "", failf("Error: The path %s does not exist", n.name)
	}
	err = in.reviseText(n.path, func(text string) (string, error) {
		line, err := a.insertAt(text, "Error: ")
		if err != nil {
			return "", err
		}
		after, _, _ := insertLines(text, line, added)
		return after, nil
	})
	return in.changed(err, fmt.Sprintf("The file %s has been edited.", n.name))
}

func memoryDelete(in *call, _ memoryArgs, n note) (string, error) {
	switch {
	case n.root:
		return "", failf("Error: Cannot delete the %s directory itself", memoryRoot)
	case n.at == nothing:
		return "", failf("Error: The path %s does not exist", n.name)
	}
	_, err := do[skill.Result](in, skill.DeleteFile{Path: n.path, Tree: true})
	return in.changed(err, "Successfully deleted "+n.name)
}

func memoryRename(in *call, a memoryArgs) (string, error) {
	const command = "rename"
	switch {
	case a.From == nil:
		return "", lacks("old_path", command)
	case a.To == nil:
		return "", lacks("new_path", command)
	}
	from, err := in.note(a.From)
	if err != nil {
		return "", err
	}
	to, err := in.note(a.To)
	switch {
	case err != nil:
		return "", err
	case from.root:
		return "", failf("Error: Cannot rename the %s directory itself", memoryRoot)
	case from.at == nothing:
		return "", failf("Error: The path %s does not exist", from.name)
	case to.at != nothing:
		return "", failf("Error: The destination %s already exists", to.name)
	}
	_, err = do[skill.Result](in, skill.MoveFile{Source: from.path, Dest: to.path, Parents: true, NoReplace: true})
	return in.changed(err, fmt.Sprintf("Successfully renamed %s to %s", from.name, to.name))
}
