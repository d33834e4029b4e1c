package dialect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"textskill/skill"
)

// nativeMemento are the tools of Memento-S whose names no vendor's tool has. Its failures begin with ERR.
var nativeMemento = []Tool{
	native("read_file", "Read a file, or some of its lines.", Reads, mementoRead,
		nativePath("path"), number("start_line", "first line, from 1"), number("end_line", "last line")),
	native("file_create", "Make a file or a folder.", Destroys, mementoCreate,
		nativePath("path"), optional(nativeText("content", "the text")),
		truth("overwrite", "replace a file that is there")),
	native("edit_file_by_lines", "Replace some lines of a file.", Destroys, mementoEdit,
		nativePath("path"), needed(number("start_line", "first, from 1")), needed(number("end_line", "last")),
		nativeText("new_content", "the new lines")),
	native("list_dir", "Show a folder as a tree.", Reads, mementoTree, optional(nativePath("path")),
		number("max_depth", "levels; default 2")),
}

// mementoLines are the lines of a text, without an empty one behind the last newline.
func mementoLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(plainLines(text), "\n"), "\n")
}

func mementoRead(ctx context.Context, in *call) (skill.Result, error) {
	name := in.str("path")
	switch at, err := in.place(name, true); {
	case err != nil:
		return nil, err
	case at != file:
		return nil, failf("ERR: File not found or is a directory: %s", name)
	}
	text, err := in.text(ctx, name)
	if err != nil {
		return nil, err
	}
	lines := mementoLines(text)
	from, to := max(in.or("start_line", 1), 1), in.or("end_line", -1)
	if to < 0 || to > len(lines) {
		to = len(lines)
	}
	if from > len(lines) && len(lines) > 0 {
		return nil, failf("ERR: start_line (%d) is beyond the file length (%d).", from, len(lines))
	}
	shown := []string{fmt.Sprintf("--- File: %s (Lines %d to %d of %d) ---", name, from, to, len(lines))}
	for i := from; i <= to; i++ {
		shown = append(shown, fmt.Sprintf("%5d | %s", i, lines[i-1]))
	}
	return answer(strings.Join(shown, "\n"))
}

func mementoCreate(ctx context.Context, in *call) (skill.Result, error) {
	name := in.str("path")
	if err := in.required("path"); err != nil {
		return nil, err
	}
	at, err := in.place(name, true)
	switch {
	case err != nil:
		return nil, err
	case at == folder:
		return answer("SUCCESS: Directory already exists at " + name)
	case at == file && !in.flag("overwrite"):
		return nil, failf("ERR: File already exists at %s. Use overwrite=true to replace it, or edit_file_by_lines to modify it.", name)
	}
	did := "Created"
	if at == file {
		did = "Overwrote"
	}
	r, err := in.x.Execute(ctx, in.s, skill.WriteFile{Path: name, Content: in.str("content"), Parents: true,
		NoReplace: at == nothing})
	return in.changed(r, err, fmt.Sprintf("SUCCESS: %s file %s", did, name))
}

