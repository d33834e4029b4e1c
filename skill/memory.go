package skill

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"textskill/skill/internal/search"
	"textskill/skill/internal/words"
	"textskill/skill/internal/workspace"
)

// The memory of a workspace are entries in a file at its root, and files of any
// shape below a folder beside it.
const (
	memoryFile   = "MEMORY.md"
	memoryFolder = "memory"
)

// SaveMemory adds an entry to the end of MEMORY.md: a heading, the time, the value.
type SaveMemory struct {
	Key   string // one line, not empty
	Value string
}

// ListMemory lists the entries of MEMORY.md.
type ListMemory struct {
	Offset int // entries to leave out at the beginning
	Limit  int // entries at the most; 0 means 1000
}

// RecallMemory finds the files of the memory that hold a text, in letters of any case.
type RecallMemory struct {
	Query string
	Limit int // files at the most
}

func (SaveMemory) op()   {}
func (ListMemory) op()   {}
func (RecallMemory) op() {}

// A Memory is one entry.
type Memory struct{ Title, Content string }

// Memories are the entries that ListMemory chose, oldest first.
type Memories struct {
	Entries []Memory
	Total   int // of all entries
}

// Message counts the entries.
func (m Memories) Message() string { return words.Count(m.Total, "memory", "memories") }

// Recalled are the files that RecallMemory found: MEMORY.md first, the others by name.
type Recalled struct {
	Matches []string // absolute
	Total   int      // how many match
	Skipped []string // absolute: files that are no UTF-8, too large, or cannot be read
}

// Message counts the files.
func (r Recalled) Message() string { return words.Count(r.Total, "file", "files") + " of the memory" }

var (
	opener  = words.Pattern(`##(\\*)# `)
	escaped = words.Pattern(`##\\(\\*)# `)
	dated   = words.Pattern(`^_.*_$`)
)

// escapeHeadings keeps "### " in a value from opening an entry: a backslash goes
// before the last of the three, as Markdown has it. unescapeHeadings is its inverse.
func escapeHeadings(s string) string   { return opener().ReplaceAllString(s, `##\$1# `) }
func unescapeHeadings(s string) string { return escaped().ReplaceAllString(s, `##$1# `) }

func (x *Executor) saveMemory(ctx context.Context, a SaveMemory) (Result, error) {
	key := strings.TrimSpace(a.Key)
	switch {
	case key == "":
		return nil, &ArgError{Arg: "key", Reason: "is empty; give the entry a title"}
	case strings.ContainsAny(key, "\r\n"):
		return nil, &ArgError{Arg: "key", Reason: "holds a line break; a title is one line"}
	}
	entry := memoryEntry(key, a.Value, time.Now())
	c, err := x.ws.AppendFile(ctx, filepath.Join(x.ws.Dir(), memoryFile), []byte(entry), workspace.WriteOptions{})
	if err != nil {
		return nil, err
	}
	return Changed{Change: c, Bytes: int64(len(entry))}, nil
}

// memoryEntry is how an entry stands in the file.
func memoryEntry(key, value string, at time.Time) string {
	return "\n### " + key + "\n_" + at.Format("2006-01-02 15:04") + "_\n" + escapeHeadings(value) + "\n"
}

func (x *Executor) listMemory(a ListMemory) (Result, error) {
	text, err := x.smallText(filepath.Join(x.ws.Dir(), memoryFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	entries := memories(text)
	return Memories{portion(entries, a.Offset, a.Limit), len(entries)}, nil
}

// Strip takes blanks off both ends, as Python's str.strip does: U+001C to U+001F too.
func Strip(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f })
}

// memories splits a file into its entries. A line that begins with "### " opens
// one; the next may be its time.
func memories(text string) (list []Memory) {
	var title string
	var body []string
	open := false
	shut := func() {
		if len(body) > 0 && dated().MatchString(Strip(body[0])) {
			body = body[1:]
		}
		if open {
			list = append(list, Memory{title, Strip(unescapeHeadings(strings.Join(body, "\n")))})
		}
		body = nil
	}
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		if heading, ok := strings.CutPrefix(line, "### "); ok {
			shut()
			title, open = Strip(heading), true
			continue
		}
		body = append(body, line)
	}
	shut()
	return list
}

func (x *Executor) recallMemory(ctx context.Context, a RecallMemory) (Result, error) {
	names, err := x.memoryFiles(ctx)
	if err != nil {
		return nil, err
	}
	r := Recalled{Matches: []string{}}
	query := strings.ToLower(a.Query)
	for _, abs := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		text, err := x.smallText(abs)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil, !utf8.ValidString(text):
			r.Skipped = append(r.Skipped, abs)
		case strings.Contains(strings.ToLower(unescapeHeadings(text)), query):
			if r.Total++; r.Total <= a.Limit {
				r.Matches = append(r.Matches, abs)
			}
		}
	}
	return r, nil
}

// memoryFiles names the files that memory may be in.
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

// smallText reads a file that is not larger than one answer.
func (x *Executor) smallText(abs string) (string, error) {
	info, err := x.ws.Stat(abs, true)
	if err != nil {
		return "", err
	}
	if info.Size > x.cfg.MaxRead {
		return "", &TooLargeError{abs, info.Size, x.cfg.MaxRead}
	}
	data, err := x.ws.ReadFile(abs)
	return string(data), err
}
