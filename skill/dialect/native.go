package dialect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"textskill/parser"
	"textskill/parser/wire"
	"textskill/skill"
	"textskill/skill/internal/words"
)

// Native has the tools that vendors train their models on, and the tools of other coding agents,
// with the original names, arguments and answers. If two of these tools have the same name, the
// arguments of a call decide.
var Native = &Dialect{
	Name:     "native",
	Doc:      "the vendors' own tools: Anthropic's editor, bash and memory, OpenAI's apply_patch and shell",
	foldName: func(name string) string { return strings.TrimPrefix(name, "functions.") },
	decode: func(_ *Tool, raw json.RawMessage) (values, error) { // the tools check them
		return members(orNone(raw), false, false)
	},
	noSurrogates: true,
	fail:         nativeFail,
	definitions:  nativeDefinitions,
	Prompt:       &Prompt{answer: nativePrompt},
	shown:        16_000,
	bashTime:     120 * time.Second,
	Tools:        slices.Concat(nativeEditor, nativeShells, nativeToolset, nativePatches, nativeMemento),
}

// nativePrompt applies a text that is a patch. The other tools are called by messages.
func nativePrompt(ctx context.Context, d *Dialect, x *skill.Executor, s *skill.Session, in Input,
	yield func(Reply) bool) {
	if !strings.HasPrefix(strings.TrimSpace(in.Text), beginPatch) {
		yield(failureReply(&Failure{Message: "the text is neither a message with calls nor a patch, which begins with " + beginPatch}))
		return
	}
	call := parser.ToolCall{Name: nativePatches[0].Name, Arguments: object("input", in.Text)}
	yield(d.Do(ctx, x, s, call))
}

// nativeDefinitions are what a request declares of a vendor's own tools.
func nativeDefinitions(d *Dialect, w *wire.Wire) json.RawMessage {
	switch w {
	case wire.Anthropic:
		return json.RawMessage(`[{"type":"text_editor_20250728","name":"` + editorName +
			`"},{"type":"bash_20250124","name":"bash"},` +
			`{"type":"memory_20250818","name":"memory"}]`)
	case wire.Responses:
		return json.RawMessage(`[{"type":"apply_patch"},{"type":"shell","environment":{"type":"local"}}]`)
	case wire.OpenAI, wire.Gemini:
		return d.some(nativePatches[:1], nativeShells[:2]).Definitions(w)
	}
	return nil
}

// Spoken returns the dialect for a model that answers on the wire w. [Native] then has only the tools of
// that model's vendor, unless all is set.
func (d *Dialect) Spoken(w *wire.Wire, all bool) *Dialect {
	if d != Native {
		return d
	}
	spoken := d.speaking(w)
	switch {
	case all:
	case w == wire.Anthropic:
		spoken.Tools = []Tool{*d.Lookup(editorName), *d.Lookup("bash"), *d.Lookup("memory")}
	default:
		spoken.Tools = slices.Concat(nativePatches[:1], nativeShells[:2])
	}
	return spoken
}

// some returns a dialect of some of the tools.
func (d *Dialect) some(families ...[]Tool) *Dialect {
	return &Dialect{Name: d.Name, Tools: slices.Concat(families...)}
}

// nativeFail answers with the message alone.
func nativeFail(in *call, err error) Reply {
	f, own := errors.AsType[*Failure](err)
	if !own {
		f = &Failure{Message: plainMessage(err), Code: codeOf(err), Cause: err}
	}
	switch {
	case own:
	case in.tool == nil && errors.Is(err, errUnknown):
		f = &Failure{Message: "Error: Tool '" + in.sent + "' not found"}
	case errors.Is(err, skill.ErrOutside):
		f.Message = in.written(err) + " is outside the workspace " + in.x.Dir()
	}
	return failureReply(f)
}

// written returns the path that an error is about as the call wrote it.
func (in *call) written(err error) string {
	refused, ok := errors.AsType[*skill.RefusedError](err)
	for _, v := range in.values {
		if name, isText := v.(string); isText && ok && in.x.Abs(in.s, name) == refused.Path {
			return name
		}
	}
	if !ok {
		return ""
	}
	return refused.Path
}

// changed is what a tool says of its last operation, a change. In a dry run nothing was changed.
func (in *call) changed(err error, text string) (string, error) {
	if c, ok := in.did.(skill.Changed); ok && !c.Applied {
		text = dryRun(c.Change.String(), c)
	}
	return text, err
}

