package dialect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"textskill/parser"
	"textskill/skill"
)

// Filesystem is the dialect of tool_calls envelopes: thirteen functions, each
// answered by one text.
var Filesystem = &Dialect{
	Name:     "filesystem",
	Doc:      `OpenAI tool_calls: {"tool_calls":[…]}`,
	noHalves: true,
	fold:     func(name string) string { return strings.ToLower(strings.TrimSpace(name)) },
	fail:     filesystemFail,
	Tools: []Tool{
		{
			Name: "read_file", Aliases: []string{"read_text_file"}, Doc: "Read a file, or its first or last lines.",
			Params: []Param{fsPath,
				{Name: "head", Type: "integer", Lenient: true, Doc: "only so many lines from the start"},
				{Name: "tail", Type: "integer", Lenient: true, Doc: "only so many lines from the end"}},
			real: followed("path"), args: readFileArgs, fails: notFile,
			reply: func(_ *Tool, _ values, r skill.Result) string { return string(r.(skill.FileRead).Content) },
		},
		{
			Name: "write_file", Aliases: []string{"write_text_file"}, Doc: "Write a file, replacing what was there; the folders above it are created.",
			Params: []Param{fsPath, contentParam}, Effect: Destroys, Repeats: true, real: followed("path"),
			args: func(in values) (skill.Args, error) {
				return skill.WriteFile{Path: in.str("path"), Content: in.str("content"), Parents: true}, nil
			},
			reply: did,
		},
		{
			Name: "edit_file", Aliases: []string{"replace_text"}, Doc: "Replace the first occurrence of a text in a file.",
			Params: []Param{fsPath,
				{Name: "old_text", Aliases: []string{"old"}, Type: "string", Required: true, Empty: true, Doc: "the text to replace, exactly as in the file"},
				{Name: "new_text", Aliases: []string{"new"}, Type: "string", Required: true, Empty: true, Doc: "what takes its place"},
				{Name: "dry_run", Type: "boolean", Lenient: true, Doc: "show the change and do not make it"}},
			Effect: Destroys, real: followed("path"), fails: notEdited,
			args: func(in values) (skill.Args, error) {
				if in.str("old_text") == "" {
					return nil, ownWords{text: "missing old_text"}
				}
				return skill.EditFile{Path: in.str("path"), Old: in.str("old_text"), New: in.str("new_text"), DryRun: truthy(in["dry_run"])}, nil
			},
			reply: func(t *Tool, in values, r skill.Result) string {
				if c := r.(skill.Changed); !c.Applied {
					return dryRun(t.Name+" DRY_RUN: would replace in "+c.Path, c)
				}
				return t.Name + " OK: " + in.str("path")
			},
		},
		{
			Name: "append_file", Doc: "Append to a file, which is created if need be, with the folders above it.",
			Params: []Param{fsPath, contentParam}, Effect: Adds, real: followed("path"),
			args: func(in values) (skill.Args, error) {
				return skill.AppendFile{Path: in.str("path"), Content: in.str("content"), Parents: true}, nil
			},
			reply: did,
		},
		{
			Name: "list_directory", Aliases: []string{"list_dir"}, Doc: "List a directory, directories first.",
			Params: []Param{fsPath}, real: followed("path"), fails: notDirectory,
			args: func(in values) (skill.Args, error) {
				return skill.ListTree{Path: in.str("path"), Depth: 1, Limit: listLimit}, nil
			},
			reply: listing,
		},
		{
			Name: "directory_tree", Aliases: []string{"dir_tree"}, Doc: "Show a directory and those in it as a tree.",
			Params: []Param{fsPath, {Name: "depth", Type: "integer", Lenient: true, Doc: "levels, 3 unless given"}},
			real:   followed("path"), fails: notFound,
			args: func(in values) (skill.Args, error) {
				return skill.ListTree{Path: in.str("path"), Depth: depth(in["depth"])}, nil
			},
			reply: drawTree,
		},
		{
			Name: "create_directory", Aliases: []string{"mkdir"}, Doc: "Create a directory and those above it.",
			Params: []Param{fsPath}, Effect: Adds, Repeats: true, real: followed("path"),
			args:  func(in values) (skill.Args, error) { return skill.MakeFolder{Path: in.str("path")}, nil },
			reply: did,
		},
		{
			Name: "move_file", Aliases: []string{"mv"}, Doc: "Move or rename a file or directory.",
			Params: []Param{fsSource, fsDest}, Effect: Destroys, real: sourceAndDest(false), fails: notMoved,
			args: func(in values) (skill.Args, error) {
				return skill.MoveFile{Source: in.str("src"), Dest: in.str("dst"), Into: true, Parents: true}, nil
			},
			reply: did,
		},
		{
			Name: "copy_file", Aliases: []string{"cp"}, Doc: "Copy a file or directory.",
			Params: []Param{fsSource, fsDest}, Effect: Destroys, real: sourceAndDest(true), fails: notCopied,
			args: func(in values) (skill.Args, error) {
				return skill.CopyFile{Source: in.str("src"), Dest: in.str("dst"), Tree: true, Into: true, Parents: true, Times: true}, nil
			},
			reply: did,
		},
		{
			Name: "delete_file", Aliases: []string{"rm"}, Doc: "Delete a file, or a directory with all that is in it.",
			Params: []Param{fsPath}, Effect: Destroys, Repeats: true, real: unfollowed("path"),
			args: func(in values) (skill.Args, error) {
				return skill.DeleteFile{Path: in.str("path"), Tree: true}, nil
			},
			fails: func(t *Tool, in values, err error) error {
				if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
					return ownWords{t.Name + " OK: already not exists: " + in.str("path"), true}
				}
				return err
			},
			reply: did,
		},
		{
			Name: "file_info", Aliases: []string{"get_file_info"}, Doc: "Tell what kind of file it is, its size and time.",
			Params: []Param{fsPath}, real: followed("path"), fails: notFound,
			args:  func(in values) (skill.Args, error) { return skill.Stat{Path: in.str("path")}, nil },
			reply: describe,
		},
		{
			Name: "search_files", Doc: "Find files and directories by a glob pattern, at any depth.",
			Params: []Param{fsPath, {Name: "pattern", Type: "string", Required: true, Empty: true, Doc: "like *.py or src/**/*.go"}},
			real:   followed("path"), fails: notSearched,
			args: func(in values) (skill.Args, error) {
				if err := notPattern(in.str("pattern")); err != nil {
					return nil, err
				}
				return skill.Find{Path: in.str("path"), Pattern: in.str("pattern")}, nil
			},
			reply: matches,
		},
		{
			Name: "file_exists", Doc: "Tell whether a file or directory exists.", Params: []Param{fsPath},
			real: followed("path"), fails: notThere,
			args: func(in values) (skill.Args, error) { return skill.Stat{Path: in.str("path")}, nil },
			reply: func(_ *Tool, _ values, r skill.Result) string {
				return "exists: " + pyBool(r.(skill.Described).Exists)
			},
		},
	},
}

