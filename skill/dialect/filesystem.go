package dialect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"textskill/parser"
	"textskill/parser/wire"
	"textskill/skill"
	"textskill/skill/internal/words"
)

// Filesystem has tools for messages with tool calls. Each call is answered by a text.
var Filesystem = &Dialect{
	Name:         "filesystem",
	Doc:          `OpenAI tool_calls: {"tool_calls":[…]}`,
	strict:       true,
	noSurrogates: true,
	foldName:     func(name string) string { return strings.ToLower(words.Strip(name)) },
	fail:         filesystemFail,
	Prompt: &Prompt{
		claims: func(_ *Dialect, text string) bool { return parser.IsEnvelope(text) || wire.Of(text) != nil },
		answer: func(ctx context.Context, d *Dialect, x *skill.Executor, s *skill.Session, in Input,
			yield func(Reply) bool) {
			yield(d.message(ctx, x, s, wire.OpenAI, in))
		},
	},
	Tools: []Tool{
		{
			Name: "read_file", Aliases: []string{"read_text_file"},
			Doc: "Read a file, or its first or last lines.",
			Params: []Param{fsPath,
				{Name: "head", Type: "integer", Lenient: true, Doc: "only this many lines from the start"},
				{Name: "tail", Type: "integer", Lenient: true, Doc: "only this many lines from the end"}},
			operation: fsReadOperation, reword: fsReadError,
			reply: typed(func(_ *call, r skill.FileRead) string { return string(r.Content) }),
		},
		{
			Name: "write_file", Aliases: []string{"write_text_file"},
			Doc:    "Write a file, replacing an existing one; missing parent directories are created.",
			Params: []Param{newFile(fsPath), contentParam}, Effect: Destroys, Idempotent: true,
			operation: func(in *call) (skill.Args, error) {
				path, err := in.followed("path")
				return skill.WriteFile{Path: path, Content: in.str("content"), Parents: true}, err
			},
			reply: typed(fsChangeReply),
		},
		{
			Name: "edit_file", Aliases: []string{"replace_text"},
			Doc: "Replace the first occurrence of a text in a file.",
			Params: []Param{fsPath,
				{Name: "old_text", Aliases: []string{"old"}, Type: "string", Content: true, Required: true,
					Empty: true, Doc: "the text to replace, exactly as in the file"},
				{Name: "new_text", Aliases: []string{"new"}, Type: "string", Content: true, Required: true,
					Empty: true, Doc: "the new text"},
				{Name: "dry_run", Type: "boolean", Lenient: true, Doc: "show the change without making it"}},
			Effect: Destroys, operation: fsEditOperation, reword: fsEditError, reply: typed(fsEditReply),
		},
		{
			Name: "append_file", Doc: "Append to a file; a missing file and its parent directories are created.",
			Params: []Param{fsPath, contentParam}, Effect: Adds,
			operation: func(in *call) (skill.Args, error) {
				path, err := in.followed("path")
				return skill.AppendFile{Path: path, Content: in.str("content"), Parents: true}, err
			},
			reply: typed(fsChangeReply),
		},
		{
			Name: "list_directory", Aliases: []string{"list_dir"},
			Doc:    "List a directory, directories first.",
			Params: []Param{fsPath}, reword: fsListError,
			operation: func(in *call) (skill.Args, error) {
				path, err := in.followed("path")
				return skill.ListTree{Path: path, Depth: 1, Limit: fsMaxEntries}, err
			},
			reply: typed(fsListReply),
		},
		{
			Name: "directory_tree", Aliases: []string{"dir_tree"},
			Doc: "Show a directory and its subdirectories as a tree.",
			Params: []Param{fsPath, {Name: "depth", Type: "integer", Lenient: true,
				Doc: "levels, 3 by default"}},
			reword: fsNotFoundError,
			operation: func(in *call) (skill.Args, error) {
				path, err := in.followed("path")
				return skill.ListTree{Path: path, Depth: fsDepth(in.values["depth"])}, err
			},
			reply: typed(fsTreeReply),
		},
		{
			Name: "create_directory", Aliases: []string{"mkdir"},
			Doc:    "Create a directory and its missing parents.",
			Params: []Param{fsPath}, Effect: Adds, Idempotent: true,
			operation: func(in *call) (skill.Args, error) {
				path, err := in.followed("path")
				return skill.MakeFolder{Path: path}, err
			},
			reply: typed(fsChangeReply),
		},
		{
			Name: "move_file", Aliases: []string{"mv"}, Doc: "Move or rename a file or directory.",
			Params: []Param{fsSource, fsDest}, Effect: Destroys, reword: fsMoveError,
			operation: func(in *call) (skill.Args, error) {
				from, err := in.unfollowed("src")
				if err != nil {
					return nil, err
				}
				to, err := in.followed("dst")
				return skill.MoveFile{Source: from, Dest: to, Into: true, Parents: true}, err
			},
			reply: typed(fsChangeReply),
		},
		{
			Name: "copy_file", Aliases: []string{"cp"}, Doc: "Copy a file or directory.",
			Params: []Param{fsSource, fsDest}, Effect: Destroys, reword: fsCopyError,
			operation: func(in *call) (skill.Args, error) {
				from, err := in.followed("src")
				if err != nil {
					return nil, err
				}
				to, err := in.followed("dst")
				return skill.CopyFile{Source: from, Dest: to, Tree: true, Into: true, Parents: true,
					Times: true}, err
			},
			reply: typed(fsChangeReply),
		},
		{
			Name: "delete_file", Aliases: []string{"rm"},
			Doc:    "Delete a file, or a directory with everything in it.",
			Params: []Param{fsPath}, Effect: Destroys, Idempotent: true,
			operation: func(in *call) (skill.Args, error) {
				path, err := in.unfollowed("path")
				return skill.DeleteFile{Path: path, Tree: true}, err
			},
			tolerate: func(in *call, err error) (string, bool) {
				return in.tool.Name + " OK: already not exists: " + in.at("path"), isMissing(err)
			},
			reply: typed(fsChangeReply),
		},
		{
			Name: "file_info", Aliases: []string{"get_file_info"},
			Doc:    "Show the type, size and modification time of a file or directory.",
			Params: []Param{fsPath}, operation: fsStatOperation, reword: fsNotFoundError,
			reply: typed(fsInfoReply),
		},
		{
			Name: "search_files", Doc: "Find files and directories by a glob pattern, at any depth. The contents of .git are left out, unless the path or the pattern names it.",
			Params: []Param{fsPath, {Name: "pattern", Type: "string", Required: true, Empty: true,
				Doc: "like *.py or src/**/*.go"}},
			operation: func(in *call) (skill.Args, error) {
				path, err := in.followed("path")
				return skill.Find{Path: path, Pattern: in.str("pattern")},
					cmp.Or(err, fsPatternError(in.str("pattern")))
			},
			tolerate: func(_ *call, err error) (string, bool) { // nothing is below a file
				return fsNoMatches, errors.Is(err, syscall.ENOTDIR) && !fsMissingFolder(err)
			},
			reword: fsSearchError, reply: typed(fsSearchReply),
		},
		{
			Name: "file_exists", Doc: "Check whether a file or directory exists.", Params: []Param{fsPath},
			operation: fsStatOperation,
			tolerate: func(_ *call, err error) (string, bool) {
				return "exists: " + pyBool(false), isMissing(err) || errors.Is(err, syscall.ELOOP)
			},
			reply: typed(func(_ *call, r skill.Described) string { return "exists: " + pyBool(r.Exists) }),
		},
	},
}

