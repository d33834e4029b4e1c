package dialect

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"textskill/skill"
)

// nativeMemento are the tools of Memento-S whose names no vendor's tool has. Its failures begin with ERR.
var nativeMemento = []Tool{
	row(Tool{Name: "read_file", Doc: "Read a file, or some of its lines."}, mementoRead),
	row(Tool{Name: "file_create", Doc: "Make a file or a folder.", Effect: Destroys}, mementoCreate),
	row(Tool{Name: "edit_file_by_lines", Doc: "Replace some lines of a file.", Effect: Destroys}, mementoEdit),
	row(Tool{Name: "list_dir", Doc: "Show a folder as a tree."}, mementoTree),
}

// mementoLines are the lines of a text, without an empty one behind the last newline.
func mementoLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(plainLines(text), "\n"), "\n")
}

func mementoRead(in *call, a struct {
	Path string      `arg:"path" is:"path,required" doc:"path in the workspace"`
	From json.Number `arg:"start_line" type:"integer" doc:"first line, from 1"`
	To   json.Number `arg:"end_line" type:"integer" doc:"last line"`
}) (string, error) {
	switch at, err := in.place(a.Path, true); {
	case err != nil:
		return "", err
	case at != file:
		return "", failf("ERR: File not found or is a directory: %s", a.Path)
	}
	text, err := in.text(a.Path)
	if err != nil {
		return "", err
	}
	lines := mementoLines(text)
	from, to := max(integerOr(a.From, 1), 1), integerOr(a.To, -1)
	if to < 0 || to > len(lines) {
		to = len(lines)
	}
	if from > len(lines) && len(lines) > 0 {
		return "", failf("ERR: start_line (%d) is beyond the file length (%d).", from, len(lines))
	}
	shown := []string{fmt.Sprintf("--- File: %s (Lines %d to %d of %d) ---", a.Path, from, to, len(lines))}
	for i := from; i <= to; i++ {
		shown = append(shown, fmt.Sprintf("%5d | %s", i, lines[i-1]))
	}
	return strings.Join(shown, "\n"), nil
}

func mementoCreate(in *call, a struct {
	Path      *string `arg:"path" is:"path,required" doc:"path in the workspace"`
	Content   string  `arg:"content" is:"content,empty" doc:"the text"`
	Overwrite bool    `arg:"overwrite" doc:"replace a file that is there"`
}) (string, error) {
	if a.Path == nil {
		return "", in.lacks("path")
	}
	at, err := in.place(*a.Path, true)
	switch {
	case err != nil:
		return "", err
	case at == folder:
		return "SUCCESS: Directory already exists at " + *a.Path, nil
	case at == file && !a.Overwrite:
		return "", failf("ERR: File already exists at %s. Use overwrite=true to replace it, or edit_file_by_lines to modify it.", *a.Path)
	}
	did := "Created"
	if at == file {
		did = "Overwrote"
	}
	_, err = do[skill.Result](in, skill.WriteFile{Path: *a.Path, Content: a.Content, Parents: true,
		NoReplace: at == nothing})
	return in.changed(err, fmt.Sprintf("SUCCESS: %s file %s", did, *a.Path))
}

func mementoEdit(in *call, a struct {
	Path  *string `arg:"path" is:"path,required" doc:"path in the workspace"`
	First any     `arg:"start_line" type:"integer" is:"required" doc:"first, from 1"`
	Last  any     `arg:"end_line" type:"integer" is:"required" doc:"last"`
	New   *string `arg:"new_content" is:"content,required,empty" doc:"the new lines"`
}) (string, error) {
	from, first := integer(a.First)
	to, second := integer(a.Last)
	switch {
	case a.Path == nil:
		return "", in.lacks("path")
	case a.New == nil:
		return "", in.lacks("new_content")
	case !first || !second || from < 1 || to < from:
		return "", failf("ERR: Invalid range start_line=%v, end_line=%v.", a.First, a.Last)
	}
	var shown []string
	err := in.reviseText(*a.Path, func(text string) (string, error) {
		lines, added := mementoLines(text), mementoLines(*a.New)
		if from > len(lines) {
			return "", failf("ERR: start_line (%d) is beyond the file length (%d).", from, len(lines))
		}
		after := slices.Concat(lines[:from-1], added, lines[min(to, len(lines)):])
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
		err = failf("ERR: File not found or is a directory: %s", *a.Path)
	}
	const rule = "-----------------------------------"
	return in.changed(err,
		fmt.Sprintf("SUCCESS: Replaced lines %d to %d.\nPlease verify the indentation and syntax in the resulting snippet below:\n%s\n%s\n%s",
			from, to, rule, strings.Join(shown, "\n"), rule))
}

// mementoAround is how many lines are shown around those that were replaced.
const mementoAround = 5

func mementoTree(in *call, a struct {
	Path  string      `arg:"path" is:"path" doc:"path in the workspace"`
	Depth json.Number `arg:"max_depth" type:"integer" doc:"levels; default 2"`
}) (string, error) {
	name := cmp.Or(a.Path, ".")
	switch at, err := in.place(name, true); {
	case err != nil:
		return "", err
	case at != folder:
		return "", failf("ERR: Directory not found: %s", name)
	}
	lines := []string{"Directory Tree for: " + name}
	var walk func(dir, indent string, depth int) error
	walk = func(dir, indent string, depth int) error {
		listed, err := do[skill.Listed](in, skill.ListFolder{Path: dir})
		if err != nil {
			return err
		}
		var folders, files []string
		for _, e := range listed.Entries {
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
	err := walk(name, "", min(max(integerOr(a.Depth, 2), 1), 20))
	return strings.Join(lines, "\n"), err
}

func (in *call) mementoGlob(a globArgs) (string, error) {
	if a.Pattern == nil {
		return "", in.lacks("pattern")
	}
	name := cmp.Or(textOf(a.Path), ".")
	files, err := in.find(name, *a.Pattern, true)
	files = files[:min(len(files), max(integerOr(a.Most, 100), 1))]
	return cmp.Or(strings.Join(each(files, func(f foundFile) string { return f.rel }), "\n"),
		fmt.Sprintf("No files match pattern '%s' in %s", *a.Pattern, name)), err
}

func (in *call) mementoGrep(a grepArgs) (string, error) {
	if a.Pattern == nil {
		return "", in.lacks("pattern")
	}
	op := skill.Grep{Path: cmp.Or(textOf(a.Dir), "."), Pattern: *a.Pattern, NoLast: true}
	if glob := textOf(a.Files); glob != "" {
		op.Include = []string{glob}
	}
	g, err := in.matched(op)
	if bad, ok := errors.AsType[*skill.ArgError](err); ok {
		return "", failf("ERR: Invalid regex pattern: %s", pythonRegexError(*a.Pattern, bad.Reason))
	}
	return cmp.Or(strings.Join(each(g.Matches, func(m skill.Match) string {
		rel, _ := filepath.Rel(g.Path, m.File)
		return fmt.Sprintf("%s:%d: %s", rel, m.Line, lineText(m.Text))
	}), "\n"), fmt.Sprintf("No matches found for '%s' in %s", *a.Pattern, op.Path)), err
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

// lacks fails because an argument is missing.
func (in *call) lacks(param string) error { return failf("%s: %s is required", in.tool.Name, param) }
