package search

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxSet      = 32  // strings that a part of a pattern may expand to
	maxSetBytes = 512 // bytes of these strings in total
	maxLiterals = 12  // strings that are searched for at once
)

// literals are strings. Every match of a pattern contains at least one of them.
type literals struct {
	set   []string // nil if no such strings are known; empty if the pattern matches nothing
	fold  bool     // ignore case; the strings are in lower case
	sure  bool     // every line that contains a literal matches
	ahead int      // a match begins at most so many bytes before the literal; -1 for no limit
}

// needed returns the literals of a pattern. A line holds no LF, so literals with LF are dropped.
func needed(re *syntax.Regexp) literals {
	x := extractor{fold: folds(re)}
	p := x.part(re)
	if p.all != nil {
		x.offer(&p, p.all, true)
	}
	lit := literals{set: p.best, fold: x.fold, ahead: -1}
	if lit.set == nil || len(lit.set) > maxLiterals {
		return literals{fold: x.fold, ahead: -1}
	}
	if p.first { // the found literal may overlap an earlier one that starts the match
		for _, s := range lit.set {
			lit.ahead = max(lit.ahead, len(s)-1)
		}
	}
	lit.sure = !x.guarded && slices.Equal(p.all, p.best)
	lit.set = slices.DeleteFunc(slices.Clone(lit.set),
		func(s string) bool { return strings.Contains(s, "\n") })
	return lit
}

// known describes the strings that a part of a pattern matches. A nil set is not known.
type known struct {
	all  []string // exactly the strings that match
	ends []string // each match begins with one of these, and ends with one of these
	best []string // each match contains one of these

	first bool // each match begins with one of best
}

// offer replaces p.best by set if set is cheaper to search for.
func (x *extractor) offer(p *known, set []string, first bool) {
	if len(set) == 0 || len(set) > maxLiterals || slices.Contains(set, "") {
		return
	}
	if p.best == nil || x.cost(set) < x.cost(p.best) {
		p.best, p.first = set, first
	}
}

type extractor struct {
	fold    bool // search for all strings in either case
	guarded bool // the pattern has conditions besides the strings: a literal alone is not a match
}

// folds reports whether a part of re ignores case.
func folds(re *syntax.Regexp) bool {
	return re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase != 0 || slices.ContainsFunc(re.Sub, folds)
}

// part describes the strings that re matches.
func (x *extractor) part(re *syntax.Regexp) known {
	switch re.Op {
	case syntax.OpLiteral:
		return x.literal(re)
	case syntax.OpCharClass:
		return x.class(re.Rune)
	case syntax.OpEmptyMatch:
		return known{all: []string{""}}
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		x.guarded = true
		return known{all: []string{""}}
	case syntax.OpCapture:
		return x.part(re.Sub[0])
	case syntax.OpConcat:
		return x.concat(re.Sub)
	case syntax.OpAlternate:
		return x.alternate(re.Sub)
	case syntax.OpQuest:
		if p := x.part(re.Sub[0]); p.all != nil {
			return known{all: union(p.all, []string{""})}
		}
	case syntax.OpPlus:
		p := x.part(re.Sub[0])
		x.offer(&p, p.all, true)
		return known{best: p.best, first: p.first, ends: p.all}
	}
	return known{}
}

// literal describes a literal. It is exact if each letter only folds to the other ASCII case; k
// and s do not, because U+212A folds to k and U+017F to s.
func (x *extractor) literal(re *syntax.Regexp) known {
	if slices.ContainsFunc(re.Rune, unspelled) {
		return known{}
	}
	if !x.fold {
		return known{all: []string{string(re.Rune)}}
	}
	plain := func(r rune) bool { return r < 0x80 && !strings.ContainsRune("kKsS", r) }
	var p known
	for rest := re.Rune; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(r rune) bool { return !plain(r) })
		if n < 0 {
			n = len(rest)
		}
		if n == len(re.Rune) {
			x.guarded = x.guarded || re.Flags&syntax.FoldCase == 0
			return known{all: []string{strings.ToLower(string(rest))}}
		}
		if n > 0 {
			x.offer(&p, []string{strings.ToLower(string(rest[:n]))}, len(rest) == len(re.Rune))
		}
		rest = rest[min(n+1, len(rest)):]
	}
	return p
}

