package dialect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
		row(Tool{Name: "read_file", Aliases: []string{"read_text_file"},
			Doc: "Read a file, or its first or last lines."}, fsRead),
		row(Tool{Name: "write_file", Aliases: []string{"write_text_file"}, Effect: Destroys, Idempotent: true,
			Doc: "Write a file, replacing an existing one; missing parent directories are created."},
			func(in *call, a struct {
				Path    string `arg:"path" is:"path,new,required" doc:"relative to working_dir, or absolute inside the workspace"`
				Content string `arg:"content" is:"content,required,empty" doc:"the text"`
			}) (string, error) {
				path, err := in.followed(a.Path)
				return in.fsChange(path, err, skill.WriteFile{Path: path, Content: a.Content, Parents: true})
			}),
		row(Tool{Name: "edit_file", Aliases: []string{"replace_text"}, Effect: Destroys,
			Doc: "Replace the first occurrence of a text in a file."}, fsEdit),
		row(Tool{Name: "append_file", Effect: Adds,
			Doc: "Append to a file; a missing file and its parent directories are created."},
			func(in *call, a struct {
				fsPath
				Content string `arg:"content" is:"content,required,empty" doc:"the text"`
			}) (string, error) {
				path, err := in.followed(a.Path)
				return in.fsChange(path, err, skill.AppendFile{Path: path, Content: a.Content, Parents: true})
			}),
		row(Tool{Name: "list_directory", Aliases: []string{"list_dir"},
			Doc: "List a directory, directories first."},
			func(in *call, a fsPath) (string, error) {
				path, err := in.followed(a.Path)
				if err != nil {
					return "", err
				}
				t, err := do[skill.TreeListed](in, skill.ListTree{Path: path, Depth: 1, Limit: fsMaxEntries})
				switch {
				case errors.Is(err, syscall.ENOTDIR) && !fsMissingFolder(err):
					return "", failf("not a directory: %s", path)
				case err != nil:
					return "", fsNotFound(path, err)
				case len(t.Tree.Entries) == 0:
					return "(empty)", nil
				}
				lines := each(t.Tree.Entries, fsNodeName)
				if t.Cut {
					lines = append(lines, fmt.Sprintf("[more entries; the first %d are shown, a search finds the others]",
						len(t.Tree.Entries)))
				}
				return strings.Join(lines, "\n"), nil
			}),
		row(Tool{Name: "directory_tree", Aliases: []string{"dir_tree"},
			Doc: "Show a directory and its subdirectories as a tree."},
			func(in *call, a struct {
				fsPath
				Depth any `arg:"depth" type:"integer" is:"lenient" doc:"levels, 3 by default"`
			}) (string, error) {
				path, err := in.followed(a.Path)
				if err != nil {
					return "", err
				}
				t, err := do[skill.TreeListed](in, skill.ListTree{Path: path, Depth: fsDepth(a.Depth)})
				if err != nil {
					return "", fsPathError(path, fsNotFound(path, err))
				}
				lines := fsBranch([]string{strings.TrimSuffix(t.Path, "/") + "/"}, "", t.Tree)
				if t.Cut {
					lines = append(lines, "[more entries; ask for a directory in it, or a smaller depth]")
				}
				return strings.Join(lines, "\n"), nil
			}),
		row(Tool{Name: "create_directory", Aliases: []string{"mkdir"}, Effect: Adds, Idempotent: true,
			Doc: "Create a directory and its missing parents."},
			func(in *call, a fsPath) (string, error) {
				path, err := in.followed(a.Path)
				return in.fsChange(path, err, skill.MakeFolder{Path: path})
			}),
		row(Tool{Name: "move_file", Aliases: []string{"mv"}, Doc: "Move or rename a file or directory.",
			Effect: Destroys},
			func(in *call, a fsTwo) (string, error) {
				from, to, err := in.fsBoth(a, false)
				if err != nil {
					return "", err
				}
				text, err := in.fsChange(from+" -> "+to, nil,
					skill.MoveFile{Source: from, Dest: to, Into: true, Parents: true})
				return text, fsMoveError(from, to, err)
			}),
		row(Tool{Name: "copy_file", Aliases: []string{"cp"}, Doc: "Copy a file or directory.",
			Effect: Destroys},
			func(in *call, a fsTwo) (string, error) {
				from, to, err := in.fsBoth(a, true)
				if err != nil {
					return "", err
				}
				text, err := in.fsChange(from+" -> "+to, nil,
					skill.CopyFile{Source: from, Dest: to, Tree: true, Into: true, Parents: true, Times: true})
				return text, fsCopyError(from, to, err)
			}),
		row(Tool{Name: "delete_file", Aliases: []string{"rm"}, Effect: Destroys, Idempotent: true,
			Doc: "Delete a file, or a directory with everything in it."},
			func(in *call, a fsPath) (string, error) {
				path, err := in.pythonPath(a.Path, false)
				if err != nil {
					return "", err
				}
				text, err := in.fsChange(path, nil, skill.DeleteFile{Path: path, Tree: true})
				if isMissing(err) {
					return in.tool.Name + " OK: already not exists: " + path, nil
				}
				return text, err
			}),
		row(Tool{Name: "file_info", Aliases: []string{"get_file_info"},
			Doc: "Show the type, size and modification time of a file or directory."},
			func(in *call, a fsPath) (string, error) {
				path, err := in.followed(a.Path)
				if err != nil {
					return "", err
				}
				d, err := do[skill.Described](in, skill.Stat{Path: path})
				if err != nil {
					return "", fsPathError(path, fsNotFound(path, err))
				}
				t := d.Info.ModTime
				seconds := float64(t.Unix()) + 1e-9*float64(t.Nanosecond())
				return fmt.Sprintf("path: %s\nis_file: %s\nis_dir: %s\nsize: %d\nmtime: %s", d.Path,
					pyBool(d.Info.Mode.IsRegular()), pyBool(d.Info.IsDir()), d.Info.Size, pyFloat(seconds)), nil
			}),
		row(Tool{Name: "search_files", Doc: "Find files and directories by a glob pattern, at any depth. " +
			"The contents of .git are left out, unless the path or the pattern names it."}, fsSearch),
		row(Tool{Name: "file_exists", Doc: "Check whether a file or directory exists."},
			func(in *call, a fsPath) (string, error) {
				path, err := in.followed(a.Path)
				if err != nil {
					return "", err
				}
				d, err := do[skill.Described](in, skill.Stat{Path: path})
				if isMissing(err) || errors.Is(err, syscall.ELOOP) {
					err = nil
				}
				return "exists: " + pyBool(d.Exists), err
			}),
	},
}

