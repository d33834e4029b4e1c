package dialect

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"textskill/skill"
)

// nativeHosts are the tools of coding agents: of Claude Code, of Gemini CLI and of opencode.
var nativeHosts = slices.Concat(nativeClaude, nativeGemini, []Tool{
	native("list", "List the files of a folder.", Reads, openList, optional(nativePath("path"))),
})

var nativeClaude = []Tool{
	native("Read", "Show a file with numbered lines.", Reads, claudeTool(claudeRead),
		nativePath("file_path"), number("offset", "first line"), number("limit", "how many lines")),
	native("Write", "Write a file, replacing what is there.", Destroys, claudeTool(claudeWrite),
		nativePath("file_path"), nativeText("content", "the text")),
	native("Edit", "Replace a text in a file.", Destroys, claudeTool(claudeEdit), nativePath("file_path"),
		nativeText("old_string", "must occur once, unless replace_all"),
		nativeText("new_string", "the new text"), truth("replace_all", "each occurrence")),
	native("MultiEdit", "Replace several texts in a file: all of them, or none.", Destroys,
		claudeTool(claudeEdit), nativePath("file_path"),
		Param{Name: "edits", Type: "array", Of: "object", Content: true, Required: true,
			Doc: "old_string, new_string and replace_all of each"}),
	native("Bash", "Run a command. The folder stays for the next one, variables do not.", Destroys,
		claudeBash,
		needed(word("command", "for bash")), number("timeout", "milliseconds"),
		word("description", "what for"), truth("run_in_background", "not offered")),
	native("Glob", "Find files by a pattern, the oldest first.", Reads, claudeTool(claudeGlob),
		needed(word("pattern", "like **/*.go")), optional(nativePath("path"))),
	native("Grep", "Find lines or files by a regular expression.", Reads, claudeTool(claudeGrep),
		needed(word("pattern", "for one line")), optional(nativePath("path")),
		word("glob", "only names like *.go"),
		Param{Name: "output_mode", Type: "string", Enum: []string{"content", "files_with_matches", "count"},
			Doc: "what to answer"}, truth("-i", "ignore case"),
		truth("-n", "with line numbers"), number("-A", "lines after"), number("-B", "lines before"),
		number("-C", "lines around"), number("head_limit", "how many")),
}

// claudeTool puts the refusals of a tool in Claude Code's tag. That a path is outside is said
// without it.
func claudeTool(act action) action {
	return func(ctx context.Context, in *call) (skill.Result, error) {
		r, err := act(ctx, in)
		if err != nil && !errors.Is(err, skill.ErrOutside) {
			err = &Failure{Message: "<tool_use_error>" + nativeFail(in, err).Body + "</tool_use_error>",
				Cause: err}
		}
		return r, err
	}
}

// required fails if an argument that is a text is missing.
func (in *call) required(names ...string) error {
	for _, name := range names {
		if _, ok := in.values[name].(string); !ok {
			return failf("%s: %s is required", in.tool.Name, name)
		}
	}
	return nil
}

// A readLog has the sums of files that a session has read, by their paths.
type readLog struct {
	mu   sync.Mutex
	sums map[string][32]byte
}

type readLogKey struct{}

// seen notes what a file held when the session read or wrote it.
func (in *call) seen(name, text string) {
	l := in.s.Keep(readLogKey{}, func() any { return &readLog{sums: map[string][32]byte{}} }).(*readLog)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sums[in.x.Abs(in.s, name)] = sha256.Sum256([]byte(text))
}

// stale reports whether a file that the session has read holds something else now.
func (in *call) stale(name, text string) bool {
	l := in.s.Keep(readLogKey{}, func() any { return &readLog{sums: map[string][32]byte{}} }).(*readLog)
	l.mu.Lock()
	defer l.mu.Unlock()
	sum, read := l.sums[in.x.Abs(in.s, name)]
	return read && sum != sha256.Sum256([]byte(text))
}

// maxReadLines is how many lines are shown of a file, unless more are asked for.
const maxReadLines = 2000

func claudeRead(ctx context.Context, in *call) (skill.Result, error) {
	name := in.str("file_path")
	if err := in.required("file_path"); err != nil {
		return nil, err
	}
	switch at, err := in.place(name, true); {
	case err != nil:
		return nil, err
	case at == nothing:
		return nil, in.claudeMissing()
	case at == folder:
		return nil, failf("EISDIR: illegal operation on a directory, read '%s'", in.x.Abs(in.s, name))
	}
	picture, text, err := in.contents(ctx, name)
	if picture != nil || err != nil {
		return picture, err
	}
	in.seen(name, text)
	lines := strings.Split(plainLines(text), "\n")
	from := max(in.or("offset", 1), 1)
	switch {
	case text == "":
		return answer("Warning: the file exists but the contents are empty.")
	case from > len(lines):
		return answer(fmt.Sprintf("Warning: the file exists but is shorter than the provided offset (%d). The file has %d lines.", from, len(lines)))
	}
	lines = lines[from-1 : min(len(lines), from-1+max(in.or("limit", maxReadLines), 0))]
	for i, line := range lines {
		lines[i] = fmt.Sprintf("%d\t%s", from+i, line)
	}
	return answer(strings.Join(lines, "\n"))
}