// class lists the characters of a small class.
func (x *extractor) class(pairs []rune) known {
	var all []string
	for i := 0; i < len(pairs); i += 2 {
		if x.fold || int(pairs[i+1]-pairs[i])+len(all) >= maxLiterals {
			return known{}
		}
		for r := pairs[i]; r <= pairs[i+1]; r++ {
			if unspelled(r) {
				return known{}
			}
			all = append(all, string(r))
		}
	}
	return known{all: all}
}

// unspelled reports whether bytes that are not the UTF-8 form of r match r: an invalid byte matches
// U+FFFD.
func unspelled(r rune) bool { return r == utf8.RuneError || !utf8.ValidRune(r) }

// concat describes a sequence. It joins the strings of its parts as long as they are exact and few.
func (x *extractor) concat(subs []*syntax.Regexp) known {
	whole, p := true, known{}
	all := []string{""}
	for _, sub := range subs {
		next := x.part(sub)
		if product := cross(all, next.all); product != nil {
			all = product
			continue
		}
		x.offer(&p, all, whole)
		x.offer(&p, cross(all, next.ends), whole)
		x.offer(&p, next.best, whole && next.first && slices.Equal(all, []string{""}))
		whole = false
		switch {
		case next.all != nil:
			all = next.all
		case next.ends != nil:
			all = next.ends
		default:
			all = []string{""}
		}
	}
	if whole {
		p.all = all
	} else {
		x.offer(&p, all, false)
	}
	return p
}

// alternate describes a choice: the union of the strings of its parts.
func (x *extractor) alternate(subs []*syntax.Regexp) known {
	p := known{all: []string{}, best: []string{}, first: true}
	for _, sub := range subs {
		next := x.part(sub)
		if next.all == nil {
			p.all = nil
		}
		if p.all != nil {
			p.all = union(p.all, next.all)
		}
		x.offer(&next, next.all, true)
		if next.best == nil {
			p.best = nil
		}
		p.first = p.first && next.first
		if p.best != nil {
			p.best = union(p.best, next.best)
		}
	}
	return p
}

// cross returns every string of a followed by every string of b. It returns nil if these are too
// many, or if a or b is nil.
func cross(a, b []string) []string {
	if a == nil || b == nil || len(a)*len(b) > maxSet {
		return nil
	}
	bytes := 0
	product := []string{}
	for _, first := range a {
		for _, second := range b {
			product = append(product, first+second)
			bytes += len(first) + len(second)
		}
	}
	if bytes > maxSetBytes {
		return nil
	}
	return product
}

// union returns the strings of both sets without duplicates, nil if these are too many.
func union(a, b []string) []string {
	both := append(slices.Clone(a), b...)
	slices.Sort(both)
	if both = slices.Compact(both); len(both) > maxSet {
		return nil
	}
	return both
}

// cost estimates the nanoseconds per byte of text to search for each string of set by its rarest
// byte, and to match the lines that contain one.
func (x *extractor) cost(set []string) (sum float64) {
	for _, s := range set {
		_, how := rarest(s)
		sum += 0.04 + 30*float64(how)/65536 + 80*chance(s)
		if x.fold {
			sum += 0.04
		}
	}
	return sum
}

// chance estimates how often s occurs per byte of text. The factors 0.25 and 4 allow for letters
// that often occur together.
func chance(s string) float64 {
	share := 0.25
	for i := range len(s) {
		share *= min(1, 4*float64(commonness[s[i]])/65536)
	}
	return share
}

// rarest returns the offset of the least common byte of s, and its commonness.
func rarest(s string) (at int, how uint16) {
	for i := range len(s) {
		if c := commonness[s[i]]; i == 0 || c < how {
			at, how = i, c
		}
	}
	return at, how
}
