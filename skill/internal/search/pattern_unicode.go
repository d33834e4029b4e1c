package search

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode"
)

// perlClasses are the classes of Python: \w is letters and numbers, \d decimal digits, \s white
// space. Each is written so that a - may follow it in brackets.
var perlClasses = map[byte]string{'w': `_\p{L}\p{N}`, 'd': `\p{Nd}`, 's': `\t-\r\x1c-\x20\x{85}\p{Z}`}

// othersOf returns the complement of a class as ranges, because brackets cannot be nested.
var othersOf = map[byte]func() string{'w': others('w'), 'd': others('d'), 's': others('s')}

func others(class byte) func() string {
	return sync.OnceValue(func() string {
		tree, err := syntax.Parse("[^"+perlClasses[class]+"]", syntax.Perl)
		if err != nil {
			panic(err) // a mistake in the table
		}
		var b strings.Builder
		for i := 0; i < len(tree.Rune); i += 2 {
			fmt.Fprintf(&b, `\x{%x}-\x{%x}`, tree.Rune[i], tree.Rune[i+1])
		}
		return b.String()
	})
}

// asPython rewrites a valid RE2 expression to give it the meaning that it has in Python: \w, \d, \s
// and their complements become Unicode classes, \Z becomes \z, and {,n} becomes {0,n}.
func asPython(expr string) string {
	if !strings.Contains(expr, `\`) && !strings.Contains(expr, "{,") {
		return expr
	}
	var b strings.Builder
	inside := false // of brackets
	for i := 0; i < len(expr); i++ {
		switch c := expr[i]; {
		case c == '\\' && expr[i+1] == 'Q':
			quoted, _, _ := strings.Cut(expr[i:], `\E`)
			b.WriteString(quoted)
			i += len(quoted) - 1
		case c == '\\':
			i++
			b.WriteString(unicodeClass(expr[i], inside))
		case c == '[' && strings.HasPrefix(expr[i:], "[:") && inside:
			name, _, _ := strings.Cut(expr[i:], ":]")
			b.WriteString(name + ":]")
			i += len(name) + 1
		case c == '[' && !inside:
			inside = true
			b.WriteByte(c)
			for i+1 < len(expr) && (expr[i+1] == '^' || expr[i+1] == ']') { // a ] at the beginning is a plain character
				i++
				b.WriteByte(expr[i])
				if expr[i] == ']' {
					break
				}
			}
		case c == '{' && !inside && repeatsUpTo(expr[i:]):
			b.WriteString("{0")
		default:
			inside = inside && c != ']'
			b.WriteByte(c)
		}
	}
	return b.String()
}

// namedRunes rewrites \uXXXX and \UXXXXXXXX, which RE2 lacks, as \x{…}.
func namedRunes(expr string) string {
	if !strings.Contains(expr, `\u`) && !strings.Contains(expr, `\U`) {
		return expr
	}
	var b strings.Builder
	for expr != "" {
		at := strings.IndexByte(expr, '\\')
		if at < 0 || at+1 == len(expr) {
			break
		}
		end := at + 2
		switch digits := map[byte]int{'u': 4, 'U': 8}[expr[at+1]]; {
		case expr[at+1] == 'Q':
			quoted, _, _ := strings.Cut(expr[at:], `\E`)
			end = at + len(quoted)
		case digits > 0 && isHex(expr[end:], digits):
			b.WriteString(expr[:at] + `\x{` + expr[end:end+digits] + "}")
			expr = expr[end+digits:]
			continue
		}
		b.WriteString(expr[:end])
		expr = expr[end:]
	}
	return b.String() + expr
}

func isHex(text string, digits int) bool {
	return len(text) >= digits && strings.Trim(text[:digits], "0123456789abcdefABCDEF") == ""
}

// repeatsUpTo reports whether an expression begins with {,n}.
func repeatsUpTo(expr string) bool {
	n, ok := strings.CutPrefix(expr, "{,")
	return ok && strings.HasPrefix(strings.TrimLeft(n, "0123456789"), "}")
}

// unicodeClass returns the expression for the escape \letter. inside says whether it is in brackets.
func unicodeClass(letter byte, inside bool) string {
	class, negated := letter|0x20, letter < 'a'
	members, ok := perlClasses[class]
	switch {
	case letter == 'Z' && !inside:
		return `\z`
	case !ok || letter|0x20 != class || letter < 'A':
		return `\` + string(letter)
	case inside && negated:
		return othersOf[class]()
	case inside:
		return members
	case negated:
		return "[^" + members + "]"
	}
	return "[" + members + "]"
}

// isWord reports whether a rune is part of a word. \b matches where exactly one of two neighbors is.
func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
}

// wordEdges returns the first rune of each range of word runes, and the rune after the range.
var wordEdges = sync.OnceValue(func() []rune {
	tree, err := syntax.Parse("["+perlClasses['w']+"]", syntax.Perl)
	if err != nil {
		panic(err) // a mistake in the table
	}
	edges := []rune{}
	for i := 0; i < len(tree.Rune); i += 2 {
		edges = append(edges, tree.Rune[i], tree.Rune[i+1]+1)
	}
	return edges
})