func (in *call) claudeMissing() error {
	return failf("File does not exist. Note: your current working directory is %s.", in.x.Abs(in.s, ""))
}

const claudeStale = "File has been modified since read, either by the user or by a linter. Read it again before attempting to write it."

func claudeWrite(ctx context.Context, in *call) (skill.Result, error) {
	if err := in.required("file_path", "content"); err != nil {
		return nil, err
	}
	name, text, done := in.str("file_path"), in.str("content"), ""
	r, err := in.revise(ctx, func(r *skill.Revision) error {
		before, err := r.Text(name)
		done = "The file %s has been updated successfully."
		if isMissing(err) {
			done, err = "File created successfully at: %s", nil
		} else if err == nil && in.stale(name, before) {
			err = failf(claudeStale)
		}
		if err != nil {
			return err
		}
		return r.Set(name, text)
	})
	if err == nil {
		in.seen(name, text)
	}
	return in.changed(r, err, fmt.Sprintf(done, in.x.Abs(in.s, name)))
}

// A change of Edit and MultiEdit.
type replacement struct {
	old, new string
	all      bool
}

// replacements are the changes that a call of Edit or MultiEdit asks for.
func (in *call) replacements() (list []replacement, err error) {
	edits, many := in.values["edits"].([]any)
	if !many {
		edits = []any{map[string]any(in.values)}
	}
	for _, e := range edits {
		given, _ := e.(map[string]any)
		one := call{tool: in.tool, values: given}
		if err := one.required("old_string", "new_string"); err != nil {
			return nil, err
		}
		list = append(list, replacement{one.str("old_string"), one.str("new_string"),
			one.flag("replace_all")})
	}
	if len(list) == 0 {
		return nil, failf("%s: edits is required", in.tool.Name)
	}
	return list, nil
}

func claudeEdit(ctx context.Context, in *call) (skill.Result, error) {
	edits, err := in.replacements()
	if err == nil {
		err = in.required("file_path")
	}
	if err != nil {
		return nil, err
	}
	name, after := in.str("file_path"), ""
	r, err := in.revise(ctx, func(r *skill.Revision) error {
		text, err := r.Text(name)
		switch missing := isMissing(err); {
		case missing && edits[0].old != "":
			return in.claudeMissing()
		case err != nil && !missing:
			return err
		case !missing && in.stale(name, text):
			return failf(claudeStale)
		}
		for _, e := range edits {
			if text, err = e.apply(text, err == nil); err != nil {
				return err
			}
		}
		after = text
		return r.Set(name, text)
	})
	done := "has been updated successfully."
	if edits[0].all && len(edits) == 1 {
		done = "has been updated. All occurrences were successfully replaced."
	}
	if err == nil {
		in.seen(name, after)
	}
	return in.changed(r, err, fmt.Sprintf("The file %s %s", in.x.Abs(in.s, name), done))
}

// apply makes the change in a text. exists says that there is a file.
func (e replacement) apply(text string, exists bool) (string, error) {
	switch after, n := replaceEvery(text, e.old, e.new); {
	case e.old == e.new:
		return "", failf("No changes to make: old_string and new_string are exactly the same.")
	case e.old == "" && exists && text != "":
		return "", failf("Cannot create new file - file already exists.")
	case e.old == "":
		return e.new, nil
	case n == 0:
		return "", failf("String to replace not found in file.\nString: %s", e.old)
	case n > 1 && !e.all:
		return "", failf("Found %d matches of the string to replace, but replace_all is false. To replace all occurrences, set replace_all to true. "+
			"To replace only one occurrence, please provide more context to uniquely identify the instance.\nString: %s", n, e.old)
	default:
		return after, nil
	}
}

// claudeBash runs a command in the folder that the last one of the session has left.
func claudeBash(ctx context.Context, in *call) (skill.Result, error) {
	sh := in.resident("Bash")
	sh.mu.Lock()
	defer sh.mu.Unlock()
	r, err := in.hostBash(ctx, func(command string) string {
		return fmt.Sprintf("exec 3>&2 2>&1; cd -- %s 2>/dev/null; trap '{ pwd >&3; } 2>/dev/null' EXIT; { eval %s\n} 3>&-", quotedLine(sh.state), quotedLine(command))
	}, "")
	if s, ok := r.(worded); ok {
		if e, ran := s.of.(skill.Executed); ran && len(e.Stderr) > 0 && !e.TimedOut {
			sh.state = strings.TrimSuffix(string(e.Stderr), "\n")
		}
	}
	return r, err
}

