package skill

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"textskill/skill/internal/search"
	"textskill/skill/internal/words"
)

// Find lists the files and directories below Path that match Pattern, at any depth. In the
// pattern, * ? and [...] match within a name, and ** matches any number of directories; a
// pattern that ends in / matches directories only. Links to directories are followed only
// where a name in the pattern matches them. The contents of .git are searched only if Path
// is in it or the pattern names it. It returns a [Found].
type Find struct {
	Path    string
	Pattern string
	// in the pattern, {a,b} stands for a or b, and a [ or { that is never closed is an error
	Braces bool
	// patterns, always with braces; one without a slash matches at any depth; a matched directory
	// is excluded with its content
	Exclude     []string
	SkipIgnored bool // leave out what git ignores
	Limit       int  // maximum number of matches; 0 means 100
}

func (Find) op() {}

// Found is the result of [Find].
type Found struct {
	Path       string   // absolute
	Matches    []string // absolute, in byte order
	More       int      // number of further matches beyond the limit
	Excluded   int      // number of excluded entries, without their content
	Ignored    int      // number of ignored entries, without their content
	Unreadable int      // number of directories that could not be read
	Git        int      // number of .git directories that were not searched
	Links      int      // number of links to directories that were not followed
}

// Message says how many matches there are, and what was not searched.
func (f Found) Message() string {
	text := words.Count(len(f.Matches)+f.More, "match", "matches") + " below " + f.Path
	return text + notSearched([]leftOut{{f.Excluded, " excluded"}, {f.Ignored, " ignored by git"},
		{f.Unreadable, " unreadable"}, {f.Git, " .git"}, linked(f.Links)})
}

// leftOut is a number of entries that a search skipped, and their description.
type leftOut struct {
	count int
	words string
}

func linked(folders int) leftOut {
	if folders == 1 {
		return leftOut{1, " linked folder"}
	}
	return leftOut{folders, " linked folders"}
}

// notSearched describes the kinds that occur, or returns "".
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

func (x *Executor) Find(ctx context.Context, s *Session, a Find) (Found, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return Found{}, err
	}
	parse := search.ParseGlob
	if a.Braces {
		parse = search.ParseBraces
	}
	glob, err := parse(a.Pattern)
	if err != nil {
		return Found{}, &ArgError{Arg: "pattern", Reason: err.Error()}
	}
	o := search.FindOptions{Ignore: a.SkipIgnored, Limit: cmp.Or(a.Limit, 100)}
	if o.Exclude, err = parseGlobs("exclude", a.Exclude); err != nil {
		return Found{}, err
	}
	n, err := search.Find(ctx, x.ws, abs, glob, o)
	if err != nil {
		return Found{}, x.listError(abs, err)
	}
	return Found{abs, n.Paths, n.More, n.Excluded, n.Ignored, n.Unreadable, n.Git, n.Links}, nil
}

// parseGlobs parses the patterns in the argument arg, which may have braces.
func parseGlobs(arg string, patterns []string) (list []search.Glob, err error) {
	for _, text := range patterns {
		g, err := search.ParseBraces(text)
		if err != nil {
			return nil, &ArgError{Arg: arg, Reason: err.Error()}
		}
		list = append(list, g)
	}
	return list, nil
}
