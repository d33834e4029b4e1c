package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"textskill/skill"
)

// stackFiles are the tools for files and folders.
var stackFiles = []Tool{
	{
		Name: "read", Doc: "Read a file, or some of its lines. Where more lines follow, next_offset says where to go on.",
		Params: []Param{stackPath,
			{Name: "offset", Type: "integer", Default: json.Number("0"), Doc: "lines to leave out at the beginning"},
			{Name: "limit", Type: "integer", Default: json.Number("-1"), Doc: "lines at the most; -1 is all, 0 only counts them"}},
		Effect: Reads,
		real:   beyondDots(true, "path"),
		args:   linesArgs,
		fails:  absent("File not found: %s", "path"),
		reply:  linesRead,
	},
	{
		Name: "write", Doc: "Write a file, or append to it; the folders above it are created.",
		Params: []Param{stackPath, contentParam,
			{Name: "append", Type: "boolean", Default: false, Doc: "add to what is there instead of replacing it"}},
		Effect: Destroys,
		real:   beyondDots(true, "path"),
		args: func(in values) (skill.Args, error) {
			if in["append"] == true {
				return skill.AppendFile{Path: in.place("path"), Content: in.str("content"), Parents: true}, noHome(in, "path")
			}
			return skill.WriteFile{Path: in.place("path"), Content: in.str("content"), Parents: true}, noHome(in, "path")
		},
		reply: func(_ *Tool, in values, r skill.Result) string {
			return success(struct {
				Path  string `json:"path"`
				Lines int    `json:"lines_written"`
				unmade
			}{in.str("path"), strings.Count(in.str("content"), "\n") + 1, preview(r.(skill.Changed))})
		},
	},
	{
		Name: "edit", Doc: "Replace the first occurrence of a text in a file. Line ends need not match; the file keeps its own. more_occurrences tells that the text stands there once more.",
		Params: []Param{stackPath,
			{Name: "old_text", Type: "string", Required: true, Empty: true, Doc: "the text to find, literally; not empty"},
			{Name: "new_text", Type: "string", Required: true, Empty: true, Doc: "what takes its place, literally"}},
		Effect: Destroys,
		real:   beyondDots(true, "path"),
		args: func(in values) (skill.Args, error) {
			if in.str("old_text") == "" {
				return nil, errors.New("old_text is empty; give the text to replace")
			}
			return skill.EditFile{Path: in.place("path"), Old: in.str("old_text"), New: in.str("new_text"), Again: true}, nil
		},
		fails: uneditable,
		reply: func(_ *Tool, in values, r skill.Result) string {
			return success(struct {
				Path  string `json:"path"`
				Edits int    `json:"edits_made"`
				Again bool   `json:"more_occurrences,omitempty"`
				unmade
			}{in.str("path"), 1, r.(skill.Changed).Again, preview(r.(skill.Changed))})
		},
	},
	stackSearch,
	stackGrep,
	{
		Name: "copy", Doc: "Copy a file or folder with its times. A file is replaced, a folder that is there receives a file; a folder is copied to a new name only.",
		Params: []Param{stackSource, stackDest},
		Effect: Destroys,
		real:   beyondDots(true, "source", "destination"),
		args: func(in values) (skill.Args, error) {
			return skill.CopyFile{Source: in.place("source"), Dest: in.place("destination"),
				Tree: true, Into: true, Parents: true, Times: true}, noHome(in, "destination")
		},
		fails: uncopied,
		reply: bothNames,
	},
	{
		Name: "move", Doc: "Move or rename a file or folder. A file is replaced; a folder that is there receives what is moved.",
		Params: []Param{stackSource, stackDest},
		Effect: Destroys,
		real:   beyondDots(false, "source", "destination"),
		args: func(in values) (skill.Args, error) {
			return skill.MoveFile{Source: in.place("source"), Dest: in.place("destination"), Into: true, Parents: true}, noHome(in, "destination")
		},
		fails: unmovable,
		reply: bothNames,
	},
	{
		Name: "delete", Doc: "Delete a file or a folder with all that is in it, if force is true; else tell what would be deleted.",
		Params: []Param{stackPath,
			{Name: "force", Type: "boolean", Default: false, Doc: "true to delete"}},
		Effect: Destroys,
		real:   beyondDots(false, "path"),
		args: func(in values) (skill.Args, error) {
			return skill.DeleteFile{Path: in.place("path"), Tree: true, DryRun: in["force"] != true}, nil
		},
		fails: undeleted,
		reply: deleted,
	},
}

var (
	stackPath   = Param{Name: "path", Type: "string", Path: true, Required: true, Doc: "relative to the workspace, or absolute inside it"}
	stackSource = Param{Name: "source", Type: "string", Path: true, Required: true, Doc: "what is there"}
	stackDest   = Param{Name: "destination", Type: "string", Path: true, Required: true, Doc: "its new name, or a folder; the folders above are created"}
)

// beyondDots resolves paths that hold .. as the system does: after the links
// before it. Replies keep such a path as it was given.
func beyondDots(follow bool, names ...string) func(*skill.Executor, *skill.Session, values) error {
	return func(x *skill.Executor, s *skill.Session, in values) error {
		for _, name := range names {
			if !slices.Contains(strings.Split(in.str(name), "/"), "..") {
				continue
			}
			abs, err := x.Real(s, in.str(name), follow)
			if err != nil {
				return err
			}
			in["resolved "+name] = abs
		}
		return nil
	}
}

