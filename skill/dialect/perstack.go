package dialect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"

	"textskill/skill"
)

// Perstack has the tools of Perstack's Base Skill. Each call is answered by a JSON object.
// Texts have the length limits of Perstack's manual; see [Dialect.Limit].
var Perstack = &Dialect{
	Name:   "perstack",
	Doc:    "the Base Skill's tools, for MCP",
	decode: perstackArguments,
	fail:   perstackFail,
	Tools: []Tool{
		row(Tool{Name: "attemptCompletion",
			Doc: "Say that the work is done. Returns {}, or the todos that remain: do them, then call again."},
			func(in *call, _ struct{}) (string, error) {
				r, err := do[skill.Completed](in, skill.Complete{})
				if len(r.Remaining) > 0 {
					return string(object("remainingTodos", todoItems(r.Remaining))), err
				}
				return "{}", err
			}),
		row(Tool{Name: "todo", Effect: Adds, Doc: "Add to the todo list and mark entries as completed. " +
			"Returns the whole list, also without arguments."},
			func(in *call, a struct {
				New  []string `arg:"newTodos" doc:"titles to add"`
				Done []any    `arg:"completedTodos" of:"number" doc:"ids to mark"`
			}) (string, error) {
				op := skill.Todo{Add: a.New}
				for _, id := range a.Done {
					if n, ok := pyInt(id); ok { // no entry has another
						op.Done = append(op.Done, n)
					}
				}
				return in.todos(op)
			}),
		row(Tool{Name: "clearTodo", Doc: "Empty the todo list.", Effect: Destroys, Idempotent: true},
			func(in *call, _ struct{}) (string, error) { return in.todos(skill.ClearTodos{}) }),
		row(Tool{Name: "healthCheck", Doc: "Show the workspace, uptime, memory and process ID of this server."},
			func(in *call, _ struct{}) (string, error) {
				h, err := do[skill.HealthReport](in, skill.Health{})
				mb := func(n uint64) string { return strconv.Itoa(int((n+1<<19)>>20)) + "MB" }
				return string(object("status", "ok", "workspace", h.Workspace, "uptime",
					strconv.Itoa(int(h.Uptime.Seconds()))+"s",
					"memory", object("heapUsed", mb(h.HeapUsed), "heapTotal", mb(h.HeapTotal)), "pid", h.PID)), err
			}),
		row(Tool{Name: "exec", Open: true, Effect: Destroys, Doc: "Run a program without a shell and return " +
			"its output. Nothing it starts outlives the call."}, perstackExec),
		row(Tool{Name: "readTextFile", Doc: "Read a text file, or its lines from (counted from 0) " +
			"up to but not including to."}, readTextFile),
		row(Tool{Name: "readImageFile", Doc: "Show a PNG, JPEG, GIF or WebP image of at most 15 MB. " +
			"Its content decides the type, not its name."}, image.show),
		row(Tool{Name: "readPdfFile", Doc: "Show a PDF file of at most 30 MB."}, pdf.show),
		row(Tool{Name: "writeTextFile", Effect: Destroys, Idempotent: true,
			Doc: "Write a text file, replacing an existing one; missing parent directories are created. " +
				"For longer texts, appendTextFile the rest."},
			func(in *call, a struct {
				Path string `arg:"path" is:"path,new,required,empty" doc:"inside the workspace"`
				Text string `arg:"text" is:"content,required,empty" len:"0-10000" doc:"the whole content"`
			}) (string, error) {
				at, err := in.look(a.Path, true, mustHaveNoNUL, mustNotLinkNowhere,
					mustBeWritable("File %s is not writable"))
				return in.echo(err, skill.WriteFile{Path: at.path, Content: whole(a.Text), Parents: true},
					"path", at.path, "text", a.Text)
			}),
		row(Tool{Name: "appendTextFile", Effect: Adds,
			Doc: "Append to a text file that exists. No newline is added."},
			func(in *call, a struct {
				basePath
				Text string `arg:"text" is:"content,required,empty" len:"0-2000" doc:"what to append"`
			}) (string, error) {
				at, err := in.look(a.Path, false, mustNotLinkOutside, mustExist("File %s does not exist."),
					mustBeWritable("File %s is not writable"))
				return in.echo(err, skill.AppendFile{Path: at.path, Content: whole(a.Text), Exists: true},
					"path", at.path, "text", a.Text)
			}),
		row(Tool{Name: "editTextFile", Effect: Destroys, Doc: "Replace the first occurrence of a text in " +
			"a file. It must match exactly, except for line ends, which the file keeps."}, editTextFile),
		row(Tool{Name: "moveFile", Effect: Destroys, Doc: "Move or rename a file, a directory, or a link " +
			"itself; missing parents of the destination are created. The destination must not exist."},
			perstackMove),
		row(Tool{Name: "deleteFile", Doc: "Delete a file, or a link itself; not a directory.",
			Effect: Destroys},
			func(in *call, a basePath) (string, error) {
				at, err := in.look(a.Path, false)
				switch {
				case err != nil:
				case at.link:
					in.useLink(at)
				default:
					err = in.pass(at, mustExist("File %s does not exist."),
						mustNotBeFolder("Path %s is a directory. Use delete directory tool instead."),
						mustBeWritable("File %s is not writable"))
				}
				return in.echo(err, skill.DeleteFile{Path: at.path}, "path", at.path)
			}),
		row(Tool{Name: "getFileInfo",
			Doc: "Describe a file or directory: type, MIME type, size, times, permissions."}, getFileInfo),
		row(Tool{Name: "listDirectory", Doc: "List the entries of a directory: name, type, size and time."},
			perstackList),
		row(Tool{Name: "createDirectory", Effect: Adds,
			Doc: "Create a directory and its missing parents. It must not exist."},
			func(in *call, a basePath) (string, error) {
				at, err := in.look(a.Path, true, mustHaveNoNUL, mustNotExist("Directory %s already exists"),
					parentMustBeWritable)
				return in.echo(err, skill.MakeFolder{Path: at.path}, "path", at.path)
			}),
		row(Tool{Name: "deleteDirectory", Effect: Destroys, Doc: "Delete a directory that is empty, or with " +
			"recursive any other. The workspace itself stays."}, deleteDirectory),
	},
}

