package skill

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"textskill/skill/internal/search"
	"textskill/skill/internal/words"
	"textskill/skill/internal/workspace"
)

// The memory of a workspace consists of the entries of a file at its root and of any
// Markdown files below a directory at its root.
const (
	memoryFile   = "MEMORY.md"
	memoryFolder = "memory"
)

// SaveMemory appends an entry to MEMORY.md: a heading, the time and the value. It returns
// a [Changed].
type SaveMemory struct {
	Key   string // one line, not empty
	Value string
}

// ListMemory lists the entries of MEMORY.md. It returns [Memories].
type ListMemory struct {
	Offset int // number of entries to skip
	Limit  int // maximum number of entries; 0 means 1000
}

// RecallMemory finds the files of the memory that contain all words of a query, in any
// order and case. It returns a [Recalled].
type RecallMemory struct {
	Query string
	Limit int // maximum number of files
}

func (SaveMemory) op()   {}
func (ListMemory) op()   {}
func (RecallMemory) op() {}

// A Memory is one entry of MEMORY.md.
type Memory struct{ Title, Content string }

// Memories is the result of [ListMemory].
type Memories struct {
	Entries []Memory // the oldest first
	Total   int      // number of entries in the file
	NotText bool     // the file is not UTF-8
}

// Message says how many entries there are.
func (m Memories) Message() string { return words.Count(m.Total, "memory", "memories") }

// Recalled is the result of [RecallMemory].
type Recalled struct {
	// absolute: MEMORY.md first, then those with the whole query, with more of its words, by name
	Matches []string
	Total   int      // number of matching files
	Skipped []string // absolute: files that are not UTF-8, too large, or unreadable
}

// Message says how many files match.
func (r Recalled) Message() string { return words.Count(r.Total, "file", "files") + " of the memory" }

var (
	headingMark = words.Pattern(`##(\\*)# `)
	escapedMark = words.Pattern(`##\\(\\*)# `)
	dateLine    = words.Pattern(`^_.*_$`)
)

// escapeHeadings puts a Markdown backslash before the last # of "### " in a value, which
// would otherwise start an entry. unescapeHeadings is its inverse.
func escapeHeadings(s string) string   { return headingMark().ReplaceAllString(s, `##\$1# `) }
func unescapeHeadings(s string) string { return escapedMark().ReplaceAllString(s, `##$1# `) }

func (x *Executor) SaveMemory(ctx context.Context, _ *Session, a SaveMemory) (Changed, error) {
	switch {
	case strings.TrimSpace(a.Key) == "":
		return Changed{}, &ArgError{Arg: "key", Reason: "is empty; give the entry a title"}
	case strings.ContainsAny(a.Key, "\r\n"):
		return Changed{}, &ArgError{Arg: "key", Reason: "holds a line break; a title is one line"}
	}
	entry := memoryEntry(a.Key, a.Value, time.Now())
	c, err := x.ws.AppendFile(ctx, filepath.Join(x.ws.Dir(), memoryFile), []byte(entry),
		workspace.WriteOptions{})
	return Changed{Change: c, Bytes: int64(len(entry))}, err
}

// memoryEntry returns the text of an entry in the file.
func memoryEntry(key, value string, at time.Time) string {
	return "\n### " + key + "\n_" + at.Format("2006-01-02 15:04") + "_\n" + escapeHeadings(value) + "\n"
}

func (x *Executor) ListMemory(_ context.Context, _ *Session, a ListMemory) (Memories, error) {
	text, err := x.readText(filepath.Join(x.ws.Dir(), memoryFile), maxStore)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Memories{}, err
	}
	entries := memories(text)
	return Memories{paginate(entries, a.Offset, a.Limit), len(entries), !utf8.ValidString(text)}, nil
}

// memories returns the entries of a file. A line that begins with "### " starts an entry;
// the line after it may be its time.
func memories(text string) (list []Memory) {
	var title string
	var body []string
	open := false
	closeEntry := func() {
		if len(body) > 0 && dateLine().MatchString(words.Strip(body[0])) {
			body = body[1:]
		}
		if open {
			list = append(list, Memory{title, words.Strip(unescapeHeadings(strings.Join(body, "\n")))})
		}
		body = nil
	}
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		if heading, ok := strings.CutPrefix(line, "### "); ok {
			closeEntry()
			title, open = words.Strip(heading), true
			continue
		}
		body = append(body, line)
	}
	closeEntry()
	return list
}

func (x *Executor) RecallMemory(ctx context.Context, _ *Session, a RecallMemory) (Recalled, error) {
	names, err := x.memoryFiles(ctx)
	if err != nil {
		return Recalled{}, err
	}
	r := Recalled{Matches: []string{}}
	query := strings.ToLower(a.Query)
	type match struct {
		path  string
		score int
	}
	var found []match
	for i, abs := range names {
		if err := ctx.Err(); err != nil {
			return Recalled{}, err
		}
		text, err := x.readText(abs, maxStore)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil, !utf8.ValidString(text):
			r.Skipped = append(r.Skipped, abs)
		default:
			score := relevance(strings.ToLower(unescapeHeadings(text)), query)
			if i == 0 && score > 0 {
				score = math.MaxInt
			}
			if score > 0 {
				found = append(found, match{abs, score})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b match) int { return cmp.Compare(b.score, a.score) })
	r.Total = len(found)
	for _, m := range found[:min(len(found), max(0, a.Limit))] {
		r.Matches = append(r.Matches, m.path)
	}
	return r, nil
}

// relevance rates a text for a query: 0 if it lacks one of the words, else more the more
// of them it has; a text with the whole query is above all without it.
func relevance(text, query string) int {
	score := 1
	for word := range strings.FieldsSeq(query) {
		n := strings.Count(text, word)
		if n == 0 {
			return 0
		}
		score += min(n, 1000)
	}
	if strings.Contains(text, query) {
		score += 1 << 30
	}
	return score
}

// memoryFiles returns the absolute paths of the files that may hold memory.
func (x *Executor) memoryFiles(ctx context.Context) ([]string, error) {
	dir := filepath.Join(x.ws.Dir(), memoryFolder)
	var mu sync.Mutex
	var names []string
	_, err := search.Walk(ctx, x.ws, dir, search.WalkOptions{}, func(_ int, e *search.Entry) error {
		if (e.Type.IsRegular() || e.Type == fs.ModeSymlink) && strings.HasSuffix(string(e.Name), ".md") {
			mu.Lock()
			defer mu.Unlock()
			names = append(names, filepath.Join(dir, e.Path()))
		}
		return nil
	})
	if err != nil && x.isFolder(dir) {
		return nil, err
	}
	slices.Sort(names)
	return append([]string{filepath.Join(x.ws.Dir(), memoryFile)}, names...), nil
}

// maxStore is the size in bytes of the largest file of memory, tasks or plans.
const maxStore = 64 << 20

// readText reads a file, or fails if it exceeds limit bytes.
func (x *Executor) readText(abs string, limit int64) (string, error) {
	info, err := x.ws.Stat(abs, true)
	if err != nil {
		return "", err
	}
	if info.Size > limit {
		return "", &TooLargeError{abs, info.Size, limit}
	}
	data, err := x.ws.ReadFile(abs)
	return string(data), err
}
