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

// A worded is the result of a tool that has worded its answer itself.
type worded struct {
	text   string
	of     skill.Result // what was done; nil if nothing was changed
	failed bool         // although something may have been done
	object json.RawMessage
	blocks []Block
}

// Message returns the answer.
func (s worded) Message() string { return s.text }

// UndoID returns the ID of the change.
func (s worded) UndoID() string { return Reply{Result: s.of}.UndoID() }

// CannotUndo says what of the change cannot be undone.
func (s worded) CannotUndo() string { return Reply{Result: s.of}.NotKept() }

// native returns the row of a tool of this dialect.
func native(name, doc string, effect Effect, act action, params ...Param) Tool {
	return Tool{Name: name, Doc: doc, Params: params, Effect: effect, run: func(in *call) (any, error) {
		r, err := act(in.ctx, in)
		if in.did = r; err != nil {
			return nil, err
		}
		s := r.(worded)
		if s.failed {
			return nil, &Failure{Message: s.text}
		}
		return Reply{Body: s.text, Structured: s.object, Blocks: s.blocks}, nil
	}}
}

// answer is what a tool says.
func answer(text string) (skill.Result, error) { return worded{text: text}, nil }

// changed is what a tool says of a change that was made. In a dry run none was.
func (in *call) changed(r skill.Result, err error, text string) (skill.Result, error) {
	if err != nil {
		return nil, err
	}
	if c, ok := r.(skill.Changed); ok && !c.Applied {
		text = strings.TrimSuffix(c.Change.String()+"\n"+c.Diff, "\n")
	}
	return worded{text: text, of: r}, nil
}

// revise changes files as by says.
func (in *call) revise(ctx context.Context, by func(r *skill.Revision) error) (skill.Result, error) {
	return in.x.Execute(ctx, in.s, skill.Revise{By: by})
}

// reviseText makes of the text of a file what by returns.
func (in *call) reviseText(ctx context.Context, name string,
	by func(text string) (string, error)) (skill.Result, error) {
	return in.revise(ctx, func(r *skill.Revision) error {
		text, err := r.Text(name)
		if err != nil {
			return err
		}
		if text, err = by(text); err != nil {
			return err
		}
		return r.Set(name, text)
	})
}

// maxNative is how many bytes of a file a tool of this dialect reads.
const maxNative = 64 << 20

// text returns what a file holds.
func (in *call) text(ctx context.Context, name string) (string, error) {
	r, err := in.x.Execute(ctx, in.s, skill.ReadFile{Path: name, MaxBytes: maxNative})
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

// given reports whether an argument has a value.
func (in values) given(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return in[name] != nil })
}

// integer returns an integer argument; ok is false if it is something else.
func (in values) integer(name string) (n int, ok bool) {
	number, _ := in[name].(json.Number)
	i, err := number.Int64()
	return int(i), err == nil && number != ""
}

// or returns an integer argument, or another number if it is missing or something else.
func (in values) or(name string, usual int) int {
	if n, ok := in.integer(name); ok {
		return n
	}
	return usual
}

// lines are the two numbers of a range of lines.
func (in values) lines(name string) (from, to int, ok bool) {
	list, _ := in[name].([]any)
	if len(list) != 2 {
		return 0, 0, false
	}
	pair := values{"from": list[0], "to": list[1]}
	from, first := pair.integer("from")
	to, second := pair.integer("to")
	return from, to, first && second
}

// textParam and pathsParam are arguments that many tools have.
func nativeText(name, doc string) Param {
	return Param{Name: name, Type: "string", Content: true, Required: true, Empty: true, Doc: doc}
}

func nativePath(name string) Param {
	return Param{Name: name, Type: "string", Path: true, Required: true, Doc: "path in the workspace"}
}

// optional returns a parameter that may be missing.
func optional(p Param) Param {
	p.Required = false
	return p
}

func number(name, doc string) Param { return Param{Name: name, Type: "integer", Doc: doc} }

func truth(name, doc string) Param { return Param{Name: name, Type: "boolean", Doc: doc} }

func word(name, doc string) Param { return Param{Name: name, Type: "string", Doc: doc} }

func needed(p Param) Param {
	p.Required = true
	return p
}

// nativeToolset are the tools of Anthropic's managed agents. Memento-S has glob and grep too, with other arguments.
var nativeToolset = []Tool{
	native("read", "Read a file.", Reads, toolsetRead, nativePath("file_path"),
		Param{Name: viewRange, Type: "array", Of: "integer",
			Doc: "first and last line; 0 or less is the end"}),
	native("write", "Write a file, replacing what is there.", Destroys, toolsetWrite,
		nativePath("file_path"), nativeText("content", "the text")),
	native("edit", "Replace a text in a file.", Destroys, toolsetEdit, nativePath("file_path"),
		nativeText("old_string", "must occur once, unless replace_all"),
		nativeText("new_string", "the new text"), truth("replace_all", "each occurrence")),
	native("glob", "Find files by a pattern.", Reads, findFiles,
		needed(word("pattern", "like **/*.go")), optional(nativePath("path")),
		number("max_depth", "with path: how deep"), number("max_results", "with path: how many")),
	native("grep", "Find lines by a regular expression.", Reads, findLines,
		needed(word("pattern", "for one line")), optional(nativePath("path")),
		optional(nativePath("dir_path")), word("file_pattern", "only names like *.go"),
		word("text", "lines to search instead"), truth("show_line_numbers", "default true")),
}