// listLimit is how many entries list_directory shows.
const listLimit = 10000

var (
	fsPath   = Param{Name: "path", Type: "string", Path: true, Required: true, Doc: "relative to working_dir, or absolute inside the workspace"}
	fsSource = Param{Name: "src", Aliases: []string{"source"}, Type: "string", Path: true, Required: true, Doc: "the present path"}
	fsDest   = Param{Name: "dst", Aliases: []string{"destination"}, Type: "string", Path: true, Required: true, Doc: "the new path; a directory receives the source under its name"}
)

// A Message is the answer to one call of an envelope.
type Message struct {
	Role       string `json:"role"` // "tool"
	ToolCallID string `json:"tool_call_id"`
	Content    string `json:"content"`
	Undo       string `json:"-"` // what the change is taken back by; see [Reply.UndoID]
	NotKept    string `json:"-"` // why it cannot be; see [Reply.NotKept]
}

// Calls carries out the calls of an envelope in their order and answers each. ok
// is false if any failed. A working_dir is taken from the workspace's folder.
func Calls(ctx context.Context, x *skill.Executor, s *skill.Session, e parser.Envelope) (messages []Message, ok bool) {
	var wrong error
	if e.WorkingDir != "" {
		var inner *skill.Session
		if inner, wrong = x.Enter(&skill.Session{}, e.WorkingDir); wrong == nil {
			s = inner
		}
	}
	messages = make([]Message, 0, len(e.Calls))
	ok = true
	for _, call := range e.Calls {
		var r Reply
		if wrong != nil {
			r = filesystemFail(Filesystem, call.Name, nil, wrong)
		} else {
			r = Filesystem.Do(ctx, x, s, call)
		}
		ok = ok && r.Err == nil
		messages = append(messages, Message{"tool", call.ID, wellFormed(r.Body), r.UndoID(), r.NotKept()})
	}
	return messages, ok
}

