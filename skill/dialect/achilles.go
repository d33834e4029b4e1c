package dialect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"textskill/parser"
	"textskill/parser/rawjson"
	"textskill/skill"
)

// Achilles has the nine operations of text commands. Each is answered by one sentence.
var Achilles = &Dialect{
	Name: "achilles",
	Doc:  "text commands: writeFile a.txt content: hi",
	fail: achillesFail,
	Prompt: &Prompt{
		claims: func(d *Dialect, text string) bool {
			command, _, _ := d.unfenced(text)
			return d.Lookup(parser.Text(command).Operation) != nil
		},
		answer: func(ctx context.Context, d *Dialect, x *skill.Executor, s *skill.Session, in Input,
			yield func(Reply) bool) {
			yield(d.text(ctx, x, s, in))
		},
	},
	Tools: []Tool{
		row(Tool{Name: "readFile", Doc: "Check that a file can be read.",
			words: "cat type open show view print head tail less more get getfile read load loadfile display"},
			func(in *call, a achillesPath) (string, error) {
				return in.sentence("Read file at %s successfully.",
					skill.ReadFile{Path: a.Path, AllowPartial: true, MaxBytes: maxAchilles})
			}),
		row(Tool{Name: "writeFile", Effect: Destroys, Idempotent: true,
			Doc:   "Write a file, replacing an existing one; missing parent directories are created.",
			words: "create createfile createnewfile newfile makefile addfile save savefile put putfile write"},
			func(in *call, a achillesText) (string, error) {
				return in.sentence("Wrote file at %s successfully.",
					skill.WriteFile{Path: a.Path, Content: a.Content, Parents: true})
			}),
		row(Tool{Name: "appendFile", Doc: "Append to a file; a missing file is created.", Effect: Adds,
			words: "append add appendtofile addtofile touch touchfile"},
			func(in *call, a achillesText) (string, error) {
				return in.sentence("Appended content at %s successfully.",
					skill.AppendFile{Path: a.Path, Content: a.Content, Lines: in.values["lines"] != nil})
			}),
		row(Tool{Name: "deleteFile", Doc: "Delete a file, not a directory.", Effect: Destroys,
			words: "rm del delete remove unlink erase", onFolder: folderDeletion},
			func(in *call, a achillesPath) (string, error) {
				return in.sentence("Deleted file at %s successfully.", skill.DeleteFile{Path: a.Path})
			}),
		row(Tool{Name: "createDirectory", Doc: "Create a directory and its missing parents.", Effect: Adds,
			Idempotent: true,
			words:      "mkdir md makedir makefolder createfolder newfolder newdirectory addfolder"},
			func(in *call, a achillesPath) (string, error) {
				return in.sentence("Created directory at %s successfully.", skill.MakeFolder{Path: a.Path})
			}),
		row(Tool{Name: "listDirectory", Doc: "List the names in a directory.",
			words: "ls dir list tree listfiles scandir browse"},
			func(in *call, a achillesPath) (string, error) {
				l, err := do[skill.Listed](in, skill.ListFolder{Path: a.Path})
				return fmt.Sprintf("Listed entries at %s successfully: %s.", l.Path,
					rawjson.Encode(entryNames(l))), err
			}),
		row(Tool{Name: "fileExists", Doc: "Check whether a file or directory exists.",
			words: "exists stat isfile isdirectory checkpath fileinfo"},
			func(in *call, a achillesPath) (string, error) {
				d, err := do[skill.Described](in, skill.Stat{Path: a.Path, MissingOK: true})
				return fmt.Sprintf("Checked file existence at %s: %t.", d.Path, d.Exists), err
			}),
		row(Tool{Name: "copyFile", Doc: "Copy a file, replacing an existing one.", Effect: Destroys,
			Idempotent: true, words: "cp copy"},
			func(in *call, a achillesMove) (string, error) {
				return in.sentence("Copied file from %s to %s successfully.",
					skill.CopyFile{Source: a.Path, Dest: a.Destination, SameOK: true})
			}),
		row(Tool{Name: "moveFile", Effect: Destroys,
			Doc:   "Move or rename a file or directory, replacing an existing file.",
			words: "rename renamefile mv move movefolder movedirectory movedir renamefolder renamedirectory"},
			func(in *call, a achillesMove) (string, error) {
				text, err := in.sentence("Moved file from %s to %s successfully.",
					skill.MoveFile{Source: a.Path, Dest: a.Destination})
				return text, renameError(in, err)
			}),
	},
}

type achillesPath struct {
	Path string `arg:"path" is:"path,required" doc:"relative to the workspace, or absolute inside it"`
}

type achillesText struct {
	achillesPath
	Content string `arg:"content" is:"content,required,empty" doc:"the text"`
}

type achillesMove struct {
	achillesPath
	Destination string `arg:"destination" is:"path,required" doc:"the new path"`
}