// basePath may be empty: then it is the workspace.
type basePath struct {
	Path string `arg:"path" is:"path,required,empty" doc:"inside the workspace"`
}

// perstackArguments reads arguments as the original's schema validator does. A refusal begins with
// the words of the protocol.
func perstackArguments(t *Tool, raw json.RawMessage) (values, error) {
	given, err := members(raw, false, true)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if p := t.param(key); p != nil && given[key] == nil && err == nil {
			err = &skill.ArgError{Arg: key, Reason: mustBe + "of type " + p.Type}
		}
	}
	var in values
	if err == nil {
		in, err = t.check(given)
	}
	if err != nil {
		text := "MCP error -32602: Input validation error: Invalid arguments for tool " + t.Name + ": " +
			err.Error()
		return nil, &Failure{Message: text, body: text}
	}
	return in, nil
}

// perstackFail formats an error as the original does: JSON with a name and a
// message, or the protocol's message if no tool was reached.
func perstackFail(in *call, err error) Reply {
	if errors.Is(err, errUnknown) {
		return failureReply(&Failure{Message: "MCP error -32602: Tool " + in.sent + " not found"})
	}
	if own, ok := errors.AsType[*Failure](err); ok && own.body != "" {
		return failureReply(&Failure{Message: own.body})
	}
	f := &Failure{Message: string(object("error", "Error", "message", perstackMessage(err))),
		Code: codeOf(err), Cause: err}
	return failureReply(f)
}

func perstackMessage(err error) string {
	refused, ok := errors.AsType[*skill.RefusedError](err)
	switch {
	case ok && refused.Workspace != "":
		return fmt.Sprintf(notAllowed, refused.Path, refused.Workspace)
	case ok && refused.Path != "":
		return "Access denied - " + refused.Path + ": " + refused.Reason
	}
	var pe *fs.PathError
	if special, ok := errors.AsType[*skill.NotRegularError](err); ok && errors.As(err, &pe) {
		return fmt.Sprintf("File %s is a %s. Only regular files are read and written.", pe.Path, special.Kind)
	}
	if large, ok := errors.AsType[*skill.TooLargeError](err); ok {
		return fmt.Sprintf("File %s is too large to be read at once: %d bytes, and at most %d fit. "+
			"Read some of its lines with from and to.", large.Path, large.Size, large.Limit)
	}
	if message, _, ok := libuv(err); ok {
		return message
	}
	switch {
	case errors.Is(err, context.Canceled):
		return "The call was cancelled."
	case errors.Is(err, context.DeadlineExceeded):
		return "The call took too long."
	}
	return err.Error()
}