// fsMaxEntries is how many entries of a directory are listed.
const fsMaxEntries = 10000

type fsPath struct {
	Path string `arg:"path" is:"path,required" doc:"relative to working_dir, or absolute inside the workspace"`
}

type fsTwo struct {
	Source string `arg:"src,source" is:"path,required" doc:"the current path"`
	Dest   string `arg:"dst,destination" is:"path,required" doc:"the new path; a directory receives the source under its name"`
}

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

// followed resolves a path with all its links before the operation sees it, as the original
// does: replies show where the path leads.
func (in *call) followed(given string) (string, error) { return in.pythonPath(given, true) }

// pythonPath is followed, except for a link at the end of the path if that is meant itself.
func (in *call) pythonPath(given string, follow bool) (string, error) {
	given, err := pyPath(given)
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
	return abs, err
}

// fsBoth resolves the paths of a copy or move. A link at the end of the source is meant itself,
// unless it is followed.
func (in *call) fsBoth(a fsTwo, follow bool) (from, to string, err error) {
	if from, err = in.pythonPath(a.Source, follow); err == nil {
		to, err = in.followed(a.Dest)
	}
	return from, to, err
}

// fsChange carries out a change of what is at a path, unless that was refused.
func (in *call) fsChange(path string, err error, a skill.Args) (string, error) {
	if err != nil {
		return "", err
	}
	c, err := do[skill.Changed](in, a)
	if err == nil && !c.Applied {
		return dryRun(in.tool.Name+" DRY_RUN: "+c.Message(), c), nil
	}
	return in.tool.Name + " OK: " + path, err
}

