package dialect

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"textskill/skill"
)

var stackFiles = []Tool{
	{
		Name: "read", Doc: "Read a file, or some of its lines. If more lines follow, next_offset is where to continue.",
		Params: []Param{stackPath,
			{Name: "offset", Type: "integer", Default: json.Number("0"),
				Doc: "lines to skip at the beginning"},
			{Name: "limit", Type: "integer", Default: json.Number("-1"),
				Doc: "maximum number of lines; -1 is all, 0 only counts them"}},
		operation: stackReadOperation,
		reword:    stackMissing("File not found: %s", "path"),
		reply:     typed(stackReadReply),
	},
	{
		Name: "write", Doc: "Write a file, or append to it; missing parent folders are created.",
		Params: []Param{newFile(stackPath), contentParam,
			{Name: "append", Type: "boolean", Default: false, Doc: "append instead of replacing"}},
		Effect: Destroys,
		operation: func(in *call) (skill.Args, error) {
			path, err := in.afterLinks("path", true)
			err = cmp.Or(err, refuseHome(in, "path"))
			if in.flag("append") {
				return skill.AppendFile{Path: path, Content: in.str("content"), Parents: true}, err
			}
			return skill.WriteFile{Path: path, Content: in.str("content"), Parents: true}, err
		},
		reply: typed(func(in *call, c skill.Changed) string {
			return success(keys{"path", in.str("path"), "lines_written",
				strings.Count(in.str("content"), "\n") + 1}, dryRunOf(c))
		}),
	},
	{
		Name: "edit", Doc: "Replace the first occurrence of a text in a file. Line ends need not match; the file keeps its own. more_occurrences says that the text occurs again.",
		Params: []Param{stackPath,
			{Name: "old_text", Type: "string", Content: true, Required: true, Empty: true,
				Doc: "the text to find, literally; not empty"},
			{Name: "new_text", Type: "string", Content: true, Required: true, Empty: true,
				Doc: "the new text, literally"}},
		Effect: Destroys,
		operation: func(in *call) (skill.Args, error) {
			path, err := in.afterLinks("path", true)
			if err == nil && in.str("old_text") == "" {
				err = errors.New("old_text is empty; give the text to replace")
			}
			return skill.EditFile{Path: path, Old: in.str("old_text"), New: in.str("new_text"),
				CheckMore: true}, err
		},
		reword: stackEditError,
		reply: typed(func(in *call, c skill.Changed) string {
			return success(keys{"path", in.str("path"), "edits_made", 1, "more_occurrences?", c.More},
				dryRunOf(c))
		}),
	},
	stackSearch,
	stackGrep,
	{
		Name: "copy", Doc: "Copy a file or folder with its times. An existing file is replaced; a file is copied into an existing folder; a folder is copied to a new name only.",
		Params: []Param{stackSource, stackDest},
		Effect: Destroys,
		operation: func(in *call) (skill.Args, error) {
			from, to, err := in.sourceAndDest(true)
			return skill.CopyFile{Source: from, Dest: to, Tree: true, Into: true, Parents: true,
				Times: true}, err
		},
		reword: stackCopyError,
		reply:  typed(sourceAndDestReply),
	},
	{
		Name: "move", Doc: "Move or rename a file or folder. An existing file is replaced; an existing folder receives what is moved.",
		Params: []Param{stackSource, stackDest},
		Effect: Destroys,
		operation: func(in *call) (skill.Args, error) {
			from, to, err := in.sourceAndDest(false)
			return skill.MoveFile{Source: from, Dest: to, Into: true, Parents: true}, err
		},
		reword: stackMoveError,
		reply:  typed(sourceAndDestReply),
	},
	{
		Name: "delete", Doc: "Delete a file, or a folder with everything in it, if force is true; else say what would be deleted.",
		Params: []Param{stackPath,
			{Name: "force", Type: "boolean", Default: false, Doc: "true to delete"}},
		Effect: Destroys,
		operation: func(in *call) (skill.Args, error) {
			path, err := in.afterLinks("path", false)
			return skill.DeleteFile{Path: path, Tree: true, DryRun: !in.flag("force")}, err
		},
		reword: stackDeleteError,
		reply:  typed(stackDeleteReply),
	},
}

var (
	contentParam = Param{Name: "content", Type: "string", Content: true, Required: true, Empty: true,
		Doc: "the text"}
	stackPath = Param{Name: "path", Type: "string", Path: true, Required: true,
		Doc: "relative to the workspace, or absolute inside it"}
	stackSource = Param{Name: "source", Type: "string", Path: true, Required: true, Doc: "the file or folder"}
	stackDest   = Param{Name: "destination", Type: "string", Path: true, Required: true,
		Doc: "its new name, or a folder; missing parent folders are created"}
)

// afterLinks resolves a path that holds .. as the system does: after the links
// before it. Other paths are returned as they are, and replies show each as it was sent.
func (in *call) afterLinks(param string, follow bool) (string, error) {
	path := in.str(param)
	if !slices.Contains(strings.Split(path, "/"), "..") {
		return path, nil
	}
	return in.x.Real(in.s, path, follow)
}