// An action carries out the calls of a tool.
type action = func(ctx context.Context, in *call) (skill.Result, error)

// toolsetPath returns the path that a tool of the toolset is given, and what is there.
func (in *call) toolsetPath(param string) (name string, at place, err error) {
	if name = in.str(param); name == "" {
		return "", nothing, failf("%s: %s is required", in.tool.Name, param)
	}
	at, err = in.place(name, true)
	if errors.Is(err, skill.ErrOutside) {
		err = failf("path %q is outside the session's working directory", name)
	}
	return name, at, err
}

// maxUnranged is the size in bytes of a file that is read without a range.
const maxUnranged = 256 << 10

func toolsetRead(ctx context.Context, in *call) (skill.Result, error) {
	name, at, err := in.toolsetPath("file_path")
	list, _ := in.values[viewRange].([]any)
	from, to, ranged := in.lines(viewRange)
	switch {
	case err != nil:
		return nil, err
	case len(list) > 0 && !ranged:
		return nil, failf("read: view_range must be [start_line, end_line]")
	case at == nothing:
		return nil, failf("read: %s: no such file or directory", name)
	case at == folder:
		return nil, failf("read: %s is not a regular file", name)
	}
	if info, err := in.x.Look(in.s, name, true); err == nil && !ranged && info.Size > maxUnranged {
		return nil, failf("read: %s is %d bytes, exceeds %d-byte limit. Use the view_range parameter to read specific line ranges, "+
			"e.g. view_range: [1, 500].", name, info.Size, maxUnranged)
	}
	text, err := in.text(ctx, name)
	if err != nil || !ranged {
		return worded{text: text}, err
	}
	lines := strings.Split(text, "\n")
	if to <= 0 {
		to = len(lines)
	}
	from = min(max(from-1, 0), len(lines))
	return answer(strings.Join(lines[from:max(from, min(to, len(lines)))], "\n"))
}

func toolsetWrite(ctx context.Context, in *call) (skill.Result, error) {
	name, at, err := in.toolsetPath("file_path")
	text, ok := in.values["content"].(string)
	switch {
	case name == "":
		return nil, err
	case !ok:
		return nil, failf("write: content is required")
	case err != nil:
		return nil, err
	case at == folder:
		return nil, failf("write: %s: is a directory", name)
	}
	r, err := in.x.Execute(ctx, in.s, skill.WriteFile{Path: name, Content: text, Parents: true})
	return in.changed(r, err, fmt.Sprintf("wrote %d bytes to %s", len(text), name))
}

func toolsetEdit(ctx context.Context, in *call) (skill.Result, error) {
	name, at, err := in.toolsetPath("file_path")
	_, ok := in.values["new_string"].(string)
	switch {
	case name == "":
		return nil, err
	case in.str("old_string") == "":
		return nil, failf("edit: old_string is required")
	case !ok:
		return nil, failf("edit: new_string is required")
	case err != nil:
		return nil, err
	case at == nothing:
		return nil, failf("edit: %s: no such file or directory", name)
	case at == folder:
		return nil, failf("edit: %s is not a regular file", name)
	}
	n := 0
	r, err := in.reviseText(ctx, name, func(text string) (after string, err error) {
		after, n = replaceEvery(text, in.str("old_string"), in.str("new_string"))
		switch {
		case n == 0:
			err = failf("edit: old_string not found in %s", name)
		case n > 1 && !in.flag("replace_all"):
			err = failf("edit: old_string appears %d times in %s (must be unique)", n, name)
		}
		return after, err
	})
	return in.changed(r, err, fmt.Sprintf("edited %s (%d replacement(s))", name, n))
}

// replaceEvery replaces each occurrence of a text, and counts them.
func replaceEvery(text, old, new string) (after string, n int) {
	old = likeLines(old, text)
	return strings.ReplaceAll(text, old, likeLines(new, text)), strings.Count(text, old)
}

// findFiles is glob of the toolset, or of Memento-S if the call has its arguments or comes without a message.
func findFiles(ctx context.Context, in *call) (skill.Result, error) {
	if in.given("max_depth", "max_results") || in.given("path") && in.dialect.speaks == nil {
		return mementoGlob(ctx, in)
	}
	return toolsetGlob(ctx, in)
}

// findLines is grep of the toolset, or of Memento-S if the call has its arguments.
func findLines(ctx context.Context, in *call) (skill.Result, error) {
	if in.given("file_pattern", "show_line_numbers", "text", "dir_path") {
		return mementoGrep(ctx, in)
	}
	return toolsetGrep(ctx, in)
}