// filesystemFail words an error as Python's runtime does.
func filesystemFail(_ *Dialect, sent string, t *Tool, err error) Reply {
	f := &Failure{Cause: err, Code: codeOf(err)}
	name := sent
	if name == "" {
		name = "tool_call"
	}
	var pe *paramError
	var o ownWords
	text, system := python(err)
	switch {
	case errors.As(err, &o):
		f.Message, f.Cause = t.Name+" ERR: "+o.text, nil
	case errors.Is(err, errUnknown):
		f.Message, f.Cause = "unknown op_type: "+strings.ToLower(sent), nil
	case errors.As(err, &pe) && pe.want == "" && pe.param.Name == "old_text":
		f.Message = t.Name + " ERR: missing old_text"
	case errors.As(err, &pe) && pe.want == "":
		f.Message = name + " ERR: missing required arg '" + pe.param.Name + "'"
	case errors.As(err, &pe) && pe.want == "of type string":
		f.Message = name + " ERR: arg '" + pe.param.Name + "' must be str"
	case errors.As(err, &pe):
		f.Message = name + " ERR: arg '" + pe.param.Name + "' must be " + pe.want
	case errors.Is(err, syscall.EBUSY) && t != nil:
		f.Message = name + " ERR: the workspace itself stays; name something in it"
	case system:
		f.Message = name + " ERR: " + text
	default:
		f.Message = name + " ERR: " + err.Error()
	}
	return failed(f)
}

// followed resolves a path with its links before the operation sees it, as the
// original does: replies show where the path leads.
func followed(name string) func(*skill.Executor, *skill.Session, values) error {
	return func(x *skill.Executor, s *skill.Session, in values) error {
		return in.resolve(x, s, name, true)
	}
}

// unfollowed is followed but for a link at the end of the path, which is meant itself.
func unfollowed(name string) func(*skill.Executor, *skill.Session, values) error {
	return func(x *skill.Executor, s *skill.Session, in values) error {
		return in.resolve(x, s, name, false)
	}
}

func sourceAndDest(follow bool) func(*skill.Executor, *skill.Session, values) error {
	return func(x *skill.Executor, s *skill.Session, in values) error {
		if err := in.resolve(x, s, "src", follow); err != nil {
			return err
		}
		return in.resolve(x, s, "dst", true)
	}
}

func (in values) resolve(x *skill.Executor, s *skill.Session, name string, follow bool) error {
	given := strings.TrimSpace(in.str(name))
	if given == "~" || strings.HasPrefix(given, "~/") {
		if home, err := os.UserHomeDir(); err == nil {
			given = filepath.Join(home, given[1:])
		}
	}
	abs, err := x.Real(s, given, follow)
	if errors.Is(err, syscall.ELOOP) {
		if !filepath.IsAbs(given) {
			given = filepath.Join(cmp.Or(s.Dir, x.Dir()), given)
		}
		return pythonWords("Symlink loop from " + pyRepr(given))
	}
	if err != nil {
		return err
	}
	in[name] = abs
	return nil
}

func readFileArgs(in values) (skill.Args, error) {
	a := skill.ReadFile{Path: in.str("path"), To: skill.End}
	if n, ok := pyInt(in["head"]); ok {
		a.Lines, a.To = true, n
		if n < 0 {
			a.From = 0
		}
		return a, nil
	}
	if n, ok := pyInt(in["tail"]); ok {
		a.Lines, a.From = true, -n
	}
	return a, nil
}

// depth reads the number of levels: 3 unless it is a number, and at least 1.
func depth(v any) int {
	text := ""
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case string:
		if _, err := strconv.Atoi(strings.TrimSpace(v)); err == nil {
			text = strings.TrimSpace(v)
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 3
	}
	return int(max(1, min(f, 1000)))
}

// truthy reads dry_run: a bool, a number, or a word that says yes.
func truthy(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case json.Number:
		f, _ := v.Float64()
		return f != 0
	case string:
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "1", "true", "yes", "on", "y", "t":
			return true
		}
	}
	return false
}

// did words a change that succeeded.
func did(t *Tool, in values, r skill.Result) string {
	c := r.(skill.Changed)
	switch {
	case !c.Applied:
		return dryRun(t.Name+" DRY_RUN: "+c.Message(), c)
	case c.From != "":
		return t.Name + " OK: " + in.str("src") + " -> " + in.str("dst")
	}
	return t.Name + " OK: " + in.str("path")
}