// place is where a path leads that beyondDots resolved; others are as they are.
func (in values) place(name string) string {
	if abs := in.str("resolved " + name); abs != "" {
		return abs
	}
	return in.str(name)
}

// noHome refuses a file to be made below a folder called ~, which nobody means.
func noHome(in values, name string) error {
	if p := in.str(name); p == "~" || strings.HasPrefix(p, "~/") {
		return fmt.Errorf("%s %s is relative to a home folder, which is outside the workspace; a folder named ~ is ./~", name, p)
	}
	return nil
}

// absent words the error of a path that is not there, below a file or in a circle of
// links neither.
func absent(format, name string) func(*Tool, values, error) error {
	return func(_ *Tool, in values, err error) error {
		pe, isPath := errors.AsType[*fs.PathError](err)
		if errors.Is(err, fs.ErrNotExist) || strings.ContainsRune(in.str(name), 0) || isPath && (pe.Err == syscall.ENOTDIR || pe.Err == syscall.ELOOP) {
			return own(format, in.str(name))
		}
		return err
	}
}

// unmade is what a reply holds of a change that was described and not made.
type unmade struct {
	DryRun bool   `json:"dry_run,omitempty"`
	Change string `json:"change,omitempty"` // what would be done
	Diff   string `json:"diff,omitempty"`
}

func preview(c skill.Changed) unmade {
	if !c.Applied {
		return unmade{true, c.Change.String(), wellFormed(c.Diff)}
	}
	return unmade{}
}

func linesArgs(in values) (skill.Args, error) {
	offset, limit := in.int("offset"), in.int("limit")
	a := skill.ReadFile{Path: in.place("path"), Lines: true, From: offset, To: skill.End, Split: true, Part: true, Count: true}
	if offset < 0 {
		return nil, fmt.Errorf("offset is %d; it counts lines from the beginning, 0 for none", offset)
	}
	if limit >= 0 {
		a.To = offset + limit
	}
	return a, nil
}

func linesRead(_ *Tool, in values, r skill.Result) string {
	f := r.(skill.FileRead)
	keys := struct {
		Content   string `json:"content"`
		Total     int    `json:"total_lines"`
		Path      string `json:"path"`
		Truncated bool   `json:"truncated,omitempty"`
		Next      *int   `json:"next_offset,omitempty"`
		Invalid   bool   `json:"invalid_utf8,omitempty"` // bytes that are none show as U+FFFD
	}{Content: string(f.Content), Total: f.Lines, Path: in.str("path"), Invalid: !utf8.Valid(f.Content)}
	if f.To < f.Lines {
		keys.Truncated, keys.Next = true, &f.To
	}
	return success(keys)
}

func uneditable(t *Tool, in values, err error) error {
	if e, ok := errors.AsType[*skill.NoMatchError](err); ok {
		said := own("Text to replace not found")
		if e.Hint() == "" {
			return said
		}
		return keyed{said, struct {
			Hint string `json:"hint"`
		}{e.Hint()}}
	}
	return absent("File not found: %s", "path")(t, in, err)
}

func uncopied(t *Tool, in values, err error) error {
	if errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("%s cannot be copied into itself, to %s", in.str("source"), in.str("destination"))
	}
	return sourceless(t, in, err)
}

func unmovable(t *Tool, in values, err error) error {
	switch {
	case errors.As(err, new(*skill.ExistsError)):
		return own("Destination path '%s' already exists", plainPath(in.str("destination"))+"/"+path.Base(in.str("source")))
	case errors.Is(err, syscall.EINVAL):
		return own("Cannot move a directory '%s' into itself '%s'.", plainPath(in.str("source")), plainPath(in.str("destination")))
	}
	return sourceless(t, in, err)
}

// sourceless words the error of a source that is not there. One about something on
// the way, like a link inside a folder, names that.
func sourceless(t *Tool, in values, err error) error {
	if errors.As(err, new(*fs.PathError)) {
		return err
	}
	return absent("Source not found: %s", "source")(t, in, err)
}

func undeleted(t *Tool, in values, err error) error {
	if errors.Is(err, syscall.EBUSY) {
		return fmt.Errorf("%s is the workspace itself or holds it, which stays", in.str("path"))
	}
	return absent("Path not found: %s", "path")(t, in, err)
}

func bothNames(_ *Tool, in values, r skill.Result) string {
	return success(struct {
		Source string `json:"source"`
		Dest   string `json:"destination"`
		unmade
	}{in.str("source"), in.str("destination"), preview(r.(skill.Changed))})
}

func deleted(_ *Tool, in values, r skill.Result) string {
	name := plainPath(in.str("path"))
	switch c := r.(skill.Changed); {
	case c.Applied:
		return success(struct {
			Deleted string `json:"deleted"`
		}{name})
	case in["force"] == true:
		return success(struct {
			Would string `json:"would_delete"`
			unmade
		}{name, preview(r.(skill.Changed))})
	}
	return success(struct {
		Would   string `json:"would_delete"`
		Warning string `json:"warning"`
	}{name, "Set force=True to actually delete"})
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