// reviseText makes of the text of a file what by returns.
func (in *call) reviseText(name string, by func(text string) (string, error)) error {
	_, err := do[skill.Result](in, skill.Revise{By: func(r *skill.Revision) error {
		text, err := r.Text(name)
		if err != nil {
			return err
		}
		if text, err = by(text); err != nil {
			return err
		}
		return r.Set(name, text)
	}})
	return err
}

// maxNative is how many bytes of a file a tool of this dialect reads.
const maxNative = 64 << 20

// text returns what a file holds.
func (in *call) text(name string) (string, error) {
	r, err := in.x.Execute(in.ctx, in.s, skill.ReadFile{Path: name, MaxBytes: maxNative})
	if err != nil {
		return "", err
	}
	return string(r.(skill.FileRead).Content), nil
}

// A place is what is at a path.
type place int

const (
	nothing place = iota
	file
	folder
)

// place says what is at a path. Its error is that of a path that is refused.
func (in *call) place(name string, follow bool) (place, error) {
	info, err := in.x.Look(in.s, name, follow)
	switch {
	case isMissing(err):
		return nothing, nil
	case err != nil:
		return nothing, err
	case info.IsDir():
		return folder, nil
	}
	return file, nil
}

// integer returns an argument that is an integer; ok is false if it is something else.
func integer(v any) (n int, ok bool) {
	number, _ := v.(json.Number)
	i, err := number.Int64()
	return int(i), err == nil && number != ""
}

// integerOr returns an argument that is an integer, or another number if it is missing or something else.
func integerOr(v any, usual int) int {
	if n, ok := integer(v); ok {
		return n
	}
	return usual
}

// linesOfRange are the two numbers of a range of lines.
func linesOfRange(v any) (from, to int, ok bool) {
	list, _ := v.([]any)
	if len(list) != 2 {
		return 0, 0, false
	}
	from, first := integer(list[0])
	to, second := integer(list[1])
	return from, to, first && second
}

// textOf returns an argument that is a text, "" if it is something else.
func textOf(v any) string {
	text, _ := v.(string)
	return text
}

// nativeToolset are the tools of Anthropic's managed agents. Memento-S has glob and grep too, with other arguments.
var nativeToolset = []Tool{
	row(Tool{Name: "read", Doc: "Read a file."}, toolsetRead),
	row(Tool{Name: "write", Doc: "Write a file, replacing what is there.", Effect: Destroys}, toolsetWrite),
	row(Tool{Name: "edit", Doc: "Replace a text in a file.", Effect: Destroys}, toolsetEdit),
	row(Tool{Name: "glob", Doc: "Find files by a pattern."}, func(in *call, a globArgs) (string, error) {
		// without a message, a folder is an argument of Memento-S
		if a.Depth != nil || a.Most != nil || a.Path != nil && in.dialect.speaks == nil {
			return in.mementoGlob(a)
		}
		return in.toolsetGlob(a)
	}),
	row(Tool{Name: "grep", Doc: "Find lines by a regular expression."}, func(in *call, a grepArgs) (string, error) {
		if a.Files != nil || a.Numbers != nil || a.Text != nil || a.Dir != nil {
			return in.mementoGrep(a)
		}
		return in.toolsetGrep(a)
	}),
}

// globArgs are the arguments of both tools glob.
type globArgs struct {
	Pattern *string `arg:"pattern" is:"required" doc:"like **/*.go"`
	Path    any     `arg:"path" type:"string" is:"path" doc:"path in the workspace"`
	Depth   any     `arg:"max_depth" type:"integer" doc:"with path: how deep"`
	Most    any     `arg:"max_results" type:"integer" doc:"with path: how many"`
}

// grepArgs are the arguments of both tools grep.
type grepArgs struct {
	Pattern *string `arg:"pattern" is:"required" doc:"for one line"`
	Path    string  `arg:"path" is:"path" doc:"path in the workspace"`
	Dir     any     `arg:"dir_path" type:"string" is:"path" doc:"path in the workspace"`
	Files   any     `arg:"file_pattern" type:"string" doc:"only names like *.go"`
	Text    any     `arg:"text" type:"string" doc:"lines to search instead"`
	Numbers any     `arg:"show_line_numbers" type:"boolean" doc:"default true"`
}