// toSearch fails if there is no pattern, or if there is nothing at the path to search.
func (in *call) toSearch() error {
	if err := in.required("pattern"); err != nil {
		return err
	}
	return in.searched("path")
}

// globbed returns the files below the folder path, or the workspace, whose names match pattern.
func (in *call) globbed(ctx context.Context) ([]foundFile, error) {
	if err := in.toSearch(); err != nil {
		return nil, err
	}
	_, files, err := in.find(ctx, in.str("path"), in.str("pattern"), true)
	return files, err
}

func claudeGlob(ctx context.Context, in *call) (skill.Result, error) {
	files, err := in.globbed(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b foundFile) int {
		if !a.time.Equal(b.time) {
			return a.time.Compare(b.time)
		}
		return strings.Compare(a.path, b.path)
	})
	if len(files) == 0 {
		return answer("No files found")
	}
	return answer(strings.Join(each(files, func(f foundFile) string { return in.name(f.path) }), "\n"))
}

func claudeGrep(ctx context.Context, in *call) (skill.Result, error) {
	if err := in.toSearch(); err != nil {
		return nil, err
	}
	around := in.or("-C", max(in.or("-A", 0), in.or("-B", 0)))
	g, err := in.matched(ctx, skill.Grep{Path: in.str("path"), FoldCase: in.flag("-i"), NoLast: true,
		SkipIgnored: true, Context: around}, "glob")
	if err != nil {
		return nil, err
	}
	var files []string
	count := map[string]int{}
	for _, m := range g.Matches {
		name := in.name(m.File)
		if count[name]++; count[name] == 1 {
			files = append(files, name)
		}
	}
	limit := func(lines []string) []string {
		if n := in.or("head_limit", 0); n > 0 {
			lines = lines[:min(len(lines), n)]
		}
		return lines
	}
	switch mode := in.str("output_mode"); {
	case mode == "content" && len(g.Matches) == 0:
		return answer("No matches found")
	case mode == "content":
		return answer(strings.Join(limit(in.grepLines(g)), "\n"))
	case mode == "count":
		lines := limit(each(files, func(f string) string { return fmt.Sprintf("%s:%d", f, count[f]) }))
		return answer(strings.Join(lines, "\n") + fmt.Sprintf("\n\nFound %s across %s.",
			counted(len(g.Matches), "total occurrence"), counted(len(files), "file")))
	case len(files) == 0:
		return answer("No files found")
	}
	return answer(fmt.Sprintf("Found %s\n%s", counted(len(files), "file"), strings.Join(limit(files), "\n")))
}

// grepLines are the lines that match, and those around them, as grep prints them.
func (in *call) grepLines(g skill.Grepped) (lines []string) {
	plain, noNumbers := in.values["-n"], false
	if shown, ok := plain.(bool); ok {
		noNumbers = !shown
	}
	last := ""
	for _, m := range g.Matches {
		context, from := linesAround(m)
		for i, text := range context {
			n, sign := from+i, "-"
			switch {
			case n == m.Line:
				sign = ":"
			case n < m.Line-in.or("-C", in.or("-B", 0)) || n > m.Line+in.or("-C", in.or("-A", 0)):
				continue
			}
			at := fmt.Sprintf("%s%s%d%s", in.name(m.File), sign, n, sign)
			if noNumbers {
				at = in.name(m.File) + sign
			}
			if at != last {
				lines = append(lines, at+lineText(text))
			}
			last = at
		}
	}
	return lines
}

var nativeGemini = []Tool{
	native("read_file", "Read a file, or some of its lines.", Reads, unless("path", mementoRead, geminiRead),
		optional(nativePath("file_path")), optional(nativePath("absolute_path")),
		number("start_line", "first line, from 1"), number("end_line", "last line"),
		optional(nativePath("path"))),
	native("write_file", "Write a file, replacing what is there.", Destroys, geminiWrite,
		nativePath("file_path"), nativeText("content", "the text")),
	native("replace", "Replace a text in a file.", Destroys, geminiReplace, nativePath("file_path"),
		nativeText("old_string", "must occur once, unless allow_multiple"),
		nativeText("new_string", "the new text"), truth("allow_multiple", "each occurrence"),
		number("expected_replacements", "how many occurrences there are"),
		word("instruction", "what the change is for")),
	native("run_shell_command", "Run a command.", Destroys, geminiShell, needed(word("command", "for bash")),
		optional(nativePath("dir_path")),
		truth("is_background", "not offered"), word("description", "what for")),
	native("list_directory", "List a folder.", Reads, geminiList, nativePath("dir_path")),
	native("grep_search", "Find lines by a regular expression.", Reads, geminiGrep,
		needed(word("pattern", "for one line")), optional(nativePath("dir_path")),
		word("include_pattern", "only names like *.go")),
	native("search_file_content", "The grep_search of older models.", Reads, geminiGrep,
		needed(word("pattern", "for one line")), optional(nativePath("dir_path")),
		word("include", "only names like *.go")),
}