// renameError says of a move of the workspace itself, or onto it, what the system says.
func renameError(in *call, err error) error {
	both, ok := errors.AsType[*os.LinkError](err)
	switch {
	case !ok || both.Err != syscall.EBUSY || both.Old != in.x.Dir() && both.New != in.x.Dir():
		return err
	case both.Old == in.x.Dir():
		return &os.LinkError{Op: both.Op, Old: both.Old, New: both.New, Err: syscall.EINVAL}
	}
	return &os.LinkError{Op: both.Op, Old: both.Old, New: both.New, Err: syscall.ENOTEMPTY}
}

// sentence carries out an operation, and prints its result by a format with the path, or the source
// and the destination. A dry run says what would have been done, and shows it.
func (in *call) sentence(format string, a skill.Args) (string, error) {
	r, err := do[skill.Result](in, a)
	switch r := r.(type) {
	case skill.FileRead:
		return fmt.Sprintf(format, r.Path), err
	case skill.Changed:
		switch {
		case !r.Applied:
			return dryRun("Dry run: "+r.Message(), r), err
		case r.From != "":
			return fmt.Sprintf(format, r.From, r.Path), err
		}
		return fmt.Sprintf(format, r.Path), err
	}
	return "", err
}

// dryRun puts the diff under the line that says what would be done.
func dryRun(line string, c skill.Changed) string {
	return strings.TrimSuffix(line+"\n"+c.Diff, "\n")
}

// Text carries out one text command for s. ask reads plain words, which are refused if it is nil.
func Text(ctx context.Context, x *skill.Executor, s *skill.Session, prompt string, ask Fallback) Reply {
	return Achilles.text(ctx, x, s, Input{Text: prompt, Fallback: ask})
}

func (d *Dialect) text(ctx context.Context, x *skill.Executor, s *skill.Session, given Input) (r Reply) {
	if given.Text == "" {
		return failureReply(&Failure{Message: "No input provided for file-system operation",
			Hint: "type a command: writeFile a.txt content: hi"})
	}
	prompt, before, notes := d.unfenced(given.Text)
	c := parser.Text(prompt)
	in := d.call(x, s, c.Operation)
	if in.tool == nil || c.Path == "" {
		r = in.understand(ctx, prompt, given.Fallback)
	} else if args, err := in.fill(c); err != nil {
		r = in.fail(err)
		r.Notes = notes
	} else {
		dest := args["destination"]
		if _, explicit := c.Content(); explicit {
			delete(args, "content")
		}
		notes = slices.Concat(notes, in.unread(prompt, c.Payload, dest), in.misplaced(c), unclosed(prompt, c, dest),
			in.surplus(c), Slips(args, prompt), in.commandsInside(prompt, before))
		if given.Strict && len(notes) > 0 {
			r = in.fail(refused(notes))
		} else {
			r = in.run(ctx)
			r.Notes = notes
		}
	}
	r.Tool = cmp.Or(r.Tool, c.Operation)
	return r
}

// maxAchilles bounds the content of one file that --json prints.
const maxAchilles = 64 << 20

// Refused is the reply to a text command that the setting strict refuses because of these notes.
func Refused(operation string, notes []string) Reply {
	r := failureReply(refused(notes))
	r.Tool = operation
	return r
}

// refused is the error of a text that is not carried out because of these notes.
func refused(notes []string) *Failure {
	return &Failure{Message: strings.Join(notes, "; "),
		Hint: "nothing was done, because the setting strict is on"}
}

// unread says what of a prompt was not read as the command: words after the path, or all but the
// first of several lines.
func (in *call) unread(prompt, payload, destination string) []string {
	hint := "--lines reads one command per line"
	if !strings.Contains(strings.TrimSpace(prompt), "\n") {
		hint = "a path with blanks is written in quotes"
	}
	switch {
	case strings.Contains(destination, "\n"):
		return []string{"the destination goes over several lines; " + hint}
	case len(in.tool.Params()) > 1 || payload == "":
		return nil
	}
	return []string{fmt.Sprintf("what follows the path was ignored: %.40q; %s", payload, hint)}
}

// misplaced says that words stand between the path and content:, and so are content.
func (in *call) misplaced(c parser.Command) []string {
	_, explicit := c.Content()
	line, _, _ := strings.Cut(c.Payload, "\n")
	words, _, found := strings.Cut(strings.ToLower(line), " content:")
	if in.tool.param("content") == nil || explicit || !found {
		return nil
	}
	return []string{fmt.Sprintf("%.40q before content: was taken as content; "+
		"a path with blanks is written in quotes", line[:len(words)])}
}

// surplus says which option of a command has no use.
func (in *call) surplus(c parser.Command) []string {
	if _, ok := c.Destination(); c.Options && ok && in.tool.param("content") != nil {
		return []string{"the lines from destination: on are not content: that is a key after options:"}
	}
	return nil
}

// unclosed says that a quote before words was taken for a character of a name, for none ends
// the name.
func unclosed(prompt string, c parser.Command, name string) []string {
	quote := func(name string) bool {
		return name != "" && strings.Contains(`"'`, name[:1]) && !strings.Contains(name[1:], name[:1])
	}
	_, typed, _ := strings.Cut(prompt, c.Operation)
	switch {
	case c.Payload != "" && quote(c.Path) && strings.HasPrefix(strings.TrimSpace(typed), c.Path):
		name = c.Path
	case !quote(name) || !strings.HasSuffix(c.Payload, name):
		return nil
	}
	return []string{fmt.Sprintf("the quote before %s has no partner in the name, and was taken "+
		"as a part of it", name[1:])}
}