// toolsetPath says what is at the path that an argument of the toolset is.
func (in *call) toolsetPath(param, name string) (at place, err error) {
	if name == "" {
		return nothing, failf("%s: %s is required", in.tool.Name, param)
	}
	at, err = in.place(name, true)
	if errors.Is(err, skill.ErrOutside) {
		err = failf("path %q is outside the session's working directory", name)
	}
	return at, err
}

// maxUnranged is the size in bytes of a file that is read without a range.
const maxUnranged = 256 << 10

func toolsetRead(in *call, a struct {
	Path  string `arg:"file_path" is:"path,required" doc:"path in the workspace"`
	Range any    `arg:"view_range" type:"array" of:"integer" doc:"first and last line; 0 or less is the end"`
}) (string, error) {
	at, err := in.toolsetPath("file_path", a.Path)
	list, _ := a.Range.([]any)
	from, to, ranged := linesOfRange(a.Range)
	switch {
	case err != nil:
		return "", err
	case len(list) > 0 && !ranged:
		return "", failf("read: view_range must be [start_line, end_line]")
	case at == nothing:
		return "", failf("read: %s: no such file or directory", a.Path)
	case at == folder:
		return "", failf("read: %s is not a regular file", a.Path)
	}
	if info, err := in.x.Look(in.s, a.Path, true); err == nil && !ranged && info.Size > maxUnranged {
		return "", failf("read: %s is %d bytes, exceeds %d-byte limit. Use the view_range parameter to read specific line ranges, "+
			"e.g. view_range: [1, 500].", a.Path, info.Size, maxUnranged)
	}
	text, err := in.text(a.Path)
	if err != nil || !ranged {
		return text, err
	}
	lines := strings.Split(text, "\n")
	if to <= 0 {
		to = len(lines)
	}
	from = min(max(from-1, 0), len(lines))
	return strings.Join(lines[from:max(from, min(to, len(lines)))], "\n"), nil
}

func toolsetWrite(in *call, a struct {
	Path    string  `arg:"file_path" is:"path,required" doc:"path in the workspace"`
	Content *string `arg:"content" is:"content,required,empty" doc:"the text"`
}) (string, error) {
	at, err := in.toolsetPath("file_path", a.Path)
	switch {
	case a.Path == "":
		return "", err
	case a.Content == nil:
		return "", failf("write: content is required")
	case err != nil:
		return "", err
	case at == folder:
		return "", failf("write: %s: is a directory", a.Path)
	}
	_, err = do[skill.Result](in, skill.WriteFile{Path: a.Path, Content: *a.Content, Parents: true})
	return in.changed(err, fmt.Sprintf("wrote %d bytes to %s", len(*a.Content), a.Path))
}

func toolsetEdit(in *call, a struct {
	Path string  `arg:"file_path" is:"path,required" doc:"path in the workspace"`
	Old  string  `arg:"old_string" is:"content,required,empty" doc:"must occur once, unless replace_all"`
	New  *string `arg:"new_string" is:"content,required,empty" doc:"the new text"`
	All  bool    `arg:"replace_all" doc:"each occurrence"`
}) (string, error) {
	at, err := in.toolsetPath("file_path", a.Path)
	switch {
	case a.Path == "":
		return "", err
	case a.Old == "":
		return "", failf("edit: old_string is required")
	case a.New == nil:
		return "", failf("edit: new_string is required")
	case err != nil:
		return "", err
	case at == nothing:
		return "", failf("edit: %s: no such file or directory", a.Path)
	case at == folder:
		return "", failf("edit: %s is not a regular file", a.Path)
	}
	n := 0
	err = in.reviseText(a.Path, func(text string) (after string, err error) {
		old := likeLines(a.Old, text)
		switch n = strings.Count(text, old); {
		case n == 0:
			err = failf("edit: old_string not found in %s", a.Path)
		case n > 1 && !a.All:
			err = failf("edit: old_string appears %d times in %s (must be unique)", n, a.Path)
		}
		return strings.ReplaceAll(text, old, likeLines(*a.New, text)), err
	})
	return in.changed(err, fmt.Sprintf("edited %s (%d replacement(s))", a.Path, n))
}

// A foundFile is a file that a pattern matches.
type foundFile struct {
	path string // absolute
	rel  string // below the folder that was searched
	time time.Time
}

