package dialect

import (
	"cmp"
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
	row(Tool{Name: "read", Doc: "Read a file, or some of its lines. If more lines follow, next_offset is " +
		"where to continue."}, stackRead),
	row(Tool{Name: "write", Effect: Destroys,
		Doc: "Write a file, or append to it; missing parent folders are created."},
		func(in *call, a struct {
			Path    string `arg:"path" is:"path,new,required" doc:"relative to the workspace, or absolute inside it"`
			Content string `arg:"content" is:"content,required,empty" doc:"the text"`
			Append  bool   `arg:"append" default:"false" doc:"append instead of replacing"`
		}) (string, error) {
			path, err := in.afterLinks(a.Path, true)
			if err = cmp.Or(err, refuseHome("path", a.Path)); err != nil {
				return "", err
			}
			op := skill.Args(skill.WriteFile{Path: path, Content: a.Content, Parents: true})
			if a.Append {
				op = skill.AppendFile{Path: path, Content: a.Content, Parents: true}
			}
			c, err := do[skill.Changed](in, op)
			return success(keys{"path", a.Path, "lines_written", strings.Count(a.Content, "\n") + 1},
				dryRunOf(c)), err
		}),
	row(Tool{Name: "edit", Effect: Destroys, Doc: "Replace the first occurrence of a text in a file. Line " +
		"ends need not match; the file keeps its own. more_occurrences says that the text occurs again."},
		func(in *call, a struct {
			stackPath
			Old string `arg:"old_text" is:"content,required,empty" doc:"the text to find, literally; not empty"`
			New string `arg:"new_text" is:"content,required,empty" doc:"the new text, literally"`
		}) (string, error) {
			path, err := in.afterLinks(a.Path, true)
			if err == nil && a.Old == "" {
				err = errors.New("old_text is empty; give the text to replace")
			}
			if err != nil {
				return "", err
			}
			c, err := do[skill.Changed](in, skill.EditFile{Path: path, Old: a.Old, New: a.New, CheckMore: true})
			if e, ok := errors.AsType[*skill.NoMatchError](err); ok {
				return "", withKeys(failf("Text to replace not found"), keys{"hint?", e.Hint()})
			}
			return success(keys{"path", a.Path, "edits_made", 1, "more_occurrences?", c.More}, dryRunOf(c)),
				stackMissing("File not found: %s", a.Path, err)
		}),
	stackSearch,
	stackGrep,
	row(Tool{Name: "copy", Effect: Destroys, Doc: "Copy a file or folder with its times. An existing file is " +
		"replaced; a file is copied into an existing folder; a folder is copied to a new name only."},
		func(in *call, a stackTwo) (string, error) {
			from, to, err := in.stackBoth(a, true)
			if err != nil {
				return "", err
			}
			c, err := do[skill.Changed](in, skill.CopyFile{Source: from, Dest: to, Tree: true, Into: true,
				Parents: true, Times: true})
			if errors.Is(err, syscall.EINVAL) {
				return "", fmt.Errorf("%s cannot be copied into itself, to %s", a.Source, a.Dest)
			}
			return success(keys{"source", a.Source, "destination", a.Dest}, dryRunOf(c)),
				in.stackSourceError(a.Source, err)
		}),
	row(Tool{Name: "move", Effect: Destroys, Doc: "Move or rename a file or folder. An existing file is " +
		"replaced; an existing folder receives what is moved."},
		func(in *call, a stackTwo) (string, error) {
			from, to, err := in.stackBoth(a, false)
			if err != nil {
				return "", err
			}
			c, err := do[skill.Changed](in, skill.MoveFile{Source: from, Dest: to, Into: true, Parents: true})
			switch {
			case errors.Is(err, syscall.EEXIST) && errors.As(err, new(*os.LinkError)):
				return "", failf("Destination path '%s' already exists",
					plainPath(a.Dest)+"/"+path.Base(a.Source))
			case errors.Is(err, syscall.EINVAL):
				return "", failf("Cannot move a directory '%s' into itself '%s'.", plainPath(a.Source),
					plainPath(a.Dest))
			}
			return success(keys{"source", a.Source, "destination", a.Dest}, dryRunOf(c)),
				in.stackSourceError(a.Source, err)
		}),
	row(Tool{Name: "delete", Effect: Destroys, Doc: "Delete a file, or a folder with everything in it, if " +
		"force is true; else say what would be deleted."},
		func(in *call, a struct {
			stackPath
			Force bool `arg:"force" default:"false" doc:"true to delete"`
		}) (string, error) {
			path, err := in.afterLinks(a.Path, false)
			if err != nil {
				return "", err
			}
			c, err := do[skill.Changed](in, skill.DeleteFile{Path: path, Tree: true, DryRun: !a.Force})
			name := plainPath(a.Path)
			switch {
			case errors.Is(err, syscall.EBUSY):
				return "", fmt.Errorf("%s is the workspace itself or holds it, which stays", a.Path)
			case err != nil:
				return "", stackMissing("Path not found: %s", a.Path, err)
			case c.Applied:
				return success(keys{"deleted", name}), nil
			case a.Force:
				return success(keys{"would_delete", name}, dryRunOf(c)), nil
			}
			return success(keys{"would_delete", name, "warning", "Set force=True to actually delete"}), nil
		}),
}