// geminiFile returns the absolute path of a file, and what is there.
func (in *call) geminiFile() (abs, name string, at place, err error) {
	if name = in.str("file_path"); name == "" {
		name = in.str("absolute_path")
	}
	if name == "" {
		return "", "", nothing, failf("params must have required property 'file_path'")
	}
	at, err = in.place(name, true)
	abs = in.x.Abs(in.s, name)
	if err == nil && at == folder {
		err = failf("Path is a directory, not a file: %s", abs)
	}
	return abs, name, at, err
}

func geminiRead(ctx context.Context, in *call) (skill.Result, error) {
	abs, name, at, err := in.geminiFile()
	switch {
	case err != nil:
		return nil, err
	case at == nothing:
		return nil, failf("File not found: %s", abs)
	}
	picture, text, err := in.contents(ctx, name)
	if picture != nil || err != nil {
		return picture, err
	}
	lines := strings.Split(text, "\n")
	from := max(in.or("start_line", 1), 1)
	to := min(in.or("end_line", from+maxReadLines-1), len(lines))
	if from == 1 && to == len(lines) {
		return answer(text)
	}
	if from > to {
		return nil, failf("The lines %d to %d are not in %s, which has %d", from, to, abs, len(lines))
	}
	head := fmt.Sprintf("\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines %d-%d of %d total lines.\n"+
		"Action: To read more of the file, you can use the 'start_line' and 'end_line' parameters in a subsequent 'read_file' call. "+
		"For example, to read the next section of the file, use start_line: %d.\n\n--- FILE CONTENT (truncated) ---\n", from, to, len(lines), to+1)
	return answer(head + strings.Join(lines[from-1:to], "\n"))
}

// updated is what a model is shown of a file that was changed: the changed lines, and five around.
func updatedCode(before, after string) string {
	old, new := strings.Split(before, "\n"), strings.Split(after, "\n")
	from, end := 0, 0
	for from < min(len(old), len(new)) && old[from] == new[from] {
		from++
	}
	for end < min(len(old), len(new))-from && old[len(old)-1-end] == new[len(new)-1-end] {
		end++
	}
	first, last := max(0, from-5), min(len(new), len(new)-end+5)
	text := strings.Join(new[first:last], "\n")
	if first > 0 {
		text = "...\n" + text
	}
	if last < len(new) {
		text += "\n..."
	}
	return " Here is the updated code:\n" + text
}

func geminiWrite(ctx context.Context, in *call) (skill.Result, error) {
	abs, name, at, err := in.geminiFile()
	if err == nil {
		err = in.required("content")
	}
	if err != nil {
		return nil, err
	}
	did, before, text := "created and wrote to new file", "", in.str("content")
	if at == file {
		did = "overwrote file"
	}
	r, err := in.revise(ctx, func(r *skill.Revision) error {
		if before, err = r.Text(name); err != nil && !isMissing(err) {
			return err
		}
		return r.Set(name, text)
	})
	if before == "" {
		return in.changed(r, err, fmt.Sprintf("Successfully %s: %s. Here is the updated code:\n%s", did,
			abs, text))
	}
	return in.changed(r, err, fmt.Sprintf("Successfully %s: %s.%s", did, abs, updatedCode(before, text)))
}

func geminiReplace(ctx context.Context, in *call) (skill.Result, error) {
	abs, name, at, err := in.geminiFile()
	if err == nil {
		err = in.required("old_string", "new_string")
	}
	old, new := in.str("old_string"), in.str("new_string")
	switch {
	case err != nil:
		return nil, err
	case at == nothing && old != "":
		return nil, failf("File not found: %s", abs)
	case at == nothing:
		r, err := in.x.Execute(ctx, in.s,
			skill.WriteFile{Path: name, Content: new, Parents: true, NoReplace: true})
		return in.changed(r, err,
			fmt.Sprintf("Created new file: %s with provided content. Here is the updated code:\n%s", abs, new))
	case old == "":
		return nil, failf("File already exists, cannot create: %s", abs)
	case old == new:
		return nil, failf("No changes to apply. The old_string and new_string are identical in file: %s", abs)
	}
	n, shown := 0, ""
	r, err := in.reviseText(ctx, name, func(text string) (after string, err error) {
		after, n = replaceEvery(text, old, new)
		expected := in.or("expected_replacements", 1)
		shown = updatedCode(text, after)
		switch {
		case n == 0:
			err = failf("Could not find an exact match for 'old_string' in '%s'. If previous edits modified the file or you are modifying lines outside "+
				"your recent read window, please use ReadFile to inspect the target lines before retrying with an exact 'old_string'.", name)
		case !in.flag("allow_multiple") && n != expected:
			err = failf("Failed to edit, Expected %s but found %d for old_string in file: %s",
				counted(expected, "occurrence"), n, abs)
		}
		return after, err
	})
	return in.changed(r, err, fmt.Sprintf("Successfully modified file: %s (%d replacements).%s",
		abs, n, shown))
}

