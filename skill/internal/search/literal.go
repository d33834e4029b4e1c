package search

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxSet      = 32  // strings that a part of a pattern is spelled out to
	maxSetBytes = 512 // and their bytes
	maxLiterals = 12  // strings that are looked for at once
)

// literals are strings; every match holds at least one.
type literals struct {
	set   []string // nil where no such strings are known; empty where nothing matches
	fold  bool     // in either case; the strings are in lower case
	sure  bool     // and a line that holds one matches
	ahead int      // bytes ahead of the one that is found in which a match may begin; -1 for any number
}

// needed returns the literals of a pattern for lines, which hold no LF.
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
	if p.first { // another one that overlaps with it may stand before it
		for _, s := range lit.set {
			lit.ahead = max(lit.ahead, len(s)-1)
		}
	}
	lit.sure = !x.guarded && slices.Equal(p.all, p.best)
	lit.set = slices.DeleteFunc(slices.Clone(lit.set),
		func(s string) bool { return strings.Contains(s, "\n") })
	return lit
}

// known is what is known of the strings that a part of a pattern matches.
type known struct {
	all  []string // these, and no others; nil if not known
	ends []string // each begins with one of these, and ends with one; nil if not known
	best []string // each holds one of these; nil if not known

	first bool // each begins with one of best
}

// offer makes set the best, if it is better.
func (x *extractor) offer(p *known, set []string, first bool) {
	if len(set) == 0 || len(set) > maxLiterals || slices.Contains(set, "") {
		return
	}
	if p.best == nil || x.cost(set) < x.cost(p.best) {
		p.best, p.first = set, first
	}
}

type extractor struct {
	fold    bool // everything is looked for in either case
	guarded bool // the strings alone do not make a match
}

// folds reports whether a part of re is to match in either case.
func folds(re *syntax.Regexp) bool {
	return re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase != 0 || slices.ContainsFunc(re.Sub, folds)
}

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

// literal is exact where each of its letters folds to nothing but the other case
// of ASCII; U+017F folds to s, and U+212A to k.
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

// class spells a small class out.
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

// unspelled reports whether bytes other than UTF-8 stand for r: an invalid
// byte is judged as U+FFFD.
func unspelled(r rune) bool { return r == utf8.RuneError || !utf8.ValidRune(r) }

// concat joins what is spelled out in full as far as that goes.
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

// cross returns every string of a followed by every one of b, nil if those are
// too many or one of the sets is not known.
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

// union returns the strings of both sets, each once, nil if those are too many.
func union(a, b []string) []string {
	both := append(slices.Clone(a), b...)
	slices.Sort(both)
	if both = slices.Compact(both); len(both) > maxSet {
		return nil
	}
	return both
}

// cost estimates what it takes per byte of a text, in nanoseconds, to look for every
// one of set and to judge the lines that hold one.
func (x *extractor) cost(set []string) float64 {
	_, _, cost := bestGrams(set, x.fold)
	cost = min(cost, costOfVector(set), costOfBytes(set, x.fold))
	for _, s := range set {
		cost += 80 * chance(s)
	}
	return cost
}

// rarest returns where the least common byte of s stands, and how common it is.
func rarest(s string) (at int, how uint16) {
	for i := range len(s) {
		if c := commonness[s[i]]; i == 0 || c < how {
			at, how = i, c
		}
	}
	return at, how
}