// Command carries out an operation with the arguments path, and content or destination. It
// does not parse them; a missing argument is an error.
func (d *Dialect) Command(ctx context.Context, x *skill.Executor, s *skill.Session, operation string,
	args map[string]string) Reply {
	in := d.call(x, s, operation)
	switch {
	case in.tool == nil:
		return in.fail(errUnknown)
	case args["path"] == "":
		return in.fail(errIncomplete)
	}
	if err := in.given(args); err != nil {
		return in.fail(err)
	}
	return in.run(ctx)
}

// understand carries out what the fallback makes of a prompt.
func (in *call) understand(ctx context.Context, prompt string, ask Fallback) Reply {
	if in.sent == "" {
		in.sent = "undefined"
	}
	e, err := Extraction{}, ErrSilent
	hint := in.elsewhere(prompt)
	if ask != nil && hint == "" {
		e, err = ask(ctx, prompt, in.sent)
	}
	var r Reply
	switch {
	case hint != "" && in.tool == nil:
		r = failureReply(&Failure{Message: "Unknown operation: " + in.sent, Hint: hint})
	case hint != "":
		r = in.fail(&Failure{Message: "Invalid input: operation and path are required.", Hint: hint})
	case errors.Is(err, ErrSilent) && in.tool == nil:
		r = failureReply(&Failure{Message: "Unknown operation: " + in.sent, Hint: in.nearest(prompt),
			Cause: err})
	case errors.Is(err, ErrSilent), err == nil && (isBlank(e.Operation) || e.Path == ""):
		r = in.fail(errIncomplete)
	case err != nil:
		r = in.fail(err)
	default:
		args := map[string]string{"path": e.Path, "content": e.Content}
		if e.Destination != "" {
			args["destination"] = e.Destination
		}
		if e.Lines {
			args["lines"] = "true"
		}
		r = in.dialect.Command(ctx, in.x, in.s, e.Operation, args)
	}
	r.Via = e.Via
	return r
}

// errIncomplete is the error of a command without its first two words.
var errIncomplete = errors.New("operation and path are required")

// fill takes the arguments from a command. The row decides what its payload means.
func (in *call) fill(c parser.Command) (args map[string]string, err error) {
	args = map[string]string{"path": c.Path}
	switch {
	case c.Twice() != "":
		return args, fmt.Errorf("%s: %s: is given twice, the second time at the start of a line; "+
			"without options: all lines are text", in.sent, c.Twice())
	case in.tool.param("content") != nil:
		if c.Payload != "" && !c.Options {
			args["content"] = c.Payload
		}
		if text, ok := c.Content(); ok {
			args["content"] = text
		}
	case in.tool.param("destination") != nil:
		if dest, ok := c.Destination(); ok && dest != "" {
			args["destination"] = dest
		}
	}
	return args, in.given(args)
}

// given sets the arguments, and fails if a required one is missing.
func (in *call) given(args map[string]string) error {
	in.values = values{}
	for name, value := range args {
		in.values[name] = value
	}
	for _, p := range in.tool.Params() {
		if _, ok := args[p.Name]; !ok && p.Required {
			return &skill.ArgError{Arg: p.Name, Reason: missing}
		}
	}
	return nil
}

// achillesFail formats an error as the original does.
func achillesFail(in *call, err error) Reply {
	f := &Failure{Cause: err, Code: codeOf(err)}
	var arg *skill.ArgError
	var known *Failure
	message, code, system := libuv(err)
	switch {
	case errors.As(err, &known):
		f = known
	case errors.Is(err, errUnknown):
		f.Message, f.Hint, f.Cause = "Unknown operation: "+in.sent, in.nearest(in.sent), nil
	case errors.Is(err, errIncomplete):
		f.Message, f.Hint, f.Cause = "Invalid input: operation and path are required.", in.tool.Usage(), nil
	case errors.As(err, &arg) && arg.Reason == missing && arg.Arg != "path":
		name := strings.ToUpper(arg.Arg[:1]) + arg.Arg[1:]
		f.Message, f.Hint, f.Cause = name+" required for "+in.sent, in.tool.Usage(), nil
	case arg != nil && (arg.Reason == missing || strings.HasPrefix(arg.Reason, mustBe)):
		f.Message, f.Hint = in.sent+": "+err.Error(), in.tool.Usage()
	case system:
		f.Message, f.Code = message, code
		if path := textOf(in.values["path"]); code == "EISDIR" && filepath.Join(in.x.Dir(), path) != in.x.Dir() &&
			filepath.Clean(path) != in.x.Dir() {
			f.Hint = hintBeyond(in.x, in.tool.onFolder, path, textOf(in.values["destination"]))
		}
	default:
		if arg != nil {
			arg.Tool = in.sent
		}
		f.Message = err.Error()
	}
	if errors.As(err, new(*skill.NotRegularError)) {
		f.Message = in.sent + ": " + err.Error()
	}
	return failureReply(f)
}
