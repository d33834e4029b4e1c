package dialect

import (
	"fmt"
	"strings"

	"textskill/skill"
)

// stackMemory are the tools that remember, and that describe the workspace.
var stackMemory = []Tool{
	row(Tool{Name: "memory_recall", Doc: "Find the files of the memory, MEMORY.md and memory/*.md, that " +
		"contain all words of a query, in any order and case. MEMORY.md is first, then those with the words " +
		"side by side, then those with more of them."},
		func(in *call, a struct {
			Query string `arg:"query" is:"required,empty" doc:"the words"`
			Limit int    `arg:"max_results" default:"5" doc:"maximum number of files"`
		}) (string, error) {
			if a.Limit < 0 {
				return "", fmt.Errorf("max_results is %d; give 0 or more", a.Limit)
			}
			found, err := do[skill.Recalled](in, skill.RecallMemory{Query: a.Query, Limit: a.Limit})
			return success(keys{"query", a.Query, "matches", wellFormedAll(found.Matches), "count",
				len(found.Matches), "total?", totalIfMore(found.Total, len(found.Matches)),
				"skipped?", wellFormedAll(found.Skipped)}), err
		}),
	row(Tool{Name: "memory_save", Doc: "Add an entry to MEMORY.md.", Effect: Adds},
		func(in *call, a struct {
			Key   string `arg:"key" is:"required" doc:"its title, one line"`
			Value string `arg:"value" is:"content,required,empty" doc:"what to remember"`
		}) (string, error) {
			c, err := do[skill.Changed](in, skill.SaveMemory{Key: a.Key, Value: a.Value})
			return success(keys{"key", a.Key, "saved", c.Applied}, dryRunOf(c)), err
		}),
	row(Tool{Name: "memory_list",
		Doc: "List the entries of MEMORY.md: titles, and the beginning of each."}, listMemory),
	row(Tool{Name: "context_load", Doc: "Load the files that describe the workspace: AGENTS.md, SOUL.md and " +
		"TOOLS.md, if they exist."}, loadContext),
	row(Tool{Name: "project_scan", Doc: "List the files of a project, top folders first, and the tools that " +
		"it is made for. The contents of .git and node_modules are left out."},
		func(in *call, a struct {
			Path string `arg:"path" is:"path" default:"." doc:"the project's folder"`
		}) (string, error) {
			path, err := in.afterLinks(a.Path, true)
			if err != nil {
				return "", err
			}
			p, err := do[skill.Project](in, skill.ScanProject{Path: path})
			total := totalIfMore(p.Total, len(p.Files)+len(p.Dirs)) // files and folders
			project := keys{"name", wellFormed(p.Name), "files", wellFormedAll(p.Files), "dirs",
				wellFormedAll(p.Dirs), "has_git", p.Git, "has_pyproject", p.Python, "has_package_json", p.Node,
				"has_dockerfile", p.Image}
			return success(keys{"project", project, "truncated?", total > 0, "total?", total,
					"at_least?", p.AtLeast, "unreadable?", p.Unreadable}),
				stackMissing("Path not found: %s", a.Path, err)
		}),
}

// stackOffset is where a long list continues.
type stackOffset struct {
	Offset int `arg:"offset" default:"0" doc:"entries to skip at the beginning"`
}

func (o stackOffset) check() error {
	if o.Offset < 0 {
		return fmt.Errorf("offset is %d; it counts from the beginning, 0 for none", o.Offset)
	}
	return nil
}

// next says of a list of total entries that shows n from the offset, where it continues.
func (o stackOffset) next(n, total int) keys {
	next := o.Offset + n
	if next >= total {
		return nil
	}
	return keys{"truncated", true, "total", total, "next_offset?", next}
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

func listMemory(in *call, a stackOffset) (string, error) {
	if err := a.check(); err != nil {
		return "", err
	}
	list, err := do[skill.Memories](in, skill.ListMemory{Offset: a.Offset})
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
		a.next(len(entries), list.Total)), err
}

func loadContext(in *call, _ struct {
	Projects []string `arg:"projects" doc:"not used; callers of the original may give it"`
}) (string, error) {
	c, err := do[skill.Context](in, skill.LoadContext{})
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
		"next?", next}), err
}