func (in *call) sourceAndDest(follow bool) (from, to string, err error) {
	if from, err = in.afterLinks("source", follow); err != nil {
		return "", "", err
	}
	to, err = in.afterLinks("destination", follow)
	return from, to, cmp.Or(err, refuseHome(in, "destination"))
}

// refuseHome refuses to make a file below a folder called ~, which nobody means.
func refuseHome(in *call, param string) error {
	if _, err := skill.LocalName(in.str(param)); err != nil {
		return fmt.Errorf("%s %w", param, err)
	}
	return nil
}

// stackMissing replaces the error of a path that does not exist. A path below a file
// or in a circle of links does not exist either.
func stackMissing(format, param string) func(*call, error) error {
	return func(in *call, err error) error {
		pe, isPath := errors.AsType[*fs.PathError](err)
		if errors.Is(err, fs.ErrNotExist) || strings.ContainsRune(in.str(param), 0) || isPath &&
			(pe.Err == syscall.ENOTDIR || pe.Err == syscall.ELOOP) {
			return failf(format, in.str(param))
		}
		return err
	}
}

// dryRunOf describes a change that was not made; of others it says nothing.
func dryRunOf(c skill.Changed) keys {
	if c.Applied {
		return nil
	}
	return keys{"dry_run", true, "change?", c.Change.String(), "diff?", wellFormed(c.Diff)}
}

func stackReadOperation(in *call) (skill.Args, error) {
	path, err := in.afterLinks("path", true)
	offset, limit := in.int("offset"), in.int("limit")
	a := skill.ReadFile{Path: path, Lines: true, From: offset, To: skill.End, Split: true, AllowPartial: true}
	if err == nil && offset < 0 {
		err = fmt.Errorf("offset is %d; it counts lines from the beginning, 0 for none", offset)
	}
	if limit >= 0 {
		a.To = offset + limit
	}
	return a, err
}

func stackReadReply(in *call, f skill.FileRead) string {
	var warning, content string
	var next *int
	switch {
	case f.NotText:
		warning, content = notText, string(f.Content)
	case f.LineCut:
		warning = fmt.Sprintf("only the beginning of line %d is shown, which is too long for one answer; grep finds what is in the rest", f.To)
	}
	if f.To < f.Lines {
		next = &f.To
	}
	document := success(keys{"warning?", warning, "content", content, "total_lines", f.Lines, "path",
		in.str("path"),
		"truncated?", f.Partial || next != nil, "next_offset?", next, "invalid_utf8?", f.NotText, "encoding?",
		f.Encoding})
	if f.NotText { // its bytes show as U+FFFD
		return document
	}
	return withContent(document, string(f.Content))
}

func stackEditError(in *call, err error) error {
	e, ok := errors.AsType[*skill.NoMatchError](err)
	if !ok {
		return stackMissing("File not found: %s", "path")(in, err)
	}
	return withKeys(failf("Text to replace not found"), keys{"hint?", e.Hint()})
}

func stackCopyError(in *call, err error) error {
	if errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("%s cannot be copied into itself, to %s", in.str("source"), in.str("destination"))
	}
	return stackSourceError(in, err)
}

func stackMoveError(in *call, err error) error {
	switch {
	case errors.Is(err, syscall.EEXIST) && errors.As(err, new(*os.LinkError)):
		return failf("Destination path '%s' already exists", plainPath(in.str("destination"))+"/"+
			path.Base(in.str("source")))
	case errors.Is(err, syscall.EINVAL):
		return failf("Cannot move a directory '%s' into itself '%s'.", plainPath(in.str("source")),
			plainPath(in.str("destination")))
	}
	return stackSourceError(in, err)
}

// stackSourceError says that the source does not exist. An error about something
// below it, like a link inside a folder, names that.
func stackSourceError(in *call, err error) error {
	if errors.As(err, new(*fs.PathError)) {
		return err
	}
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) { // of the source or the destination
		if _, missing := in.x.Look(in.s, in.str("source"), true); missing != nil {
			err = missing
		}
	}
	return stackMissing("Source not found: %s", "source")(in, err)
}

func stackDeleteError(in *call, err error) error {
	if errors.Is(err, syscall.EBUSY) {
		return fmt.Errorf("%s is the workspace itself or holds it, which stays", in.str("path"))
	}
	return stackMissing("Path not found: %s", "path")(in, err)
}

func sourceAndDestReply(in *call, c skill.Changed) string {
	return success(keys{"source", in.str("source"), "destination", in.str("destination")}, dryRunOf(c))
}

func stackDeleteReply(in *call, c skill.Changed) string {
	name := plainPath(in.str("path"))
	switch {
	case c.Applied:
		return success(keys{"deleted", name})
	case in.flag("force"):
		return success(keys{"would_delete", name}, dryRunOf(c))
	}
	return success(keys{"would_delete", name, "warning", "Set force=True to actually delete"})
}

// plainPath leaves out of a path what means nothing: ./, double slashes, and those
// at the end; .. stays.
func plainPath(p string) string {
	parts := slices.DeleteFunc(strings.Split(p, "/"), func(s string) bool { return s == "" || s == "." })
	clean := strings.Join(parts, "/")
	switch {
	case strings.HasPrefix(p, "/"):
		return "/" + clean
	case clean == "":
		return "."
	}
	return clean
}