func geminiShell(ctx context.Context, in *call) (skill.Result, error) {
	command := in.str("command")
	switch {
	case command == "":
		return nil, failf("Command cannot be empty.")
	case in.flag("is_background"):
		return nil, failf("A command cannot go on in the background here; what it starts ends with the call.")
	}
	if r, ok, err := in.patchBy(ctx, command); ok {
		return r, err
	}
	e, err := in.shell(ctx, joined(command), in.str("dir_path"), in.dialect.bashTime)
	if err != nil {
		return nil, err
	}
	text := shellOutput(e.Stdout)
	if e.TimedOut {
		return ran{Executed: e}.failed(under(fmt.Sprintf("Command was automatically cancelled because it exceeded the timeout of %.1f minutes without output.", in.dialect.bashTime.Minutes()), text))
	}
	if text == "" {
		text = "(empty)"
	}
	if text = "Output: " + text; e.Failed() {
		text += fmt.Sprintf("\nExit Code: %d", e.ExitCode)
	}
	return worded{text: text, of: e}, nil
}

// geminiFolder returns the folder that an argument names, or the session's.
func (in *call) geminiFolder() (dir string, err error) {
	for _, name := range []string{"dir_path", "path"} {
		if dir = in.str(name); dir != "" {
			break
		}
	}
	at, err := in.place(dir, true)
	switch abs := in.x.Abs(in.s, dir); {
	case err != nil:
		return "", err
	case at == nothing:
		return "", failf("Path does not exist: %s", abs)
	case at == file && in.tool.Effect == Reads && in.tool.param("pattern") == nil:
		return "", failf("Path is not a directory: %s", abs)
	}
	return dir, nil
}

func geminiList(ctx context.Context, in *call) (skill.Result, error) {
	dir, err := in.geminiFolder()
	if err != nil {
		return nil, err
	}
	r, err := in.x.Execute(ctx, in.s, skill.ListFolder{Path: dir, Details: true})
	if err != nil {
		return nil, err
	}
	l := r.(skill.Listed)
	var folders, files []string
	for i, e := range l.Entries {
		if l.Infos[i].IsDir() {
			folders = append(folders, "[DIR] "+e.Name)
		} else {
			files = append(files, fmt.Sprintf("%s (%d bytes)", e.Name, l.Infos[i].Size))
		}
	}
	if len(l.Entries) == 0 {
		return answer(fmt.Sprintf("Directory %s is empty.", l.Path))
	}
	return answer(fmt.Sprintf("Directory listing for %s:\n%s", l.Path,
		strings.Join(append(folders, files...), "\n")))
}

func geminiGlob(ctx context.Context, in *call) (skill.Result, error) {
	if in.str("pattern") == "" {
		return nil, failf("The 'pattern' parameter cannot be empty.")
	}
	dir, err := in.geminiFolder()
	if err != nil {
		return nil, err
	}
	base, files, err := in.find(ctx, dir, in.str("pattern"), false)
	if err != nil {
		return nil, err
	}
	if byAge(files); len(files) == 0 {
		return answer(fmt.Sprintf("No files found matching pattern %q within %s", in.str("pattern"), base))
	}
	return answer(fmt.Sprintf("Found %d file(s) matching %q within %s, sorted by modification time (newest first):\n%s",
		len(files), in.str("pattern"), base, strings.Join(each(files, foundFile.String), "\n")))
}

func geminiGrep(ctx context.Context, in *call) (skill.Result, error) {
	pattern := in.str("pattern")
	if pattern == "" {
		return nil, failf("params must have required property 'pattern'")
	}
	dir, err := in.geminiFolder()
	if err != nil {
		return nil, err
	}
	g, err := in.matched(ctx, skill.Grep{Path: dir, FoldCase: true, NoLast: true, SkipIgnored: true},
		"include_pattern", "include")
	if err != nil {
		return nil, err
	}
	where := fmt.Sprintf("for pattern %q in path %q", pattern, cmp.Or(dir, "."))
	if len(g.Matches) == 0 {
		return answer("No matches found " + where + ".")
	}
	word := "matches"
	if len(g.Matches) == 1 {
		word = "match"
	}
	text, last := fmt.Sprintf("Found %d %s %s:\n---\n", len(g.Matches), word, where), ""
	for _, m := range g.Matches {
		if m.File != last {
			if last != "" {
				text += "---\n"
			}
			rel, _ := filepath.Rel(g.Path, m.File)
			if rel == "." {
				rel = filepath.Base(m.File)
			}
			text, last = text+"File: "+rel+"\n", m.File
		}
		text += fmt.Sprintf("L%d: %s\n", m.Line, lineText(m.Text))
	}
	return answer(text + "---")
}

