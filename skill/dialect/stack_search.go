package dialect

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"textskill/skill"
	"textskill/skill/internal/words"
)

var stackSearch = Tool{
	Name: "search",
	Doc: "Find files and folders below a folder, at any depth, by a pattern: * ? and [...] match in a name, ** any number of folders. " +
		"The contents of .git are left out, unless the path or the pattern names it.",
	Params: []Param{
		{Name: "path", Type: "string", Path: true, Required: true, Empty: true, Doc: "the folder to search"},
		{Name: "pattern", Type: "string", Required: true, Empty: true,
			Doc: "like *.py or docs/**/*.md; one that ends with / is for folders"},
		{Name: "exclude", Type: "array", Of: "string", Doc: "patterns to leave out, with everything below"}},
	operation: func(in *call) (skill.Args, error) {
		path, err := in.searchPath()
		exclude := slices.DeleteFunc(in.texts("exclude"), func(pattern string) bool { return pattern == "" })
		return skill.Find{Path: path, Pattern: in.str("pattern"), Limit: maxMatches, Exclude: exclude}, err
	},
	tolerate: func(in *call, err error) (string, bool) { // nothing is below a file
		if !errors.Is(err, syscall.ENOTDIR) || fsMissingFolder(err) {
			return "", false
		}
		return searchReply(in, skill.Found{}), true
	},
	reword: stackMissing("Path not found: %s", "path"),
	reply:  typed(searchReply),
}

var stackGrep = Tool{
	Name: "grep",
	Doc: "Find the lines that match a regular expression (RE2: no lookaround, no backreference), in a file or all files below a folder. " +
		"Binary files and .git are left out.",
	Params: []Param{
		{Name: "path", Type: "string", Path: true, Required: true, Empty: true,
			Doc: "the file or folder to search"},
		{Name: "pattern", Type: "string", Required: true, Empty: true,
			Doc: "the expression, for each line by itself; (?i) before it ignores case"},
		{Name: "context", Type: "integer", Default: json.Number("0"),
			Doc: "lines to show before and after each"}},
	operation: func(in *call) (skill.Args, error) {
		path, err := in.searchPath()
		return skill.Grep{Path: path, Pattern: in.str("pattern"), Context: max(in.int("context"), 0),
			Limit: maxMatches}, err
	},
	reword: stackMissing("Invalid path: %s", "path"),
	reply:  typed(grepReply),
}

// maxMatches is how many matches one answer holds.
const maxMatches = 1000

// searchPath resolves a path that begins with ~, the home folder, or holds "..".
// Replies show the home folder in place of ~.
func (in *call) searchPath() (string, error) {
	path, err := expandHome(in.str("path"))
	if err != nil {
		return "", err
	}
	in.values["path"] = path
	return in.afterLinks("path", true)
}

// below names abs, which is base or below it, as a continuation of the path in the call.
func below(in *call, base, abs string) string {
	given := plainPath(in.str("path"))
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

func searchReply(in *call, f skill.Found) string {
	matches := []string{}
	for _, abs := range f.Matches {
		matches = append(matches, below(in, f.Path, abs))
	}
	var note string
	switch pattern := in.str("pattern"); {
	case len(matches) > 0:
	case strings.Contains(pattern, "{"):
		note = "braces in a pattern stand for themselves; search for each choice"
	case strings.LastIndex(pattern, "[") > strings.LastIndex(pattern, "]"):
		note = "a [ that is never closed stands for itself"
	}
	return success(keys{"matches", matches, "count", len(matches), "truncated?", f.More > 0, "total?",
		totalIfMore(len(matches)+f.More, len(matches)),
		"excluded?", f.Excluded, "skipped_git?", f.Git, "unreadable?", f.Unreadable, "note?", note})
}

func grepReply(in *call, g skill.Grepped) string {
	matches := []keys{}
	for _, m := range g.Matches {
		var context []string
		for _, line := range m.Context {
			context = append(context, strings.TrimSuffix(line, "\r"))
		}
		matches = append(matches, keys{"file", below(in, g.Path, m.File), "line", m.Line, "content",
			words.Strip(m.Text),
			"context?", context, "truncated?", len(m.Text) < m.Size})
	}
	return success(keys{"matches", matches, "count", len(matches), "truncated?", g.More > 0, "total?",
		totalIfMore(len(matches)+g.More, len(matches)),
		"skipped_binary?", g.Binary, "unreadable?", g.Unreadable})
}
