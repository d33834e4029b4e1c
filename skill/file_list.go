package skill

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"textskill/skill/internal/words"
	"textskill/skill/internal/workspace"
)

// ListFolder lists the entries of a directory. It returns a [Listed].
type ListFolder struct {
	Path    string
	Hide    []string // names to leave out, in either case
	UTF16   bool     // sort names by UTF-16 code units, as JavaScript does, instead of bytes
	Details bool     // also describe each entry; fails if one cannot be described
	Limit   int      // maximum number of entries; 0 means all
}

func (ListFolder) op() {}

// Listed is the result of [ListFolder].
type Listed struct {
	Path    string // absolute
	Entries []workspace.Entry
	Infos   []Info // with Details, one for each entry: links are followed unless they lead outside
	More    int    // number of entries beyond the limit
}

// Message says how many entries are listed.
func (l Listed) Message() string {
	return words.Count(len(l.Entries), "entry", "entries") + " in " + l.Path
}

func (x *Executor) ListFolder(ctx context.Context, s *Session, a ListFolder) (Listed, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return Listed{}, err
	}
	l := Listed{Path: abs}
	if l.Entries, err = x.ws.ReadDir(abs); err != nil {
		return Listed{}, err
	}
	l.Entries = slices.DeleteFunc(l.Entries, func(e workspace.Entry) bool {
		return slices.ContainsFunc(a.Hide, func(name string) bool { return strings.EqualFold(name, e.Name) })
	})
	order := strings.Compare
	if a.UTF16 {
		order = compareUTF16
	}
	slices.SortFunc(l.Entries, func(a, b workspace.Entry) int { return order(a.Name, b.Name) })
	if a.Limit > 0 && len(l.Entries) > a.Limit {
		l.More = len(l.Entries) - a.Limit
		l.Entries = l.Entries[:a.Limit]
	}
	if a.Details {
		l.Infos, err = x.describe(ctx, l)
	}
	return l, err
}

// describe returns the Infos of the listed entries.
func (x *Executor) describe(ctx context.Context, l Listed) ([]workspace.Info, error) {
	infos := make([]workspace.Info, len(l.Entries))
	for i, e := range l.Entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := filepath.Join(l.Path, e.Name)
		info, err := x.ws.Stat(name, true)
		if errors.Is(err, ErrOutside) {
			info, err = x.ws.Stat(name, false)
		}
		if err != nil {
			return nil, err
		}
		infos[i] = info
	}
	return infos, nil
}

// compareUTF16 compares the UTF-16 encodings of two strings.
func compareUTF16(a, b string) int {
	for a != "" && b != "" {
		ra, na := utf8.DecodeRuneInString(a)
		rb, nb := utf8.DecodeRuneInString(b)
		if ra != rb {
			return cmp.Or(cmp.Compare(firstUnit(ra), firstUnit(rb)), cmp.Compare(ra, rb))
		}
		a, b = a[na:], b[nb:]
	}
	return cmp.Compare(len(a), len(b))
}

func firstUnit(r rune) rune {
	if r >= 0x10000 {
		r, _ = utf16.EncodeRune(r)
	}
	return r
}