// openReadFile is read of opencode.
func openReadFile(ctx context.Context, in *call) (skill.Result, error) {
	name := in.str("filePath")
	abs := in.x.Abs(in.s, name)
	at, err := in.place(name, true)
	switch {
	case err != nil:
		return nil, err
	case at == nothing:
		return nil, failf("File not found: %s", abs)
	case at == folder:
		return openEntries(ctx, in, name)
	}
	picture, text, err := in.contents(ctx, name)
	if picture != nil || err != nil {
		return picture, err
	}
	lines := strings.Split(strings.TrimSuffix(plainLines(text), "\n"), "\n")
	from := max(in.or("offset", 1), 1)
	if from > len(lines) && from > 1 {
		return nil, failf("Offset %d is out of range for this file (%d lines)", from, len(lines))
	}
	to := min(len(lines), from-1+in.or("limit", maxReadLines))
	shown := slices.Clone(lines[from-1 : max(to, from-1)])
	for i, line := range shown {
		shown[i] = fmt.Sprintf("%d: %s", from+i, line)
	}
	end := fmt.Sprintf("(End of file - total %d lines)", len(lines))
	if to < len(lines) {
		end = fmt.Sprintf("(Showing lines %d-%d of %d. Use offset=%d to continue.)", from, to,
			len(lines), to+1)
	}
	return answer(fmt.Sprintf("<path>%s</path>\n<type>file</type>\n<content>\n%s\n\n%s\n</content>",
		abs, strings.Join(shown, "\n"), end))
}

// openEntries is what opencode reads of a folder.
func openEntries(ctx context.Context, in *call, name string) (skill.Result, error) {
	r, err := in.x.Execute(ctx, in.s, skill.ListFolder{Path: name})
	if err != nil {
		return nil, err
	}
	l := r.(skill.Listed)
	var names []string
	for _, e := range l.Entries {
		if e.Type.IsDir() {
			e.Name += "/"
		}
		names = append(names, e.Name)
	}
	return answer(fmt.Sprintf("<path>%s</path>\n<type>directory</type>\n<entries>\n%s\n\n(%d entries)\n</entries>", l.Path, strings.Join(names, "\n"), len(names)))
}

func openWrite(ctx context.Context, in *call) (skill.Result, error) {
	if err := in.required("content"); err != nil {
		return nil, err
	}
	r, err := in.x.Execute(ctx, in.s, skill.WriteFile{Path: in.str("filePath"), Content: in.str("content"),
		Parents: true})
	return in.changed(r, err, "Wrote file successfully.")
}

func openEdit(ctx context.Context, in *call) (skill.Result, error) {
	if err := in.required("oldString", "newString"); err != nil {
		return nil, err
	}
	name, old, new := in.str("filePath"), in.str("oldString"), in.str("newString")
	if old == new {
		return nil, failf("No changes to apply: oldString and newString are identical.")
	}
	r, err := in.revise(ctx, func(r *skill.Revision) error {
		text, err := r.Text(name)
		switch {
		case old == "" && (isMissing(err) || err == nil && text == ""):
			return r.Set(name, new)
		case isMissing(err):
			return failf("File %s not found", in.x.Abs(in.s, name))
		case errors.Is(err, syscall.EISDIR):
			return failf("Path is a directory, not a file: %s", in.x.Abs(in.s, name))
		case err != nil:
			return err
		case old == "":
			return failf("oldString is empty; give the text to replace")
		}
		after, n := replaceEvery(text, old, new)
		switch {
		case n == 0:
			return failf("Could not find oldString in the file. It must match exactly, including whitespace, indentation, and line endings.")
		case n > 1 && !in.flag("replaceAll"):
			return failf("Found multiple matches for oldString. Provide more surrounding context to make the match unique.")
		}
		return r.Set(name, after)
	})
	return in.changed(r, err, "Edit applied successfully.")
}

func openGlob(ctx context.Context, in *call) (skill.Result, error) {
	files, err := in.globbed(ctx)
	if err != nil {
		return nil, err
	}
	if byAge(files); len(files) == 0 {
		return answer("No files found")
	}
	return answer(strings.Join(each(files, foundFile.String), "\n"))
}

func openGrep(ctx context.Context, in *call) (skill.Result, error) {
	if err := in.toSearch(); err != nil {
		return nil, err
	}
	g, err := in.matched(ctx, skill.Grep{Path: in.str("path"), NoLast: true, SkipIgnored: true}, "include")
	if err != nil {
		return nil, err
	}
	if len(g.Matches) == 0 {
		return answer("No files found")
	}
	text, last := fmt.Sprintf("Found %d matches\n", len(g.Matches)), ""
	for _, m := range g.Matches {
		if m.File != last {
			if last != "" {
				text += "\n"
			}
			text, last = text+m.File+":\n", m.File
		}
		text += fmt.Sprintf("  Line %d: %s\n", m.Line, lineText(m.Text))
	}
	return answer(strings.TrimSuffix(text, "\n"))
}