// A foundFile is a file that a pattern matches.
type foundFile struct {
	path string // absolute
	rel  string // below the folder that was searched
	time time.Time
}

// find returns the files below a folder that a pattern matches, without .git and
// node_modules. A pattern of one name matches in the folder itself, unless deep is set.
func (in *call) find(ctx context.Context, dir, pattern string, deep bool) (base string, files []foundFile,
	err error) {
	r, err := in.x.Execute(ctx, in.s, skill.Find{Path: dir, Pattern: pattern, Braces: true,
		Exclude: []string{"node_modules"}, Limit: maxFound})
	if err != nil {
		return "", nil, err
	}
	found, deep := r.(skill.Found), deep || strings.Contains(pattern, "/") || strings.Contains(pattern, "**")
	for _, name := range found.Matches {
		rel, _ := filepath.Rel(found.Path, name)
		info, err := in.x.Look(in.s, name, true)
		if err != nil || info.IsDir() || !deep && strings.Contains(rel, "/") {
			continue
		}
		files = append(files, foundFile{name, rel, info.ModTime})
	}
	return found.Path, files, nil
}

// maxFound is how many files a pattern finds at most.
const maxFound = 10_000

// byAge sorts files, the newest first, and files of one time by name.
func byAge(files []foundFile) {
	slices.SortStableFunc(files, func(a, b foundFile) int { return b.time.Compare(a.time) })
}

func (f foundFile) String() string { return f.path }

// climbs matches a part of a pattern that leads out of a folder.
var climbs = words.Pattern(`(^|[\\/{},])\.\.($|[\\/{},])`)

func toolsetGlob(ctx context.Context, in *call) (skill.Result, error) {
	pattern := in.str("pattern")
	switch {
	case pattern == "":
		return nil, failf("glob: pattern is required")
	case filepath.IsAbs(pattern):
		return nil, failf("glob: absolute pattern not permitted; pass a relative pattern (and optionally path)")
	case climbs().MatchString(pattern):
		return nil, failf(`glob: ".." is not permitted in the pattern`)
	}
	if err := in.searched("path"); err != nil {
		return nil, err
	}
	_, files, err := in.find(ctx, in.str("path"), pattern, false)
	if err != nil && !errors.Is(err, syscall.ENOTDIR) { // nothing is below a file
		return nil, err
	}
	if !strings.Contains("/"+pattern, "/.") { // it does not ask for what is hidden
		files = slices.DeleteFunc(files, func(f foundFile) bool { return strings.Contains("/"+f.rel, "/.") })
	}
	byAge(files)
	files = files[:min(len(files), 200)]
	if len(files) == 0 {
		return answer("no matches")
	}
	return answer(strings.Join(each(files, foundFile.String), "\n"))
}

// searched fails if the folder or file to search is outside of the workspace or not there.
func (in *call) searched(param string) error {
	if in.str(param) == "" {
		return nil
	}
	name, at, err := in.toolsetPath(param)
	if err == nil && at == nothing {
		err = failf("%s: %s: no such file or directory", in.tool.Name, name)
	}
	return err
}

// maxMatched is how many bytes of lines grep of the toolset answers.
const maxMatched = 100 << 10

// matched returns the lines that the argument pattern matches, but not in hidden files. The arguments
// in globs say which files are searched.
func (in *call) matched(ctx context.Context, a skill.Grep, globs ...string) (skill.Grepped, error) {
	a.Pattern, a.MaxLine, a.MaxBytes, a.Limit = in.str("pattern"), 2000, 1<<20, 10_000
	for _, name := range globs {
		if g := in.str(name); g != "" {
			a.Include = []string{g}
		}
	}
	r, err := in.x.Execute(ctx, in.s, a)
	if err != nil {
		return skill.Grepped{}, err
	}
	g := r.(skill.Grepped)
	g.Matches = slices.DeleteFunc(g.Matches, func(m skill.Match) bool {
		return strings.Contains(strings.TrimPrefix(m.File, g.Path), "/.")
	})
	return g, nil
}

func toolsetGrep(ctx context.Context, in *call) (skill.Result, error) {
	pattern := in.str("pattern")
	if pattern == "" {
		return nil, failf("grep: pattern is required")
	}
	if err := in.searched("path"); err != nil {
		return nil, err
	}
	g, err := in.matched(ctx, skill.Grep{Path: in.str("path")})
	if bad, ok := errors.AsType[*skill.ArgError](err); ok {
		return nil, failf("grep: invalid regex: %s", bad.Reason)
	}
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	for _, m := range g.Matches {
		if m.File != g.Path {
			text.WriteString(m.File + ":")
		}
		fmt.Fprintf(&text, "%d:%s\n", m.Line, strings.TrimSuffix(m.Text, "\r"))
		if text.Len() > maxMatched {
			return answer(wellFormed(text.String()[:maxMatched]) +
				fmt.Sprintf("\n[output truncated at %d bytes]", maxMatched))
		}
	}
	return answer(cmp.Or(text.String(), "no matches"))
}
