package dialect

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"textskill/skill"
	"textskill/skill/internal/words"
)

var stackSearch = row(Tool{Name: "search",
	Doc: "Find files and folders below a folder, at any depth, by a pattern: * ? and [...] match in a name, " +
		"** any number of folders. " +
		"The contents of .git are left out, unless the path or the pattern names it."},
	func(in *call, a struct {
		Path    string   `arg:"path" is:"path,required,empty" doc:"the folder to search"`
		Pattern string   `arg:"pattern" is:"required,empty" doc:"like *.py or docs/**/*.md; one that ends with / is for folders"`
		Exclude []string `arg:"exclude" doc:"patterns to leave out, with everything below"`
	}) (string, error) {
		given, path, err := in.searchPath(a.Path)
		if err != nil {
			return "", err
		}
		exclude := slices.DeleteFunc(a.Exclude, func(pattern string) bool { return pattern == "" })
		f, err := do[skill.Found](in, skill.Find{Path: path, Pattern: a.Pattern, Limit: maxMatches,
			Exclude: exclude})
		if err != nil && (!errors.Is(err, syscall.ENOTDIR) || fsMissingFolder(err)) { // nothing is below a file
			return "", stackMissing("Path not found: %s", given, err)
		}
		matches := each(f.Matches, func(abs string) string { return below(given, f.Path, abs) })
		var note string
		switch {
		case len(matches) > 0:
		case strings.Contains(a.Pattern, "{"):
			note = "braces in a pattern stand for themselves; search for each choice"
		case strings.LastIndex(a.Pattern, "[") > strings.LastIndex(a.Pattern, "]"):
			note = "a [ that is never closed stands for itself"
		}
		return success(keys{"matches", matches, "count", len(matches), "truncated?", f.More > 0, "total?",
			totalIfMore(len(matches)+f.More, len(matches)),
			"excluded?", f.Excluded, "skipped_git?", f.Git, "unreadable?", f.Unreadable, "note?", note}), nil
	})

var stackGrep = row(Tool{Name: "grep",
	Doc: "Find the lines that match a regular expression (RE2: no lookaround, no backreference), in a file " +
		"or all files below a folder. Binary files and .git are left out."},
	func(in *call, a struct {
		Path    string `arg:"path" is:"path,required,empty" doc:"the file or folder to search"`
		Pattern string `arg:"pattern" is:"required,empty" doc:"the expression, for each line by itself; (?i) before it ignores case"`
		Context int    `arg:"context" default:"0" doc:"lines to show before and after each"`
	}) (string, error) {
		given, path, err := in.searchPath(a.Path)
		if err != nil {
			return "", err
		}
		g, err := do[skill.Grepped](in, skill.Grep{Path: path, Pattern: a.Pattern, Context: max(a.Context, 0),
			Limit: maxMatches})
		if err != nil {
			return "", stackMissing("Invalid path: %s", given, err)
		}
		matches := []keys{}
		for _, m := range g.Matches {
			var context []string
			for _, line := range m.Context {
				context = append(context, strings.TrimSuffix(line, "\r"))
			}
			matches = append(matches, keys{"file", below(given, g.Path, m.File), "line", m.Line, "content",
				words.Strip(m.Text), "context?", context, "truncated?", len(m.Text) < m.Size})
		}
		return success(keys{"matches", matches, "count", len(matches), "truncated?", g.More > 0, "total?",
			totalIfMore(len(matches)+g.More, len(matches)),
			"skipped_binary?", g.Binary, "unreadable?", g.Unreadable}), nil
	})

// maxMatches is how many matches one answer holds.
const maxMatches = 1000

// searchPath resolves a path that begins with ~, the home folder, or holds "..". Replies and records
// show the home folder in place of ~.
func (in *call) searchPath(path string) (shown, resolved string, err error) {
	if shown, err = expandHome(path); err != nil {
		return "", "", err
	}
	in.values["path"] = shown
	resolved, err = in.afterLinks(shown, true)
	return shown, resolved, err
}

// below names abs, which is base or below it, as a continuation of the path in the call.
func below(given, base, abs string) string {
	given = plainPath(given)
	rel, err := filepath.Rel(base, abs)
	switch {
	case err != nil || rel == ".":
		return wellFormed(given)
	case given == ".":
		given = ""
	case given != "/":
		given += "/"
	}
	return wellFormed(given + filepath.ToSlash(rel))
}