// fsMaxEntries is how many entries of a directory are listed.
const fsMaxEntries = 10000

var (
	fsPath = Param{Name: "path", Type: "string", Path: true, Required: true,
		Doc: "relative to working_dir, or absolute inside the workspace"}
	fsSource = Param{Name: "src", Aliases: []string{"source"}, Type: "string", Path: true, Required: true,
		Doc: "the current path"}
	fsDest = Param{Name: "dst", Aliases: []string{"destination"}, Type: "string", Path: true, Required: true,
		Doc: "the new path; a directory receives the source under its name"}
)

// filesystemFail formats an error as Python's runtime does.
func filesystemFail(in *call, err error) Reply {
	f := &Failure{Cause: err, Code: codeOf(err)}
	name := cmp.Or(words.Strip(in.sent), "tool_call")
	var arg *skill.ArgError
	var own *Failure
	text, system := python(err)
	switch {
	case errors.As(err, &own):
		f.Message, f.Cause = in.tool.Name+" ERR: "+own.Message, nil
	case errors.Is(err, errUnknown):
		f.Message, f.Cause = "unknown op_type: "+strings.ToLower(name), nil
	case errors.As(err, &arg) && arg.Reason == missing && arg.Arg == "old_text":
		f.Message = in.tool.Name + " ERR: missing old_text"
	case fsArgument(arg) != "":
		f.Message = name + " ERR: " + fsArgument(arg)
	case mountPoint(in, err) != "":
		f.Message = name + " ERR: " + mountPoint(in, err)
	case errors.Is(err, syscall.EBUSY) && in.tool != nil:
		f.Message = name + " ERR: the workspace itself stays; name something in it"
	case system:
		f.Message = name + " ERR: " + text
	default:
		f.Message = name + " ERR: " + err.Error()
	}
	return failureReply(f)
}

