package dialect

import (
	"slices"

	"textskill/skill"
)

// Perstack is the dialect of the Base Skill: seventeen tools, each answered by one
// JSON object. Of the length of texts the manual's limits hold; see [Dialect.Limit].
var Perstack = &Dialect{
	Name: "perstack",
	Doc:  "the Base Skill's tools, for skill mcp",
	read: zodRead,
	fail: perstackFail,
	Tools: []Tool{
		{
			Name: "attemptCompletion", Doc: "Say that the work is done. Answers {} if so, else the todos that remain: do them, then call again.",
			args: fixedArgs(skill.Complete{}), reply: remaining,
		},
		{
			Name: "todo", Doc: "Add to the todo list and mark entries as completed; answers the whole list. Without arguments it only answers.",
			Params: []Param{
				{Name: "newTodos", Type: "array", Of: "string", Doc: "titles to add"},
				{Name: "completedTodos", Type: "array", Of: "number", Doc: "ids to mark"}},
			Effect: Adds, args: todoArgs, reply: todoList,
		},
		{
			Name: "clearTodo", Doc: "Empty the todo list.",
			Effect: Destroys, Repeats: true, args: fixedArgs(skill.ClearTodos{}), reply: todoList,
		},
		{
			Name: "healthCheck", Doc: "Tell that this server answers: its workspace, uptime, memory and process id.",
			args: fixedArgs(skill.Health{}), reply: health,
		},
		{
			Name: "exec", Open: true, Doc: "Run a program, without a shell, and answer what it printed. Nothing it starts outlives the call.",
			Params: []Param{
				{Name: "command", Type: "string", Required: true, Doc: "a program, not a command line"},
				{Name: "args", Type: "array", Of: "string", Required: true, Doc: "as they are: no shell reads them"},
				{Name: "env", Type: "object", Of: "string", Required: true, Doc: "added to this server's own"},
				{Name: "cwd", Type: "string", Path: true, Required: true, Doc: "the directory to run in"},
				{Name: "stdout", Type: "boolean", Required: true, Doc: "answer what goes there"},
				{Name: "stderr", Type: "boolean", Required: true, Doc: "answer what goes there"},
				{Name: "timeout", Type: "number", Doc: "milliseconds, 60000 unless given; 0 for none"}},
			Effect: Destroys, real: execReady, args: execArgs, judge: execFailed, fails: notStarted, reply: execOutput,
		},
		{
			Name: "readTextFile", Doc: "Read a text file, or its lines from (counted from 0) up to but not including to.",
			Params: []Param{basePath,
				{Name: "from", Type: "number", Doc: "first line; below 0 it counts from the end"},
				{Name: "to", Type: "number", Doc: "line to stop before"}},
			real: seen(noLinkOut, there("File %s does not exist.")), args: readTextArgs, reply: readText,
		},
		{
			Name: "readImageFile", Doc: "Show a PNG, JPEG, GIF or WebP image of at most 15 MB. Its content tells what it is, not its name.",
			Params: []Param{basePath}, real: seen(inside, there("File %s does not exist.")),
			args: media(images, maxImage), fails: notImage, reply: mediaFound,
		},
		{
			Name: "readPdfFile", Doc: "Show a PDF file of at most 30 MB.",
			Params: []Param{basePath}, real: seen(inside, there("File %s does not exist.")),
			args: media(pdfs, maxPDF), fails: notPDF, reply: mediaFound,
		},
		{
			Name: "writeTextFile", Doc: "Write a text file, replacing what was there; directories above it are created. For longer texts, appendTextFile the rest.",
			Params: []Param{basePath, {Name: "text", Type: "string", Required: true, Max: 10000, Doc: "the whole content"}},
			Effect: Destroys, Repeats: true, real: seenNew(noNUL, noLink, mayWrite("File %s is not writable")),
			args: func(in values) (skill.Args, error) {
				return skill.WriteFile{Path: at(in).path, Content: whole(in.str("text")), Parents: true}, nil
			},
			reply: answer("path", "text"),
		},
		{
			Name: "appendTextFile", Doc: "Append to a text file that exists. No newline is added.",
			Params: []Param{basePath, {Name: "text", Type: "string", Required: true, Max: 2000, Doc: "what to append"}},
			Effect: Adds, real: seen(noLinkOut, there("File %s does not exist."), mayWrite("File %s is not writable")),
			args: func(in values) (skill.Args, error) {
				return skill.AppendFile{Path: at(in).path, Content: whole(in.str("text")), Exists: true}, nil
			},
			reply: answer("path", "text"),
		},
		{
			Name: "editTextFile", Doc: "Replace the first occurrence of a text in a file. It must match exactly, but for line ends, which stay as they are in the file.",
			Params: []Param{basePath,
				{Name: "newText", Type: "string", Required: true, Max: 2000, Doc: "what takes its place"},
				{Name: "oldText", Type: "string", Required: true, Min: 1, Max: 2000, Doc: "the text to replace"}},
			Effect: Destroys, real: seen(noLinkOut, there("File %s does not exist."), mayWrite("File %s is not writable")),
			args: func(in values) (skill.Args, error) {
				return skill.EditFile{Path: at(in).path, Old: unixLines(in.str("oldText")), New: whole(unixLines(in.str("newText")))}, nil
			},
			fails: notReplaced, reply: answer("path", "newText", "oldText"),
		},
		{
			Name: "moveFile", Doc: "Move or rename a file, a directory, or a link itself; directories above the destination are created. Nothing may be there yet.",
			Params: []Param{
				{Name: "source", Type: "string", Path: true, Required: true, Doc: "what to move"},
				{Name: "destination", Type: "string", Path: true, Required: true, Doc: "its new path"}},
			Effect: Destroys, real: sourceAndDestination,
			args: func(in values) (skill.Args, error) {
				return skill.MoveFile{Source: seenAt(in, "source").path, Dest: seenAt(in, "destination").path, NoReplace: true, Parents: true}, nil
			},
			fails: notRenamed, reply: answer("source", "destination"),
		},
		{
			Name: "deleteFile", Doc: "Delete a file, or a link itself; not a directory.", Params: []Param{basePath},
			Effect: Destroys, real: seenItself(there("File %s does not exist."), noFolder, mayWrite("File %s is not writable")),
			args:  func(in values) (skill.Args, error) { return skill.DeleteFile{Path: at(in).path}, nil },
			reply: answer("path"),
		},
		{
			Name: "getFileInfo", Doc: "Describe a file or directory: type, MIME type, size, times, permissions.",
			Params: []Param{basePath}, real: seen(inside, there("File or directory %s does not exist")),
			args:  func(in values) (skill.Args, error) { return skill.Stat{Path: at(in).path, Birth: true}, nil },
			reply: fileInfo,
		},
		{
			Name: "listDirectory", Doc: "List a directory, not those in it: name, type, size and time of each entry.",
			Params: []Param{basePath}, real: seen(inside, there("Directory %s does not exist."), folder("Path %s is not a directory.")),
			args: listArgs, reply: listItems,
		},
		{
			Name: "createDirectory", Doc: "Create a directory and those above it. It must not exist yet.", Params: []Param{basePath},
			Effect: Adds, real: seenNew(noNUL, vacant("Directory %s already exists"), mayMake),
			args:  func(in values) (skill.Args, error) { return skill.MakeFolder{Path: at(in).path}, nil },
			reply: answer("path"),
		},
		{
			Name: "deleteDirectory", Doc: "Delete an empty directory, or one with all that is in it. The workspace itself stays.",
			Params: []Param{basePath, {Name: "recursive", Type: "boolean", Doc: "with all that is in it"}},
			Effect: Destroys, real: folderToDelete, args: deleteFolderArgs, fails: rootStays, reply: answer("path"),
		},
	},
}

// basePath may be empty: then it is the workspace.
var basePath = Param{Name: "path", Type: "string", Path: true, Required: true, Doc: "inside the workspace"}

// Limit returns the dialect with n in place of each of its own limits on the
// length of texts, in UTF-16 units; 0 is no limit. A dialect that has none is
// returned as it is.
func (d *Dialect) Limit(n int) *Dialect {
	limited := *d
	limited.Tools = slices.Clone(d.Tools)
	changed := false
	for i := range limited.Tools {
		t := &limited.Tools[i]
		t.Params = slices.Clone(t.Params)
		for j := range t.Params {
			if p := &t.Params[j]; p.Max > 0 {
				p.Max, changed = n, true
			}
		}
	}
	if !changed {
		return d
	}
	return &limited
}