type fsReadArgs struct {
	fsPath
	Head any `arg:"head" type:"integer" is:"lenient" doc:"only this many lines from the start"`
	Tail any `arg:"tail" type:"integer" is:"lenient" doc:"only this many lines from the end"`
}

// fsRead leaves it to the operation to follow links: what was read does not show where the path
// leads, but errors do.
func fsRead(in *call, a fsReadArgs) (string, error) {
	path, err := pyPath(a.Path)
	if err == nil && slices.Contains(strings.Split(path, "/"), "..") {
		path, err = in.followed(a.Path)
	}
	op := skill.ReadFile{Path: path, To: skill.End}
	head, isHead := pyInt(a.Head)
	tail, isTail := pyInt(a.Tail)
	switch {
	case a.Tail != nil && !isTail:
		return "", failf("arg 'tail' must be int")
	case a.Head != nil && !isHead:
		return "", failf("arg 'head' must be int")
	case err != nil:
		return "", err
	case isHead:
		op.Lines, op.To = true, head
	case isTail:
		op.Lines, op.From = true, -tail
	}
	r, err := do[skill.FileRead](in, op)
	if err == nil {
		return string(r.Content), nil
	}
	path, unresolved := in.followed(a.Path)
	large, isLarge := errors.AsType[*skill.TooLargeError](err)
	switch {
	case unresolved != nil:
		err = unresolved
	case isLarge && large.Size > 0:
		err = failf("%s holds %d bytes, more than the %d of one answer; read its first or last lines "+
			"with head or tail",
			path, large.Size, large.Limit)
	case isLarge:
		err = failf("the lines asked for of %s hold more than the %d bytes of one answer; ask for fewer "+
			"with head or tail",
			path, large.Limit)
	case errors.Is(err, syscall.EISDIR), errors.As(err, new(*skill.NotRegularError)):
		err = failf("not a file: %s", path)
	case isMissing(err):
		err = failf("not found: %s", path)
	}
	return "", err
}

type fsEditArgs struct {
	fsPath
	Old string `arg:"old_text,old" is:"content,required,empty" doc:"the text to replace, exactly as in the file"`
	New string `arg:"new_text,new" is:"content,required,empty" doc:"the new text"`
	Dry any    `arg:"dry_run" type:"boolean" is:"lenient" doc:"show the change without making it"`
}

func fsEdit(in *call, a fsEditArgs) (string, error) {
	path, err := in.followed(a.Path)
	dry, ok := pyTruth(a.Dry)
	switch {
	case !ok:
		return "", failf("arg 'dry_run' must be bool")
	case err != nil:
		return "", err
	case a.Old == "":
		return "", failf("missing old_text")
	}
	c, err := do[skill.Changed](in, skill.EditFile{Path: path, Old: a.Old, New: a.New, DryRun: dry})
	switch {
	case errors.As(err, new(*skill.NoMatchError)):
		return "", failf("old_text not found in %s", path)
	case isMissing(err):
		return "", failf("not found: %s", path)
	case err == nil && !c.Applied:
		return dryRun(in.tool.Name+" DRY_RUN: would replace in "+c.Path, c), nil
	}
	return in.tool.Name + " OK: " + path, err
}

type fsSearchArgs struct {
	fsPath
	Pattern string `arg:"pattern" is:"required,empty" doc:"like *.py or src/**/*.go"`
}

func fsSearch(in *call, a fsSearchArgs) (string, error) {
	path, err := in.followed(a.Path)
	if err = cmp.Or(err, fsPatternError(a.Pattern)); err != nil {
		return "", err
	}
	f, err := do[skill.Found](in, skill.Find{Path: path, Pattern: a.Pattern})
	switch {
	case fsMissingFolder(err):
		return "", failf("not found: %s", path)
	case err != nil && !errors.Is(err, syscall.ENOTDIR): // nothing is below a file
		return "", err
	case len(f.Matches) == 0:
		return "(no matches)", nil
	}
	text := strings.Join(f.Matches, "\n")
	if f.More > 0 {
		text += fmt.Sprintf("\n[%d more; a narrower path or pattern shows them]", f.More)
	}
	return text, nil
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
