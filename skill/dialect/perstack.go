package dialect

import (
	"encoding/json"

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
		{
			Name:      "attemptCompletion",
			Doc:       "Say that the work is done. Returns {}, or the todos that remain: do them, then call again.",
			operation: fixedOperation(skill.Complete{}), reply: typed(attemptCompletionReply),
		},
		{
			Name: "todo", Doc: "Add to the todo list and mark entries as completed. Returns the whole list, also without arguments.",
			Params: []Param{
				{Name: "newTodos", Type: "array", Of: "string", Doc: "titles to add"},
				{Name: "completedTodos", Type: "array", Of: "number", Doc: "ids to mark"}},
			Effect: Adds, operation: todoOperation, reply: typed(todoReply),
		},
		{
			Name: "clearTodo", Doc: "Empty the todo list.",
			Effect: Destroys, Idempotent: true, operation: fixedOperation(skill.ClearTodos{}),
			reply: typed(todoReply),
		},
		{
			Name: "healthCheck", Doc: "Show the workspace, uptime, memory and process ID of this server.",
			operation: fixedOperation(skill.Health{}), reply: typed(healthCheckReply),
		},
		{
			Name: "exec", Open: true,
			Doc: "Run a program without a shell and return its output. Nothing it starts outlives the call.",
			Params: []Param{
				{Name: "command", Type: "string", Required: true, Empty: true,
					Doc: "a program, not a command line"},
				{Name: "args", Type: "array", Of: "string", Required: true,
					Doc: "its arguments; no shell reads them"},
				{Name: "env", Type: "object", Of: "string", Content: true, Required: true,
					Doc: "added to the environment of this server"},
				anyPath("cwd", "the directory to run in"),
				{Name: "stdout", Type: "boolean", Required: true, Doc: "return it"},
				{Name: "stderr", Type: "boolean", Required: true, Doc: "return it"},
				{Name: "timeout", Type: "number", Doc: "milliseconds, 60000 by default; 0 for none"}},
			Effect: Destroys, operation: execOperation, failure: typed(execFailure), reword: execStartError,
			reply: typed(execReply),
		},
		{
			Name: "readTextFile", Doc: "Read a text file, or its lines from (counted from 0) up to but not including to.",
			Params: []Param{basePath,
				{Name: "from", Type: "number", Doc: "first line; below 0 it counts from the end"},
				{Name: "to", Type: "number", Doc: "line to stop before"}},
			operation: readTextFileOperation, reply: typed(readTextFileReply),
		},
		{
			Name: "readImageFile", Doc: "Show a PNG, JPEG, GIF or WebP image of at most 15 MB. Its content decides the type, not its name.",
			Params:    []Param{basePath},
			operation: mediaOperation, failure: typed(image.failure), reword: image.reword,
			reply: typed(mediaReply),
		},
		{
			Name: "readPdfFile", Doc: "Show a PDF file of at most 30 MB.",
			Params:    []Param{basePath},
			operation: mediaOperation, failure: typed(pdf.failure), reword: pdf.reword,
			reply: typed(mediaReply),
		},
		{
			Name: "writeTextFile", Doc: "Write a text file, replacing an existing one; missing parent directories are created. For longer texts, appendTextFile the rest.",
			Params: []Param{newFile(basePath), limited("text", 0, 10000, "the whole content")},
			Effect: Destroys, Idempotent: true,
			operation: func(in *call) (skill.Args, error) {
				path, err := in.creatable(mustHaveNoNUL, mustNotLinkNowhere,
					mustBeWritable("File %s is not writable"))
				return skill.WriteFile{Path: path, Content: whole(in.str("text")), Parents: true}, err
			},
			reply: echoReply("path", "text"),
		},
		{
			Name: "appendTextFile", Doc: "Append to a text file that exists. No newline is added.",
			Params: []Param{basePath, limited("text", 0, 2000, "what to append")},
			Effect: Adds,
			operation: func(in *call) (skill.Args, error) {
				path, err := in.existing(mustNotLinkOutside, mustExist("File %s does not exist."),
					mustBeWritable("File %s is not writable"))
				return skill.AppendFile{Path: path, Content: whole(in.str("text")), Exists: true}, err
			},
			reply: echoReply("path", "text"),
		},
		{
			Name: "editTextFile", Doc: "Replace the first occurrence of a text in a file. It must match exactly, except for line ends, which the file keeps.",
			Params: []Param{basePath,
				limited("newText", 0, 2000, "the new text"),
				limited("oldText", 1, 2000, "the text to replace")},
			Effect: Destroys,
			operation: func(in *call) (skill.Args, error) {
				path, err := in.existing(mustNotLinkOutside, mustExist("File %s does not exist."), mustBeWritable("File %s is not writable"))
				return skill.EditFile{Path: path, Old: unixLines(in.str("oldText")),
					New: whole(unixLines(in.str("newText")))}, err
			},
			reword: editTextFileError, reply: echoReply("path", "newText", "oldText"),
		},
		{
			Name: "moveFile", Doc: "Move or rename a file, a directory, or a link itself; missing parents of the destination are created. The destination must not exist.",
			Params: []Param{
				anyPath("source", "what to move"),
				anyPath("destination", "its new path")},
			Effect: Destroys, operation: moveFileOperation, reword: moveFileError,
			reply: echoReply("source", "destination"),
		},
		{
			Name: "deleteFile", Doc: "Delete a file, or a link itself; not a directory.",
			Params: []Param{basePath},
			Effect: Destroys,
			operation: func(in *call) (skill.Args, error) {
				path, err := in.itself(mustExist("File %s does not exist."),
					mustNotBeFolder("Path %s is a directory. Use delete directory tool instead."),
					mustBeWritable("File %s is not writable"))
				return skill.DeleteFile{Path: path}, err
			},
			reply: echoReply("path"),
		},
		{
			Name: "getFileInfo", Doc: "Describe a file or directory: type, MIME type, size, times, permissions.",
			Params: []Param{basePath},
			operation: func(in *call) (skill.Args, error) {
				path, err := in.existing(mustBeInside, mustExist("File or directory %s does not exist"))
				return skill.Stat{Path: path, Birth: true}, err
			},
			reply: typed(getFileInfoReply),
		},
		{
			Name: "listDirectory", Doc: "List the entries of a directory: name, type, size and time.",
			Params:    []Param{basePath},
			operation: listDirectoryOperation, reply: typed(listDirectoryReply),
		},
		{
			Name: "createDirectory", Doc: "Create a directory and its missing parents. It must not exist.",
			Params: []Param{basePath},
			Effect: Adds,
			operation: func(in *call) (skill.Args, error) {
				path, err := in.creatable(mustHaveNoNUL, mustNotExist("Directory %s already exists"),
					parentMustBeWritable)
				return skill.MakeFolder{Path: path}, err
			},
			reply: echoReply("path"),
		},
		{
			Name: "deleteDirectory", Doc: "Delete a directory that is empty, or with recursive any other. The workspace itself stays.",
			Params: []Param{basePath,
				{Name: "recursive", Type: "boolean", Doc: "delete everything in it too"}},
			Effect: Destroys, operation: deleteDirectoryOperation, reword: deleteDirectoryError,
			reply: echoReply("path"),
		},
	},
}

// basePath may be empty: then it is the workspace.
var basePath = anyPath("path", "inside the workspace")

func anyPath(name, doc string) Param {
	return Param{Name: name, Type: "string", Path: true, Required: true, Empty: true, Doc: doc}
}

// limited is a text of least to most UTF-16 units.
func limited(name string, least, most int, doc string) Param {
	return Param{Name: name, Type: "string", Content: true, Required: true, Empty: true, Min: least,
		Max: most, Doc: doc}
}

// perstackArguments reads arguments as the original's schema validator does. A refusal begins with
// the words of the protocol.
func perstackArguments(t *Tool, raw json.RawMessage) (values, error) {
	in, err := reading{exact: true}.arguments(t, raw)
	if err != nil {
		text := "MCP error -32602: Input validation error: Invalid arguments for tool " + t.Name + ": " +
			err.Error()
		return nil, &Failure{Message: text, body: text}
	}
	return in, nil
}
