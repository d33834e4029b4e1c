package search

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
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
		{"[c-a]", "", "a b c -"}, // an empty range
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
		{`\*`, "*", `\* \a a`},
		{`\a`, `\a`, "a"},
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

// asRegexp replaces the signs of a glob by what they mean in a regular expression. It knows no
// backslash, no [ that is not closed, and ** only before a slash.
var asRegexp = strings.NewReplacer("**/", "([^/]+/)*", "*", "[^/]*", "?", "[^/]", "[!", "[^/",
	"{", "(", ",", "|", "}", ")", ".", `\.`)

// TestMatchLikeRegexp compares Match with package regexp.
func TestMatchLikeRegexp(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	atoms := []string{"*", "?", "a", "b", "c", ".", "ä", "[ab]", "[!ab]", "[a-c]", "[!a-b]",
		"[b-c.]", "-", "日"}
	letters := []rune("abc.-ä日d")
	for range 6000 {
		pattern := ""
		for range rng.IntN(6) {
			pattern += atoms[rng.IntN(len(atoms))]
		}
		pattern = strings.ReplaceAll(pattern, "**", "*")
		whole := regexp.MustCompile("^" + asRegexp.Replace(pattern) + "$")
		for range 10 {
			name := ""
			for range rng.IntN(7) {
				name += string(letters[rng.IntN(len(letters))])
			}
			if got, want := Match(pattern, name), whole.MatchString(name); got != want {
				t.Fatalf("Match(%q, %q) is %t, want %t", pattern, name, got, want)
			}
		}
	}
}

// TestMatchIsLinear matches a pattern that takes a backtracking matcher exponential time.
func TestMatchIsLinear(t *testing.T) {
	if Match(strings.Repeat("a*", 50)+"b", strings.Repeat("a", 5000)) {
		t.Error("matches without a b")
	}
}

// TestGlob matches whole paths. The paths of folders end in /.
func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		yes, no string // paths, separated by blanks
	}{
		{"a", "a a/", "b a/a x/a"},
		{"a/", "a/", "a"},
		{"./a//b", "a/b", "a b"},
		{"**", "a/ a/b/ a a/b", ""},
		{"a/**", "a/ a/b/ a/b/c/ a/b", "a b/"},
		{"a/**/", "a/ a/b/", "a a/b b/"},
		{"[id]/x", "i/x d/x [id]/x", "id/x"},
		{"[[...s]]", "[[...s]]", "s"},
		{`\[id\]/*`, "[id]/x", "i/x"},
		{"a/**/b", "a/b a/x/b a/x/y/b a/b/b", "a b a/bb ab x/a/b"},
		{"**/a/**/b", "a/b x/a/b x/a/y/b a/a/b/b", "b x/b a/x"},
		{"**/*.go", "a.go x/a.go x/y/.go", "a.goo x/"},
		{"*/b", "a/b", "b a/a/b"},
		{"*.{go,py}", "a.go a.py", "a.js a.{go,py} x/a.go"},
		{"{a,b}/{c,d{e,f}}", "a/c b/c a/de b/df", "a/d a/dee c"},
		{"x{,y}", "x xy", "x{,y}"},
		{"{a,b/c}/d", "a/d b/c/d", "b/d"},
		{"{**/,}a", "a x/a x/y/a", "b"},
		{"{a}", "a {a}", "{b}"},
		{"{{a}}/b", "{{a}}/b a/b", "{a/b"},
		{`\{a,b\}*`, "{a,b} {a,b}c", "a b"},
		{`x\,{a,b\,c}`, "x,a x,b,c", "xa x,c"},
		{"a}{b,c}", "a}b a}c", "ab"},
		{"[[]{a,b}", "[a [b", "a"},
		{"[{]a,b}", "{a,b}", "a b"},
		{"{[,],a}", ", a", "["},
		{"[!a-c]{1,2}", "d1 é2", "a1 d3"},
	} {
		g, err := ParseBraces(tt.pattern)
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		for i, paths := range []string{tt.yes, tt.no} {
			for path := range strings.FieldsSeq(paths) {
				path, folder := strings.CutSuffix(path, "/")
				if g.Match(path, folder) != (i == 0) {
					t.Errorf("%s and %s: %t", tt.pattern, path, i > 0)
				}
			}
		}
	}
	for pattern, want := range map[string]string{
		strings.Repeat("{a,b}", 10): "stands for more than 1000 patterns",
		strings.Repeat("{", 5000):   "is longer than 4096 bytes",
		"{a,/b}":                    "is absolute; name the folder with path, and what is below it with pattern",
		"{":                         "holds a { that is never closed; the character itself is [{]",
		"{a,{b,c}":                  "holds a { that is never closed; the character itself is [{]",
		"a[":                        "holds a [ that is never closed; the character itself is [[]",
		"[!]":                       "holds a [ that is never closed; the character itself is [[]",
		"{a,[}":                     "holds a [ that is never closed; the character itself is [[]",
		"{a,../b}":                  `holds "..", and only names below the path are found`,
	} {
		if _, err := ParseBraces(pattern); err == nil || err.Error() != want {
			t.Errorf("%.20s: %v, want %s", pattern, err, want)
		}
	}
	if g := (Glob{}); g.Match("", true) || g.Match("a", false) {
		t.Error("the zero Glob matches")
	}
}

