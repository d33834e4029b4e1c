package search

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		yes, no string // names, separated by blanks
	}{
		{"", "", "a"},
		{"*", "a .a ä \xff", ""},
		{"a*b*c", "abc axbxc abcbc aabbcc", "ab acb cba abcd"},
		{"*.go", "a.go .go a.b.go", "a.GO go a.go.x"},
		{"?", "a ä .", "aa"},
		{"??.?", "ab.c äö.ü", "a.c abc.d"},
		{"[ab]c", "ac bc", "cc c abc"},
		{"[!ab]c", "cc !c äc", "ac bc c"},
		{"[a-c]x", "ax bx cx", "dx -x"},
		{"[a-]", "a -", "b"},
		{"[-a]", "a -", "b"},
		{"[]a]", "] a", "b []a]"},
		{"[!]a]", "b [", "] a"},
		{"[c-a]", "", "a b c -"}, // a range that holds nothing
		{"[^a]", "^ a", "b"},     // only ! negates
		{"[!!]", "a", "!"},
		{"[[]", "[", "a"},
		{"[]]", "]", "[]]"},
		{"[", "[", "a"},
		{"[a", "[a", "a"},
		{"[!", "[!", "a"},
		{"[]", "[]", "a"},
		{"x[", "x[", "x"},
		{"{a,b}", "{a,b}", "a b"},
		{`\*`, `\* \a`, "*"},
		{"[ä-ü]", "ö", "o"},
		{"***a", "a xa", "ax"},
	} {
		for name := range strings.FieldsSeq(tt.yes) {
			if !Match(tt.pattern, name) {
				t.Errorf("%s does not match %q", tt.pattern, name)
			}
		}
		for name := range strings.FieldsSeq(tt.no) {
			if Match(tt.pattern, name) {
				t.Errorf("%s matches %q", tt.pattern, name)
			}
		}
	}
}

// TestMatchAsDoublestar compares with doublestar where both mean the same: that
// has braces, backslashes and [^a] besides, and refuses a [ that is not closed.
func TestMatchAsDoublestar(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	atoms := []string{"*", "?", "a", "b", "c", ".", "ä", "[ab]", "[!ab]", "[a-c]", "[!a-b]", "[b-c.]", "-", "日"}
	letters := []rune("abc.-ä日d")
	for range 30_000 {
		pattern, name := "", ""
		for range rng.IntN(6) {
			pattern += atoms[rng.IntN(len(atoms))]
		}
		pattern = strings.ReplaceAll(pattern, "**", "*")
		for range rng.IntN(7) {
			name += string(letters[rng.IntN(len(letters))])
		}
		want, err := doublestar.Match(pattern, name)
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		if got := Match(pattern, name); got != want {
			t.Fatalf("Match(%q, %q) is %t, want %t", pattern, name, got, want)
		}
	}
}

// TestMatchIsLinear matches what makes a matcher that tries everything run for ever.
func TestMatchIsLinear(t *testing.T) {
	if Match(strings.Repeat("a*", 50)+"b", strings.Repeat("a", 5000)) {
		t.Error("matches without a b")
	}
}

func TestParseGlobRefuses(t *testing.T) {
	for _, pattern := range []string{"/a", "/", "../a", "a/../b", "..", "a**", "**a/b", "***"} {
		if g, err := ParseGlob(pattern); err == nil {
			t.Errorf("%s is read as %+v", pattern, g)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("a*[!b-d]?", "axyz")
	f.Add("[]-a]", "]")
	f.Add("[\xff-", "\xff")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		whole := strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(name)
		if !Match(whole, name) {
			t.Errorf("%q does not match %q, which it quotes", whole, name)
		}
		if Match(pattern, name) && !Match("*"+pattern+"*", "x"+name+"y") {
			t.Errorf("%q matches %q, but not inside stars", pattern, name)
		}
	})
}