// openList is list of opencode: the files below a folder, as a tree.
func openList(ctx context.Context, in *call) (skill.Result, error) {
	if err := in.searched("path"); err != nil {
		return nil, err
	}
	r, err := in.x.Execute(ctx, in.s, skill.ListTree{Path: in.str("path"), Depth: 20, Limit: 100,
		SkipIgnored: true})
	if err != nil {
		return nil, err
	}
	var lines []string
	var show func(t *skill.Tree, indent string)
	show = func(t *skill.Tree, indent string) {
		for _, folders := range []bool{true, false} {
			for _, e := range t.Entries {
				switch {
				case e.Folder != folders:
				case e.Folder:
					lines = append(lines, indent+e.Name+"/")
					show(e, indent+"  ")
				default:
					lines = append(lines, indent+e.Name)
				}
			}
		}
	}
	show(r.(skill.TreeListed).Tree, "  ")
	return answer(filepath.Clean(in.x.Abs(in.s, in.str("path"))) + "/\n" + strings.Join(lines, "\n"))
}

// nativeMemento are the tools of Memento-S that no other agent has. Its failures begin with ERR.
var nativeMemento = []Tool{
	native("file_create", "Make a file or a folder.", Destroys, mementoCreate,
		nativePath("path"), optional(nativeText("content", "the text")),
		truth("overwrite", "replace a file that is there")),
	native("edit_file_by_lines", "Replace some lines of a file.", Destroys, mementoEdit,
		nativePath("path"), needed(number("start_line", "first, from 1")), needed(number("end_line", "last")),
		nativeText("new_content", "the new lines")),
	native("list_dir", "Show a folder as a tree.", Reads, mementoTree, optional(nativePath("path")),
		number("max_depth", "levels; default 2")),
}

// mementoLines are the lines of a text, without an empty one behind the last newline.
func mementoLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(plainLines(text), "\n"), "\n")
}

func mementoRead(ctx context.Context, in *call) (skill.Result, error) {
	name := in.str("path")
	switch at, err := in.place(name, true); {
	case err != nil:
		return nil, err
	case at != file:
		return nil, failf("ERR: File not found or is a directory: %s", name)
	}
	text, err := in.text(ctx, name)
	if err != nil {
		return nil, err
	}
	lines := mementoLines(text)
	from, to := max(in.or("start_line", 1), 1), in.or("end_line", -1)
	if to < 0 || to > len(lines) {
		to = len(lines)
	}
	if from > len(lines) && len(lines) > 0 {
		return nil, failf("ERR: start_line (%d) is beyond the file length (%d).", from, len(lines))
	}
	shown := []string{fmt.Sprintf("--- File: %s (Lines %d to %d of %d) ---", name, from, to, len(lines))}
	for i := from; i <= to; i++ {
		shown = append(shown, fmt.Sprintf("%5d | %s", i, lines[i-1]))
	}
	return answer(strings.Join(shown, "\n"))
}

func mementoCreate(ctx context.Context, in *call) (skill.Result, error) {
	name := in.str("path")
	if err := in.required("path"); err != nil {
		return nil, err
	}
	at, err := in.place(name, true)
	switch {
	case err != nil:
		return nil, err
	case at == folder:
		return answer("SUCCESS: Directory already exists at " + name)
	case at == file && !in.flag("overwrite"):
		return nil, failf("ERR: File already exists at %s. Use overwrite=true to replace it, or edit_file_by_lines to modify it.", name)
	}
	did := "Created"
	if at == file {
		did = "Overwrote"
	}
	r, err := in.x.Execute(ctx, in.s, skill.WriteFile{Path: name, Content: in.str("content"), Parents: true,
		NoReplace: at == nothing})
	return in.changed(r, err, fmt.Sprintf("SUCCESS: %s file %s", did, name))
}