func mementoEdit(ctx context.Context, in *call) (skill.Result, error) {
	name := in.str("path")
	from, first := in.integer("start_line")
	to, second := in.integer("end_line")
	if err := in.required("path", "new_content"); err != nil {
		return nil, err
	}
	if !first || !second || from < 1 || to < from {
		return nil, failf("ERR: Invalid range start_line=%v, end_line=%v.", in.values["start_line"],
			in.values["end_line"])
	}
	var shown []string
	r, err := in.reviseText(ctx, name, func(text string) (string, error) {
		lines, added := mementoLines(text), mementoLines(in.str("new_content"))
		if from > len(lines) {
			return "", failf("ERR: start_line (%d) is beyond the file length (%d).", from, len(lines))
		}
		after := append(append(append([]string(nil), lines[:from-1]...), added...),
			lines[min(to, len(lines)):]...)
		shown = nil
		for i := max(1, from-mementoAround); i <= min(len(after), from-1+len(added)+mementoAround); i++ {
			mark := "  "
			if i >= from && i < from+len(added) {
				mark = ">>"
			}
			shown = append(shown, fmt.Sprintf("%s %5d | %s", mark, i, after[i-1]))
		}
		plain := strings.Join(after, "\n")
		if strings.HasSuffix(text, "\n") && len(after) > 0 {
			plain += "\n"
		}
		return likeLines(plain, text), nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = failf("ERR: File not found or is a directory: %s", name)
	}
	const rule = "-----------------------------------"
	return in.changed(r, err,
		fmt.Sprintf("SUCCESS: Replaced lines %d to %d.\nPlease verify the indentation and syntax in the resulting snippet below:\n%s\n%s\n%s",
			from, to, rule, strings.Join(shown, "\n"), rule))
}

// mementoAround is how many lines are shown around those that were replaced.
const mementoAround = 5

func mementoTree(ctx context.Context, in *call) (skill.Result, error) {
	name := cmp.Or(in.str("path"), ".")
	switch at, err := in.place(name, true); {
	case err != nil:
		return nil, err
	case at != folder:
		return nil, failf("ERR: Directory not found: %s", name)
	}
	lines := []string{"Directory Tree for: " + name}
	var walk func(dir, indent string, depth int) error
	walk = func(dir, indent string, depth int) error {
		r, err := in.x.Execute(ctx, in.s, skill.ListFolder{Path: dir})
		if err != nil {
			return err
		}
		var folders, files []string
		for _, e := range r.(skill.Listed).Entries {
			switch {
			case strings.HasPrefix(e.Name, "."), e.Name == "node_modules", e.Name == "__pycache__":
			case e.Type.IsDir():
				folders = append(folders, e.Name+"/")
			default:
				files = append(files, e.Name)
			}
		}
		all := append(folders, files...)
		for i, e := range all {
			branch, below := "├── ", "│   "
			if i == len(all)-1 {
				branch, below = "└── ", "    "
			}
			lines = append(lines, indent+branch+e)
			if i < len(folders) && depth > 1 {
				if err := walk(filepath.Join(dir, e), indent+below, depth-1); err != nil &&
					!errors.Is(err, fs.ErrPermission) {
					return err
				}
			}
		}
		return nil
	}
	if err := walk(name, "", min(max(in.or("max_depth", 2), 1), 20)); err != nil {
		return nil, err
	}
	return answer(strings.Join(lines, "\n"))
}

func mementoGlob(ctx context.Context, in *call) (skill.Result, error) {
	if err := in.required("pattern"); err != nil {
		return nil, err
	}
	name := cmp.Or(in.str("path"), ".")
	_, files, err := in.find(ctx, name, in.str("pattern"), true)
	if err != nil {
		return nil, err
	}
	files = files[:min(len(files), max(in.or("max_results", 100), 1))]
	if len(files) == 0 {
		return answer(fmt.Sprintf("No files match pattern '%s' in %s", in.str("pattern"), name))
	}
	return answer(strings.Join(each(files, func(f foundFile) string { return f.rel }), "\n"))
}

func mementoGrep(ctx context.Context, in *call) (skill.Result, error) {
	if err := in.required("pattern"); err != nil {
		return nil, err
	}
	name := cmp.Or(in.str("dir_path"), ".")
	g, err := in.matched(ctx, skill.Grep{Path: name, NoLast: true}, "file_pattern")
	if bad, ok := errors.AsType[*skill.ArgError](err); ok {
		return nil, failf("ERR: Invalid regex pattern: %s", pythonRegexError(in.str("pattern"), bad.Reason))
	}
	if err != nil {
		return nil, err
	}
	if len(g.Matches) == 0 {
		return answer(fmt.Sprintf("No matches found for '%s' in %s", in.str("pattern"), name))
	}
	return answer(strings.Join(each(g.Matches, func(m skill.Match) string {
		rel, _ := filepath.Rel(g.Path, m.File)
		return fmt.Sprintf("%s:%d: %s", rel, m.Line, lineText(m.Text))
	}), "\n"))
}

// pythonRegexError says what is wrong with a regular expression as Python does, where that is that a
// group does not end.
func pythonRegexError(pattern, reason string) string {
	var open []int
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '(':
			open = append(open, i)
		case ')':
			open = open[:max(0, len(open)-1)]
		}
	}
	if len(open) == 0 || !strings.Contains(reason, "missing closing )") {
		return reason
	}
	return fmt.Sprintf("missing ), unterminated subpattern at position %d", open[len(open)-1])
}

// required fails if an argument that is a text is missing.
func (in *call) required(names ...string) error {
	for _, name := range names {
		if _, ok := in.values[name].(string); !ok {
			return failf("%s: %s is required", in.tool.Name, name)
		}
	}
	return nil
}
