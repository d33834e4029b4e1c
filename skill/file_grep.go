package skill

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"textskill/skill/internal/search"
	"textskill/skill/internal/words"
)

// Grep finds the lines that match Pattern in the file Path, or in all files below the
// directory Path. The pattern is a regular expression in RE2 syntax and is matched against
// single lines. A file that ends with LF has one more, empty line, unless NoLast is set.
// Binary files, with a NUL byte in their first 8 KiB, are not searched, but for those in
// UTF-16 with a byte order mark. It returns a [Grepped].
type Grep struct {
	Path        string
	Pattern     string
	Literal     bool     // Pattern is plain text
	FoldCase    bool     // ignore case
	NoLast      bool     // the empty line after the last LF does not count
	Context     int      // number of lines to return before and after each match
	Git         bool     // also search .git directories below Path
	SkipIgnored bool     // leave out what git ignores
	Include     []string // patterns as in Find.Exclude: only files that one of them matches; nil means all
	Limit       int      // maximum number of matches; 0 means 1000
	MaxLine     int      // bytes to return of each line; 0 means 2000
	Excerpt     bool     // of a longer line that matches, return the part that does, not its beginning
	MaxBytes    int64    // bytes to return in all, about; 0 means Config.MaxRead
}

func (Grep) op() {}

// Grepped is the result of [Grep].
type Grepped struct {
	Path       string  // absolute
	Matches    []Match // in byte order of the files, then by line
	More       int     // number of further matching lines beyond Limit or MaxBytes
	Searched   int     // number of files
	Binary     int     // number of binary files, which were not searched
	Unreadable int     // number of files and directories that could not be read
	Ignored    int     // number of ignored entries, without their content
	Git        int     // number of .git directories that were not searched
	Links      int     // number of links to directories, which were not followed
	Cut        int     // number of lines over 16 MiB, searched only at the start
}

// A Match is a line that matches.
type Match struct {
	File    string   // absolute
	Line    int      // from 1
	Offset  int64    // of the line's first byte in the file, as UTF-8, from 0
	Size    int      // bytes of the line without its LF
	Text    string   // the line, or Grep.MaxLine bytes of it
	At      int      // bytes of the line before Text; 0 without Grep.Excerpt
	Context []string // the lines around it and Text itself; nil if Grep.Context is 0
	From    int      // number of the first line of Context
}

// Message says how many lines match in how many files, and what was not searched.
func (g Grepped) Message() string {
	text := words.Count(len(g.Matches)+g.More, "matching line", "matching lines") + " in " +
		words.Count(g.Searched, "file", "files") + " of " + g.Path
	if g.More > 0 {
		text += "; " + words.Count(len(g.Matches), "is", "are") +
			" given: ask for a larger limit or in a smaller folder"
	}
	return text + notSearched([]leftOut{{g.Binary, " binary"}, {g.Ignored, " ignored by git"},
		{g.Unreadable, " unreadable"}, {g.Git, " .git"}, linked(g.Links),
		{g.Cut, " ends of lines over 16 MiB"}})
}

func (x *Executor) Grep(ctx context.Context, s *Session, a Grep) (Grepped, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return Grepped{}, err
	}
	pattern, err := search.Compile(a.Pattern,
		search.PatternOptions{Literal: a.Literal, FoldCase: a.FoldCase, NoLast: a.NoLast})
	if err != nil {
		return Grepped{}, &ArgError{Arg: "pattern", Reason: err.Error()}
	}
	for arg, n := range map[string]int{"context": a.Context, "limit": a.Limit} {
		if n < 0 {
			return Grepped{}, &ArgError{Arg: arg, Reason: "is less than 0"}
		}
	}
	if a.Limit == 0 {
		a.Limit = 1000
	}
	if a.MaxLine <= 0 {
		a.MaxLine = 2000
	}
	a.MaxBytes = cmp.Or(a.MaxBytes, x.cfg.MaxRead)
	o := search.GrepOptions{WalkOptions: search.WalkOptions{Git: a.Git, Ignore: a.SkipIgnored},
		Decode: decodeUTF16}
	if o.Include, err = parseGlobs("glob", a.Include); err != nil {
		return Grepped{}, err
	}
	first := &firstMatches{limit: a.Limit, room: a.MaxBytes, maxLine: a.MaxLine}
	if a.Excerpt {
		first.excerpt = pattern
	}
	sum, err := search.Grep(ctx, x.ws, abs, pattern, o, first.add)
	if err != nil {
		return Grepped{}, x.listError(abs, err)
	}
	matches := first.sorted()
	if a.Context > 0 {
		if matches, err = x.surround(ctx, matches, a); err != nil {
			return Grepped{}, err
		}
	}
	if s.Guard.on() {
		for _, m := range matches {
			if m.At == 0 && len(m.Text) == m.Size {
				s.noteFound(m.File, m.Line, strings.TrimSuffix(m.Text, "\r"))
			}
		}
	}
	return Grepped{
		Path: abs, Matches: matches, More: sum.Count - len(matches), Searched: sum.Searched,
		Binary:     sum.Binary,
		Unreadable: sum.Unreadable, Ignored: sum.Ignored, Git: sum.Git, Links: sum.Links, Cut: sum.Cut,
	}, nil
}