func mementoEdit(ctx context.Context, in *call) (skill.Result, error) {
	name := in.str("path")
	from, first := in.integer("start_line")
	to, second := in.integer("end_line")
	if err := in.required("path", "new_content"); err != nil {
		return nil, err
	}
	if !first || !second || from < 1 || to < from {
		return nil, failf("ERR: Invalid range start_line=%v, end_line=%v.", in.values["start_line"],
			in.values["end_line"])
	}
	var shown []string
	r, err := in.reviseText(ctx, name, func(text string) (string, error) {
		lines, added := mementoLines(text), mementoLines(in.str("new_content"))
		if from > len(lines) {
			return "", failf("ERR: start_line (%d) is beyond the file length (%d).", from, len(lines))
		}
		after := append(append(append([]string(nil), lines[:from-1]...), added...),
			lines[min(to, len(lines)):]...)
		shown = nil
		for i := max(1, from-mementoAround); i <= min(len(after), from-1+len(added)+mementoAround); i++ {
			mark := "  "
			if i >= from && i < from+len(added) {
				mark = ">>"
			}
			shown = append(shown, fmt.Sprintf("%s %5d | %s", mark, i, after[i-1]))
		}
		plain := strings.Join(after, "\n")
		if strings.HasSuffix(text, "\n") && len(after) > 0 {
			plain += "\n"
		}
		return likeLines(plain, text), nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = failf("ERR: File not found or is a directory: %s", name)
	}
	const rule = "-----------------------------------"
	return in.changed(r, err,
		fmt.Sprintf("SUCCESS: Replaced lines %d to %d.\nPlease verify the indentation and syntax in the resulting snippet below:\n%s\n%s\n%s",
			from, to, rule, strings.Join(shown, "\n"), rule))
}

// mementoAround is how many lines are shown around those that were replaced.
const mementoAround = 5

func mementoTree(ctx context.Context, in *call) (skill.Result, error) {
	name := cmp.Or(in.str("path"), ".")
	switch at, err := in.place(name, true); {
	case err != nil:
		return nil, err
	case at != folder:
		return nil, failf("ERR: Directory not found: %s", name)
	}
	lines := []string{"Directory Tree for: " + name}
	var walk func(dir, indent string, depth int) error
	walk = func(dir, indent string, depth int) error {
		r, err := in.x.Execute(ctx, in.s, skill.ListFolder{Path: dir})
		if err != nil {
			return err
		}
		var folders, files []string
		for _, e := range r.(skill.Listed).Entries {
			switch {
			case strings.HasPrefix(e.Name, "."), e.Name == "node_modules", e.Name == "__pycache__":
			case e.Type.IsDir():
				folders = append(folders, e.Name+"/")
			default:
				files = append(files, e.Name)
			}
		}
		all := append(folders, files...)
		for i, e := range all {
			branch, below := "├── ", "│   "
			if i == len(all)-1 {
				branch, below = "└── ", "    "
			}
			lines = append(lines, indent+branch+e)
			if i < len(folders) && depth > 1 {
				if err := walk(filepath.Join(dir, e), indent+below, depth-1); err != nil &&
					!errors.Is(err, fs.ErrPermission) {
					return err
				}
			}
		}
		return nil
	}
	if err := walk(name, "", min(max(in.or("max_depth", 2), 1), 20)); err != nil {
		return nil, err
	}
	return answer(strings.Join(lines, "\n"))
}

func mementoGlob(ctx context.Context, in *call) (skill.Result, error) {
	if err := in.required("pattern"); err != nil {
		return nil, err
	}
	name := cmp.Or(in.str("path"), ".")
	_, files, err := in.find(ctx, name, in.str("pattern"), true)
	if err != nil {
		return nil, err
	}
	files = files[:min(len(files), max(in.or("max_results", 100), 1))]
	if len(files) == 0 {
		return answer(fmt.Sprintf("No files match pattern '%s' in %s", in.str("pattern"), name))
	}
	return answer(strings.Join(each(files, func(f foundFile) string { return f.rel }), "\n"))
}

func mementoGrep(ctx context.Context, in *call) (skill.Result, error) {
	if err := in.required("pattern"); err != nil {
		return nil, err
	}
	name := cmp.Or(in.str("dir_path"), ".")
	g, err := in.matched(ctx, skill.Grep{Path: name, NoLast: true}, "file_pattern")
	if bad, ok := errors.AsType[*skill.ArgError](err); ok {
		return nil, failf("ERR: Invalid regex pattern: %s", pythonRegexError(in.str("pattern"), bad.Reason))
	}
	if err != nil {
		return nil, err
	}
	if len(g.Matches) == 0 {
		return answer(fmt.Sprintf("No matches found for '%s' in %s", in.str("pattern"), name))
	}
	return answer(strings.Join(each(g.Matches, func(m skill.Match) string {
		rel, _ := filepath.Rel(g.Path, m.File)
		return fmt.Sprintf("%s:%d: %s", rel, m.Line, lineText(m.Text))
	}), "\n"))
}

// pythonRegexError says what is wrong with a regular expression as Python does, where that is that a
// group does not end.
func pythonRegexError(pattern, reason string) string {
	var open []int
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '(':
			open = append(open, i)
		case ')':
			open = open[:max(0, len(open)-1)]
		}
	}
	if len(open) == 0 || !strings.Contains(reason, "missing closing )") {
		return reason
	}
	return fmt.Sprintf("missing ), unterminated subpattern at position %d", open[len(open)-1])
}
