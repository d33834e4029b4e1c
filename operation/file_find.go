package operation

import (
	"context"
	"slices"

	"textskill/operation/search"
)

// Find lists the files and folders below Path whose names match Pattern, at any
// depth. In the pattern, * ? and [...] match within a name, and ** any number of
// folders; a pattern that ends in / matches folders only. Links to folders are not
// walked into.
type Find struct {
	Path    string
	Pattern string
	Limit   int // matches at the most; 0 means 100
}

func (Find) op() string { return "Find" }

// Found is what Find matched, in the order of the names' bytes.
type Found struct {
	Path    string   // absolute
	Matches []string // absolute
	More    int      // matches that the limit left out
}

// Message counts the matches.
func (f Found) Message() string {
	return count(len(f.Matches)+f.More, "match", "matches") + " below " + f.Path
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
	matches, err := search.Find(ctx, x.ws, abs, glob)
	if err != nil {
		return nil, x.absent(abs, err)
	}
	slices.Sort(matches)
	limit := a.Limit
	if limit == 0 {
		limit = 100
	}
	n := min(limit, len(matches))
	return Found{abs, matches[:n], len(matches) - n}, nil
}
