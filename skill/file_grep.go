package skill

import (
	"context"
	"os"

	"textskill/skill/internal/search"
	"textskill/skill/internal/words"
)

// Grep looks for the lines that match Pattern, in the file Path or in all files
// below the folder Path. The pattern is a regular expression in RE2 syntax, which
// every line is judged by alone: see [search.Pattern]. Behind the last LF of a file
// is one more line, empty. Binary files are not searched: those with a NUL byte in
// their first 8 KiB.
type Grep struct {
	Path        string
	Pattern     string
	Literal     bool // the pattern is the text itself
	FoldCase    bool // letters match in either case
	Context     int  // lines to give before each match and behind it
	Git         bool // also in folders .git below Path
	SkipIgnored bool // what git ignores is left out
	Limit       int  // matches at the most; 0 means 1000
	MaxLine     int  // bytes of a line that are given; 0 means 2000
}

func (Grep) op() {}

// Grepped is what Grep found.
type Grepped struct {
	Path       string  // absolute
	Matches    []Match // by the bytes of the files' names, then by line
	More       int     // matching lines that the limits left out: ask for a larger Limit, or for a smaller Path
	Searched   int     // files
	Binary     int     // files that were not searched
	Unreadable int     // files and folders that could not be
	Ignored    int     // names that were left out as ignored, what is below them not counted
	Git        int     // names .git that were left out
	Cut        int     // lines longer than 16 MiB, of which the rest was not searched
}

// Match is a line that matches.
type Match struct {
	File    string   // absolute
	Line    int      // counted from 1
	Offset  int64    // of the line's first byte in the file
	Size    int      // bytes of the line without its LF
	Text    string   // of the line: all of it, or its first bytes if there are more than MaxLine
	Context []string // the line among its neighbours, each as Text; nil unless it was asked for
	From    int      // the number of the first line of Context
}

// Message counts the matches and the files, and what was not looked at.
func (g Grepped) Message() string {
	text := words.Count(len(g.Matches)+g.More, "matching line", "matching lines") + " in " +
		words.Count(g.Searched, "file", "files") + " of " + g.Path
	if g.More > 0 {
		text += "; " + words.Count(len(g.Matches), "is", "are") + " given: ask for a larger limit or in a smaller folder"
	}
	return text + notSearched([]leftOut{{g.Binary, " binary"}, {g.Ignored, " ignored by git"},
		{g.Unreadable, " unreadable"}, {g.Git, " .git"}, {g.Cut, " ends of lines over 16 MiB"}})
}

func (x *Executor) grep(ctx context.Context, s *Session, a Grep) (Result, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return nil, err
	}
	pattern, err := search.Compile(a.Pattern, search.PatternOptions{Literal: a.Literal, FoldCase: a.FoldCase})
	if err != nil {
		return nil, &ArgError{Arg: "pattern", Reason: err.Error()}
	}
	for arg, n := range map[string]int{"context": a.Context, "limit": a.Limit} {
		if n < 0 {
			return nil, &ArgError{Arg: arg, Reason: "is less than 0"}
		}
	}
	if a.Limit == 0 {
		a.Limit = 1000
	}
	if a.MaxLine <= 0 {
		a.MaxLine = 2000
	}
	first := &firstMatches{limit: a.Limit, room: x.cfg.MaxRead, maxLine: a.MaxLine}
	sum, err := search.Grep(ctx, x.ws, abs, pattern, search.WalkOptions{Git: a.Git, Ignore: a.SkipIgnored}, first.add)
	if err != nil {
		return nil, x.absent(abs, err)
	}
	matches := first.sorted()
	if a.Context > 0 {
		if matches, err = x.surround(ctx, matches, a); err != nil {
			return nil, err
		}
	}
	return Grepped{
		Path: abs, Matches: matches, More: sum.Count - len(matches), Searched: sum.Searched, Binary: sum.Binary,
		Unreadable: sum.Unreadable, Ignored: sum.Ignored, Git: sum.Git, Cut: sum.Cut,
	}, nil
}

// surround gives every match its context, until that is more than one answer
// carries.
func (x *Executor) surround(ctx context.Context, matches []Match, a Grep) ([]Match, error) {
	room := x.cfg.MaxRead
	var f *os.File
	for i := range matches {
		m := &matches[i]
		if i == 0 || m.File != matches[i-1].File {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if f != nil {
				f.Close()
			}
			f, _, _ = x.ws.Open(m.File) // nil if it has gone since
		}
		m.surround(f, a)
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

// surround sets the context, which is the line alone if f is nil or cannot be read.
func (m *Match) surround(f *os.File, a Grep) {
	var before, after []string
	if f != nil {
		before, after, _ = search.Around(f, m.Offset, m.Size, a.Context, a.MaxLine)
	}
	m.From = m.Line - len(before)
	m.Context = append(append(before, m.Text), after...)
}

// bytes returns about what m takes in an answer.
func (m *Match) bytes() (n int64) {
	n = int64(len(m.File) + len(m.Text) + 50)
	for _, text := range m.Context {
		n += int64(len(text)) + 5
	}
	return n
}