// find returns the files below a folder that a pattern matches, without .git and
// node_modules. A pattern of one name matches in the folder itself, unless deep is set.
func (in *call) find(dir, pattern string, deep bool) (files []foundFile, err error) {
	found, err := do[skill.Found](in, skill.Find{Path: dir, Pattern: pattern, Braces: true,
		Exclude: []string{"node_modules"}, Limit: maxFound})
	deep = deep || strings.Contains(pattern, "/") || strings.Contains(pattern, "**")
	for _, name := range found.Matches {
		rel, _ := filepath.Rel(found.Path, name)
		info, err := in.x.Look(in.s, name, true)
		if err != nil || info.IsDir() || !deep && strings.Contains(rel, "/") {
			continue
		}
		files = append(files, foundFile{name, rel, info.ModTime})
	}
	return files, err
}

// maxFound is how many files a pattern finds at most.
const maxFound = 10_000

// climbs matches a part of a pattern that leads out of a folder.
var climbs = words.Pattern(`(^|[\\/{},])\.\.($|[\\/{},])`)

func (in *call) toolsetGlob(a globArgs) (string, error) {
	pattern, dir := "", textOf(a.Path)
	if a.Pattern != nil {
		pattern = *a.Pattern
	}
	switch {
	case pattern == "":
		return "", failf("glob: pattern is required")
	case filepath.IsAbs(pattern):
		return "", failf("glob: absolute pattern not permitted; pass a relative pattern (and optionally path)")
	case climbs().MatchString(pattern):
		return "", failf(`glob: ".." is not permitted in the pattern`)
	}
	if err := in.searched(dir); err != nil {
		return "", err
	}
	files, err := in.find(dir, pattern, false)
	if err != nil && !errors.Is(err, syscall.ENOTDIR) { // nothing is below a file
		return "", err
	}
	if !strings.Contains("/"+pattern, "/.") { // it does not ask for what is hidden
		files = slices.DeleteFunc(files, func(f foundFile) bool { return strings.Contains("/"+f.rel, "/.") })
	}
	slices.SortStableFunc(files, func(a, b foundFile) int { return b.time.Compare(a.time) })
	return cmp.Or(strings.Join(each(files[:min(len(files), 200)], func(f foundFile) string { return f.path }), "\n"),
		"no matches"), nil
}

// searched fails if the folder or file to search is outside of the workspace or not there.
func (in *call) searched(name string) error {
	if name == "" {
		return nil
	}
	at, err := in.toolsetPath("path", name)
	if err == nil && at == nothing {
		err = failf("%s: %s: no such file or directory", in.tool.Name, name)
	}
	return err
}

// maxMatched is how many bytes of lines grep of the toolset answers.
const maxMatched = 100 << 10

// matched returns the lines that a pattern matches, but not in hidden files.
func (in *call) matched(a skill.Grep) (skill.Grepped, error) {
	a.MaxLine, a.MaxBytes, a.Limit = 2000, 1<<20, 10_000
	g, err := do[skill.Grepped](in, a)
	g.Matches = slices.DeleteFunc(g.Matches, func(m skill.Match) bool {
		return strings.Contains(strings.TrimPrefix(m.File, g.Path), "/.")
	})
	return g, err
}

func (in *call) toolsetGrep(a grepArgs) (string, error) {
	if a.Pattern == nil || *a.Pattern == "" {
		return "", failf("grep: pattern is required")
	}
	if err := in.searched(a.Path); err != nil {
		return "", err
	}
	g, err := in.matched(skill.Grep{Path: a.Path, Pattern: *a.Pattern})
	if bad, ok := errors.AsType[*skill.ArgError](err); ok {
		return "", failf("grep: invalid regex: %s", bad.Reason)
	}
	var text strings.Builder
	for _, m := range g.Matches {
		if m.File != g.Path {
			text.WriteString(m.File + ":")
		}
		fmt.Fprintf(&text, "%d:%s\n", m.Line, strings.TrimSuffix(m.Text, "\r"))
		if text.Len() > maxMatched {
			return wellFormed(text.String()[:maxMatched]) +
				fmt.Sprintf("\n[output truncated at %d bytes]", maxMatched), err
		}
	}
	return cmp.Or(text.String(), "no matches"), err
}
