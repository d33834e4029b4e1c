package dialect

import (
	"encoding/json"
	"fmt"
	"strings"

	"textskill/skill"
)

// stackMemory are the tools that remember, and that describe the workspace.
var stackMemory = []Tool{
	{
		Name: "memory_recall", Doc: "Find the files of the memory, MEMORY.md and memory/*.md, that contain all words of a query, in any order and case. MEMORY.md is first, then those with the words side by side, then those with more of them.",
		Params: []Param{
			{Name: "query", Type: "string", Required: true, Empty: true, Doc: "the words"},
			{Name: "max_results", Type: "integer", Default: json.Number("5"),
				Doc: "maximum number of files"}},
		operation: func(in *call) (skill.Args, error) {
			limit := in.int("max_results")
			if limit < 0 {
				return nil, fmt.Errorf("max_results is %d; give 0 or more", limit)
			}
			return skill.RecallMemory{Query: in.str("query"), Limit: limit}, nil
		},
		reply: typed(memoryRecallReply),
	},
	{
		Name: "memory_save", Doc: "Add an entry to MEMORY.md.",
		Params: []Param{
			{Name: "key", Type: "string", Required: true, Doc: "its title, one line"},
			{Name: "value", Type: "string", Content: true, Required: true, Empty: true,
				Doc: "what to remember"}},
		Effect: Adds,
		operation: func(in *call) (skill.Args, error) {
			return skill.SaveMemory{Key: in.str("key"), Value: in.str("value")}, nil
		},
		reply: typed(func(in *call, r skill.Changed) string {
			return success(keys{"key", in.str("key"), "saved", r.Applied}, dryRunOf(r))
		}),
	},
	{
		Name: "memory_list", Doc: "List the entries of MEMORY.md: titles, and the beginning of each.",
		Params: []Param{stackOffset},
		operation: func(in *call) (skill.Args, error) {
			offset, err := offsetOf(in)
			return skill.ListMemory{Offset: offset}, err
		},
		reply: typed(memoryListReply),
	},
	{
		Name: "context_load", Doc: "Load the files that describe the workspace: AGENTS.md, SOUL.md and TOOLS.md, if they exist.",
		Params: []Param{
			{Name: "projects", Type: "array", Of: "string",
				Doc: "not used; callers of the original may give it"}},
		operation: func(*call) (skill.Args, error) { return skill.LoadContext{}, nil },
		reply:     typed(contextLoadReply),
	},
	{
		Name: "project_scan", Doc: "List the files of a project, top folders first, and the tools that it is made for. The contents of .git and node_modules are left out.",
		Params: []Param{
			{Name: "path", Type: "string", Path: true, Default: ".", Doc: "the project's folder"}},
		operation: func(in *call) (skill.Args, error) {
			path, err := in.afterLinks("path", true)
			return skill.ScanProject{Path: path}, err
		},
		reword: stackMissing("Path not found: %s", "path"),
		reply:  typed(projectScanReply),
	},
}

// stackOffset is where a long list continues.
var stackOffset = Param{Name: "offset", Type: "integer", Default: json.Number("0"),
	Doc: "entries to skip at the beginning"}

func offsetOf(in *call) (int, error) {
	offset := in.int("offset")
	if offset < 0 {
		return 0, fmt.Errorf("offset is %d; it counts from the beginning, 0 for none", offset)
	}
	return offset, nil
}

// pageOf says of a list of total entries that shows n from the offset, where it
// continues.
func pageOf(in *call, n, total int) keys {
	next := in.int("offset") + n
	if next >= total {
		return nil
	}
	return keys{"truncated", true, "total", total, "next_offset?", next}
}

func memoryRecallReply(in *call, found skill.Recalled) string {
	return success(keys{"query", in.str("query"), "matches", wellFormedAll(found.Matches), "count",
		len(found.Matches),
		"total?", totalIfMore(found.Total, len(found.Matches)), "skipped?", wellFormedAll(found.Skipped)})
}

// totalIfMore is total if it is more than n, else 0.
func totalIfMore(total, n int) int {
	if total > n {
		return total
	}
	return 0
}

func wellFormedAll(list []string) []string {
	if list == nil {
		return nil
	}
	return each(list, wellFormed)
}

// maxPreview is how many characters of an entry are shown.
const maxPreview = 200

func memoryListReply(in *call, list skill.Memories) string {
	entries := []keys{}
	for _, m := range list.Entries {
		preview, cut := m.Content, false
		if chars := []rune(preview); len(chars) > maxPreview {
			preview, cut = string(chars[:maxPreview]), true
		}
		// content is what the original calls the preview
		entries = append(entries, keys{"title", m.Title, "content_preview", preview, "content", preview,
			"truncated?", cut})
	}
	var warning string
	if list.NotText {
		warning = "MEMORY.md: " + notText
	}
	return success(keys{"warning?", warning, "entries", entries, "count", len(entries)},
		pageOf(in, len(entries), list.Total))
}

func contextLoadReply(_ *call, c skill.Context) string {
	texts := map[string]string{}
	loaded := []string{}
	var next, unclear []string // the calls that read on, and files that are not text
	for _, f := range c.Files {
		key := strings.ToLower(strings.TrimSuffix(f.Name, ".md"))
		texts[key] = f.Content
		loaded = append(loaded, f.Name)
		if f.NotText {
			unclear = append(unclear, f.Name)
		}
		if f.Next > 0 {
			next = append(next, fmt.Sprintf("read(path: '%s', offset: %d)", f.Name, f.Next))
		}
	}
	var warning string
	if unclear != nil {
		warning = strings.Join(unclear, ", ") + ": " + notText
	}
	return success(keys{"warning?", warning, "context", texts, "loaded", loaded, "truncated?", next != nil,
		"next?", next})
}

func projectScanReply(_ *call, p skill.Project) string {
	total := totalIfMore(p.Total, len(p.Files)+len(p.Dirs)) // files and folders
	project := keys{"name", wellFormed(p.Name), "files", wellFormedAll(p.Files), "dirs",
		wellFormedAll(p.Dirs),
		"has_git", p.Git, "has_pyproject", p.Python, "has_package_json", p.Node, "has_dockerfile", p.Image}
	return success(keys{"project", project, "truncated?", total > 0, "total?", total, "at_least?", p.AtLeast,
		"unreadable?", p.Unreadable})
}