// fsArgument says what is wrong with an argument; "" if that is neither missing nor of another type.
func fsArgument(arg *skill.ArgError) string {
	switch {
	case arg == nil:
		return ""
	case arg.Reason == missing || arg.Reason == mustBe+notEmpty:
		return "missing required arg '" + arg.Arg + "'"
	case arg.Reason == mustBe+"of type string":
		return "arg '" + arg.Arg + "' must be str"
	case strings.HasPrefix(arg.Reason, mustBe):
		return "arg '" + arg.Arg + "' " + arg.Reason
	}
	return ""
}

// followed resolves the path in an argument with all its links before the operation
// sees it, as the original does: replies show where the path leads.
func (in *call) followed(param string) (string, error) { return in.pythonPath(param, true) }

// unfollowed is followed except for a link at the end of the path, which is meant itself.
func (in *call) unfollowed(param string) (string, error) { return in.pythonPath(param, false) }

func (in *call) pythonPath(param string, follow bool) (string, error) {
	given, err := pyPath(in.str(param))
	if err != nil {
		return "", err
	}
	abs, err := in.x.Real(in.s, given, follow)
	if errors.Is(err, syscall.ELOOP) {
		if !filepath.IsAbs(given) {
			given = filepath.Join(cmp.Or(in.s.Dir, in.x.Dir()), given)
		}
		return "", errors.New("Symlink loop from " + pyRepr(given))
	}
	if err != nil {
		return "", err
	}
	in.resolve(param, abs)
	return abs, nil
}

func fsStatOperation(in *call) (skill.Args, error) {
	path, err := in.followed("path")
	return skill.Stat{Path: path}, err
}

// fsReadOperation leaves it to the operation to follow links: what was read does not show
// where the path leads, but errors do, see fsReadError.
func fsReadOperation(in *call) (_ skill.Args, err error) {
	path, err := pyPath(in.str("path"))
	if err == nil && slices.Contains(strings.Split(path, "/"), "..") {
		path, err = in.followed("path")
	}
	a := skill.ReadFile{Path: path, To: skill.End}
	for _, name := range []string{"tail", "head"} { // head comes first
		v, given := in.values[name]
		n, ok := pyInt(v)
		switch {
		case given && !ok:
			return nil, failf("arg '%s' must be int", name)
		case given && name == "head":
			a.Lines, a.From, a.To = true, 0, n
		case given:
			a.Lines, a.From = true, -n
		}
	}
	return a, err
}

func fsEditOperation(in *call) (skill.Args, error) {
	path, err := in.followed("path")
	if err == nil && in.str("old_text") == "" {
		err = failf("missing old_text")
	}
	dry, ok := pyTruth(in.values["dry_run"])
	if !ok {
		err = failf("arg 'dry_run' must be bool")
	}
	return skill.EditFile{Path: path, Old: in.str("old_text"), New: in.str("new_text"), DryRun: dry}, err
}

// fsDepth reads the number of levels: 3 unless it is a number, and at least 1.
func fsDepth(v any) int {
	text := ""
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case string:
		if _, err := strconv.Atoi(words.Strip(v)); err == nil {
			text = words.Strip(v)
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 3
	}
	return int(max(1, min(f, 1000)))
}

// pyTruth reads a bool, a number, or a word that says yes or no; nothing is no.
func pyTruth(v any) (yes, ok bool) {
	switch v := v.(type) {
	case nil:
		return false, true
	case bool:
		return v, true
	case json.Number:
		f, _ := v.Float64()
		return f != 0, true
	case string:
		switch strings.ToLower(words.Strip(v)) {
		case "1", "true", "yes", "on", "y", "t":
			return true, true
		case "0", "false", "no", "off", "n", "f", "":
			return false, true
		}
	}
	return false, false
}