// TestGlobLikeRegexp compares Glob with package regexp.
func TestGlobLikeRegexp(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	names := []string{"a", "b", "ab", "abc", "c", "a.b", "ä", ".a"}
	parts := []string{"a", "b", "*", "?", "a*", "*b", "a*c", "[ab]", "[!a]", "[a-c]*", "a.b", "ä", "{a,b}",
		"{a,b*}c", "{ab,{a,c}}", "*.{a,b}", "{a/b,c}", "{a,}b", "**"}
	for range 8000 {
		text := parts[rng.IntN(len(parts)-1)]
		for range rng.IntN(4) {
			text = parts[rng.IntN(len(parts))] + "/" + text
		}
		g, err := ParseBraces(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		whole := regexp.MustCompile("^" + asRegexp.Replace(text) + "$")
		for range 10 {
			path := names[rng.IntN(len(names))]
			for range rng.IntN(5) {
				path = names[rng.IntN(len(names))] + "/" + path
			}
			if got, want := g.Match(path, true), whole.MatchString(path); got != want {
				t.Fatalf("%s and %s: %t, want %t", text, path, got, want)
			}
		}
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
	f.Add("", `xa\\`)
	f.Add(`\`, `\`)
	f.Fuzz(func(t *testing.T, pattern, name string) {
		whole := strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]", `\`, `\\`).Replace(name)
		if !Match(whole, name) {
			t.Errorf("%q does not match %q, which it quotes", whole, name)
		}
		escapes := strings.HasSuffix(pattern, `\`) // it would escape the star that is appended
		if !escapes && Match(pattern, name) && !Match("*"+pattern+"*", "x"+name+"y") {
			t.Errorf("%q matches %q, but not inside stars", pattern, name)
		}
	})
}

// FuzzGlob checks that {a,b} matches the same paths as a or b.
func FuzzGlob(f *testing.F) {
	f.Add("a*/**", "**/b", "a/x/b")
	f.Add("[!a]/?", "é", "b/c")
	f.Add(strings.Repeat("a", maxGlob), "b", "b")
	f.Add("a", `b\`, "b")
	f.Fuzz(func(t *testing.T, a, b, path string) {
		if strings.ContainsAny(a+b, `{},[]\`) || len("{"+a+","+b+"}") > maxGlob {
			return
		}
		one, errA := ParseGlob(a)
		other, errB := ParseGlob(b)
		either, err := ParseBraces("{" + a + "," + b + "}")
		if (errA == nil && errB == nil) != (err == nil) {
			t.Fatalf("%q: %v; %q: %v; both: %v", a, errA, b, errB, err)
		}
		if err == nil && either.Match(path, true) != (one.Match(path, true) || other.Match(path, true)) {
			t.Errorf("{%s,%s} is not what they are for %q", a, b, path)
		}
	})
}
