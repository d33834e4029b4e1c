package skill

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"textskill/skill/internal/search"
	"textskill/skill/internal/words"
)

// Find lists the files and folders below Path whose names match Pattern, at any
// depth. In the pattern, * ? and [...] match within a name, and ** any number of
// folders; a pattern that ends in / matches folders only. Links to folders are
// walked into only where a name in the pattern matches them. What is in a folder
// .git is found when Path is in it or the pattern names it.
type Find struct {
	Path        string
	Pattern     string
	Exclude     []string // patterns with braces; of one name they match at any depth, and folders with all below them
	SkipIgnored bool     // what git ignores is left out
	Limit       int      // matches at the most; 0 means 100
}

func (Find) op() {}

// Found is what Find matched, in the order of the names' bytes.
type Found struct {
	Path       string   // absolute
	Matches    []string // absolute
	More       int      // matches that the limit left out
	Excluded   int      // names that Exclude left out, what is below them not counted
	Ignored    int      // names that were left out as ignored, likewise
	Unreadable int      // folders that could not be read
	Git        int      // names .git that were left out
}

// Message counts the matches, and what was not looked at.
func (f Found) Message() string {
	text := words.Count(len(f.Matches)+f.More, "match", "matches") + " below " + f.Path
	return text + notSearched([]leftOut{{f.Excluded, " excluded"}, {f.Ignored, " ignored by git"}, {f.Unreadable, " unreadable"}, {f.Git, " .git"}})
}

// leftOut counts what a search did not look at.
type leftOut struct {
	count int
	words string
}

// notSearched tells of what there is, "" of nothing.
func notSearched(kinds []leftOut) string {
	var not []string
	for _, n := range kinds {
		if n.count > 0 {
			not = append(not, strconv.Itoa(n.count)+n.words)
		}
	}
	if len(not) == 0 {
		return ""
	}
	return "; not searched: " + strings.Join(not, ", ")
}

func (x *Executor) find(ctx context.Context, s *Session, a Find) (Result, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return nil, err
	}
	glob, err := search.ParseGlob(a.Pattern)
	if err != nil {
		return nil, &ArgError{Arg: "pattern", Reason: err.Error()}
	}
	o := search.FindOptions{Ignore: a.SkipIgnored, Limit: cmp.Or(a.Limit, 100)}
	for _, text := range a.Exclude {
		g, err := search.ParseBraces(text)
		if err != nil {
			return nil, &ArgError{Arg: "exclude", Reason: err.Error()}
		}
		o.Exclude = append(o.Exclude, g)
	}
	n, err := search.Find(ctx, x.ws, abs, glob, o)
	if err != nil {
		return nil, x.absent(abs, err)
	}
	return Found{abs, n.Paths, n.More, n.Excluded, n.Ignored, n.Unreadable, n.Git}, nil
}
