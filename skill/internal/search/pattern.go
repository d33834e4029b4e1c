package search

import (
	"bytes"
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

// A Pattern matches lines. It is safe for concurrent use.
//
// It is a regular expression in the RE2 syntax of package regexp with a few changes from Python:
// \w, \d, \s and \b are Unicode, \Z is \z, \u00e4 is \x{00e4}, and x{,3} is x{0,3}. [[:alpha:]]
// is ASCII. Lookaround and backreferences are not supported. Each line is matched separately,
// without its LF: ^ and $ are its ends. A line with a final CR matches with or without the CR, so
// that $ also matches before a Windows line end.
type Pattern struct {
	re       *regexp.Regexp
	prog     *syntax.Prog
	literals literals
	empty    bool // the empty line matches
}

// PatternOptions say how Compile reads a pattern.
type PatternOptions struct {
	Literal  bool // the pattern is the text itself
	FoldCase bool // letters match in either case
	NoLast   bool // a final LF of a file does not begin another, empty line
}

// Compile parses a pattern. The error names the syntax that RE2 lacks.
func Compile(expr string, opts PatternOptions) (*Pattern, error) {
	if opts.Literal {
		expr = regexp.QuoteMeta(expr)
	}
	expr = namedRunes(expr)
	if _, err := syntax.Parse(strings.ReplaceAll(expr, `\Z`, `\z`), syntax.Perl); err != nil {
		return nil, unreadable(err)
	}
	expr = asPython(expr)
	if opts.FoldCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, unreadable(err)
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, unreadable(err)
	}
	tree = tree.Simplify()
	prog, err := syntax.Compile(tree)
	if err != nil {
		return nil, unreadable(err)
	}
	return &Pattern{re, prog, needed(tree), re.MatchString("") && !opts.NoLast}, nil
}

// unreadable explains an error of package regexp.
func unreadable(err error) error {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return err
	}
	text := "is not a regular expression in RE2 syntax: " + string(e.Code) + ": " + e.Expr
	switch {
	case strings.HasPrefix(e.Expr, "(?=") || strings.HasPrefix(e.Expr, "(?!"),
		strings.HasPrefix(e.Expr, "(?<=") || strings.HasPrefix(e.Expr, "(?<!"):
		text += " (there is no lookaround)"
	case len(e.Expr) == 2 && e.Expr[0] == '\\' && '1' <= e.Expr[1] && e.Expr[1] <= '9', e.Expr == "(?P":
		text += " (there are no backreferences)"
	case e.Code == syntax.ErrInvalidRepeatOp && strings.HasSuffix(e.Expr, "+"),
		strings.HasPrefix(e.Expr, "(?>"):
		text += " (there are no possessive repetitions and atomic groups)"
	}
	return errors.New(text)
}

// matcher finds the lines that match a pattern. Only one goroutine may use it.
type matcher struct {
	p       *Pattern
	cursors []cursor // one for each literal
	dfa     *dfa     // nil until it is needed
}

func (p *Pattern) matcher() *matcher {
	m := &matcher{p: p}
	for _, text := range p.literals.set {
		m.cursors = append(m.cursors, newCursor(text, p.literals.fold))
	}
	return m
}

// begin prepares m for another buffer.
func (m *matcher) begin() {
	for i := range m.cursors {
		m.cursors[i].reset()
	}
}

// next returns the bounds of the first line at or after from that matches. A line begins at from.
// The last line of buf needs no LF, and a final LF begins no further line.
func (m *matcher) next(buf []byte, from int) (start, end int, ok bool) {
	if m.p.literals.set == nil {
		return m.scan(buf, from)
	}
	for from < len(buf) {
		at := m.candidate(buf, from)
		if at == none {
			break
		}
		start, end = lineAround(buf, at)
		from = start
		if ahead := m.p.literals.ahead; ahead >= 0 {
			from = max(start, at-ahead)
		}
		if m.p.literals.sure || m.matches(buf[start:end], from-start) {
			return start, end, true
		}
		from = end + 1
	}
	return 0, 0, false
}

// candidate returns the offset of the first literal at or after from, or [none].
func (m *matcher) candidate(buf []byte, from int) int {
	at := none
	for i := range m.cursors {
		at = min(at, m.cursors[i].seek(buf, from))
	}
	return at
}

// scan is next for a pattern without literals.
func (m *matcher) scan(buf []byte, from int) (start, end int, ok bool) {
	if from >= len(buf) {
		return 0, 0, false
	}
	at, sure := m.automaton().find(buf[from:])
	if sure {
		if at < 0 {
			return 0, 0, false
		}
		start, end = lineAround(buf, from+at)
		return start, end, true
	}
	for start, end = lineAround(buf, from+at); start < len(buf); start, end = lineAround(buf, end+1) {
		if m.matchLine(buf[start:end]) {
			return start, end, true
		}
		if end == len(buf) {
			break
		}
	}
	return 0, 0, false
}

// matches reports whether a line matches. No match begins before from.
func (m *matcher) matches(line []byte, from int) bool {
	at, sure := m.automaton().findFrom(line, from)
	if !sure {
		return m.matchLine(line)
	}
	return at >= 0
}

func (m *matcher) automaton() *dfa {
	if m.dfa == nil {
		m.dfa = newDFA(m.p.prog)
	}
	return m.dfa
}

// matchLine reports whether a line matches, without the cached states of the automaton.
func (m *matcher) matchLine(line []byte) bool {
	match := m.p.re.Match
	if m.automaton().words { // package regexp knows only ASCII word boundaries
		match = m.dfa.simulate
	}
	if match(line) {
		return true
	}
	bare, cr := bytes.CutSuffix(line, []byte("\r"))
	return cr && match(bare)
}