type stackPath struct {
	Path string `arg:"path" is:"path,required" doc:"relative to the workspace, or absolute inside it"`
}

type stackTwo struct {
	Source string `arg:"source" is:"path,required" doc:"the file or folder"`
	Dest   string `arg:"destination" is:"path,required" doc:"its new name, or a folder; missing parent folders are created"`
}

// afterLinks resolves a path that holds .. as the system does: after the links
// before it. Other paths are returned as they are, and replies show each as it was sent.
func (in *call) afterLinks(path string, follow bool) (string, error) {
	if !slices.Contains(strings.Split(path, "/"), "..") {
		return path, nil
	}
	return in.x.Real(in.s, path, follow)
}

func (in *call) stackBoth(a stackTwo, follow bool) (from, to string, err error) {
	if from, err = in.afterLinks(a.Source, follow); err != nil {
		return "", "", err
	}
	to, err = in.afterLinks(a.Dest, follow)
	return from, to, cmp.Or(err, refuseHome("destination", a.Dest))
}

// refuseHome refuses to make a file below a folder called ~, which nobody means.
func refuseHome(param, path string) error {
	if _, err := skill.LocalName(path); err != nil {
		return fmt.Errorf("%s %w", param, err)
	}
	return nil
}

// stackMissing replaces the error of a path that does not exist. A path below a file
// or in a circle of links does not exist either.
func stackMissing(format, path string, err error) error {
	pe, isPath := errors.AsType[*fs.PathError](err)
	if err != nil && (errors.Is(err, fs.ErrNotExist) || strings.ContainsRune(path, 0) || isPath &&
		(pe.Err == syscall.ENOTDIR || pe.Err == syscall.ELOOP)) {
		return failf(format, path)
	}
	return err
}

// dryRunOf describes a change that was not made; of others it says nothing.
func dryRunOf(c skill.Changed) keys {
	if c.Applied {
		return nil
	}
	return keys{"dry_run", true, "change?", c.Change.String(), "diff?", wellFormed(c.Diff)}
}

type stackReadArgs struct {
	stackPath
	Offset int `arg:"offset" default:"0" doc:"lines to skip at the beginning"`
	Limit  int `arg:"limit" default:"-1" doc:"maximum number of lines; -1 is all, 0 only counts them"`
}

func stackRead(in *call, a stackReadArgs) (string, error) {
	path, err := in.afterLinks(a.Path, true)
	if err == nil && a.Offset < 0 {
		err = fmt.Errorf("offset is %d; it counts lines from the beginning, 0 for none", a.Offset)
	}
	if err != nil {
		return "", err
	}
	op := skill.ReadFile{Path: path, Lines: true, From: a.Offset, To: skill.End, Split: true, AllowPartial: true}
	if a.Limit >= 0 {
		op.To = a.Offset + a.Limit
	}
	f, err := do[skill.FileRead](in, op)
	if err != nil {
		return "", stackMissing("File not found: %s", a.Path, err)
	}
	var warning, content string
	var next *int
	switch {
	case f.NotText:
		warning, content = notText, string(f.Content)
	case f.LineCut:
		warning = fmt.Sprintf("only the beginning of line %d is shown, which is too long for one answer; "+
			"grep finds what is in the rest", f.To)
	}
	if f.To < f.Lines {
		next = &f.To
	}
	document := success(keys{"warning?", warning, "content", content, "total_lines", f.Lines, "path", a.Path,
		"truncated?", f.Partial || next != nil, "next_offset?", next, "invalid_utf8?", f.NotText, "encoding?",
		f.Encoding})
	if f.NotText { // its bytes show as U+FFFD
		return document, nil
	}
	return withContent(document, string(f.Content)), nil
}

// stackSourceError says that the source does not exist. An error about something
// below it, like a link inside a folder, names that.
func (in *call) stackSourceError(source string, err error) error {
	if errors.As(err, new(*fs.PathError)) {
		return err
	}
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) { // of the source or the destination
		if _, missing := in.x.Look(in.s, source, true); missing != nil {
			err = missing
		}
	}
	return stackMissing("Source not found: %s", source, err)
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