// surround adds the context to the matches, and drops the last ones if the answer would
// exceed MaxBytes.
func (x *Executor) surround(ctx context.Context, matches []Match, a Grep) ([]Match, error) {
	room := a.MaxBytes
	var f *os.File
	var text io.ReaderAt
	for i := range matches {
		m := &matches[i]
		if i == 0 || m.File != matches[i-1].File {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if f != nil {
				f.Close()
			}
			f, text = x.openText(m.File, a.NoLast)
		}
		m.surround(text, a)
		if room -= m.bytes(); room < 0 {
			matches = matches[:i]
			break
		}
	}
	if f != nil {
		f.Close()
	}
	return matches, nil
}

// openText opens a file to read what was searched of it; both are nil if it has been removed since.
// With noLast the text ends before a last LF.
func (x *Executor) openText(abs string, noLast bool) (*os.File, io.ReaderAt) {
	f, info, err := x.ws.Open(abs)
	if err != nil {
		return nil, nil
	}
	text, size := io.ReaderAt(f), info.Size
	if decoded, ok := decodeUTF16(f, size); ok {
		text, size = bytes.NewReader(decoded), int64(len(decoded))
	}
	if noLast && endsLine(text, size) {
		text = io.NewSectionReader(text, 0, size-1)
	}
	return f, text
}

// surround sets Context and From. If text is nil or cannot be read, Context is the line alone.
func (m *Match) surround(text io.ReaderAt, a Grep) {
	var before, after []string
	if text != nil {
		before, after, _ = search.Around(text, m.Offset, m.Size, a.Context, a.MaxLine)
	}
	m.From = m.Line - len(before)
	m.Context = append(append(before, m.Text), after...)
}

// bytes returns the approximate size of m in an answer.
func (m *Match) bytes() (n int64) {
	n = int64(len(m.File) + len(m.Text) + 50)
	for _, text := range m.Context {
		n += int64(len(text)) + 5
	}
	return n
}

// firstMatches collects matches in any order of files, and keeps the first ones by file
// and line: at most limit matches and room bytes. Between trims it holds up to twice that.
type firstMatches struct {
	limit   int
	room    int64
	maxLine int             // Grep.MaxLine
	excerpt *search.Pattern // with Grep.Excerpt

	mu    sync.Mutex
	files map[string][]Match
	count int
	bytes int64
	bound string // matches in this file and later ones are dropped; "" means none are
}

// add adds matching lines of a file, in their order. A file may take several calls.
func (f *firstMatches) add(file string, lines []search.Line) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bound != "" && file >= f.bound {
		return
	}
	kept := f.files[file]
	for _, line := range lines[:min(len(lines), f.limit-len(kept))] {
		m := Match{File: file, Line: line.Number, Offset: line.Offset, Size: len(line.Text)}
		if f.excerpt != nil {
			m.At = f.excerpt.Skip(line.Text, f.maxLine)
		}
		m.Text = string(search.Shorten(line.Text[m.At:], f.maxLine))
		kept = append(kept, m)
		f.count++
		f.bytes += m.bytes()
	}
	if f.files == nil {
		f.files = map[string][]Match{}
	}
	f.files[file] = kept
	if f.count >= 2*f.limit || f.bytes >= 2*f.room {
		f.trim()
	}
}

// trim drops the matches beyond the limits. It returns the files that are left, sorted.
func (f *firstMatches) trim() []string {
	names := slices.Sorted(maps.Keys(f.files))
	f.count, f.bytes = 0, 0
	for i, name := range names {
		kept := f.files[name]
		for j := range kept {
			size := kept[j].bytes()
			if f.count == f.limit || f.bytes+size > f.room {
				f.files[name], f.bound = kept[:j], name
				for _, later := range names[i+1:] {
					delete(f.files, later)
				}
				return names[:i+1]
			}
			f.count++
			f.bytes += size
		}
	}
	return names
}

// sorted returns the first matches by file and line.
func (f *firstMatches) sorted() []Match {
	names := f.trim()
	matches := make([]Match, 0, f.count)
	for _, name := range names {
		matches = append(matches, f.files[name]...)
	}
	return matches
}
