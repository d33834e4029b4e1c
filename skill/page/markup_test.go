package page

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// TestFormats holds what [doc.add] needs of those who call it: formats are constants, in
// which each % is text between tags, or a part of an attribute in double quotes that is no
// script and no style; only what the page itself has written is converted to markup; and
// in an address text comes after the folder of the page, so that it cannot be a scheme.
func TestFormats(t *testing.T) {
	formats := 0
	for name, file := range sources(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch f := call.Fun.(type) {
			case *ast.Ident:
				if f.Name == "markup" && !slices.Contains([]string{`p.guard.base`, `v.main.b.String()`, `""`, `"state"`, `"event"`}, source(call.Args[0])) {
					t.Errorf("markup(%s): is it markup?", source(call.Args[0]))
				}
			case *ast.SelectorExpr:
				if strings.HasPrefix(f.Sel.Name, "Write") && strings.HasSuffix(source(f.X), ".b") && name != "markup.go" {
					t.Errorf("%s writes without add: %s", name, source(call))
				}
				if f.Sel.Name != "add" {
					break
				}
				format, ok := call.Args[0].(*ast.BasicLit)
				if !ok || format.Kind != token.STRING {
					t.Errorf("the format %s is no constant", source(call.Args[0]))
					break
				}
				text, err := strconv.Unquote(format.Value)
				if err != nil {
					t.Fatal(err)
				}
				formats++
				for _, wrong := range misplaced(text) {
					t.Errorf("%s in %s", wrong, text)
				}
				addresses(t, text, call.Args[1:])
			}
			return true
		})
	}
	if formats < 80 {
		t.Errorf("only %d formats were found", formats)
	}
	for _, text := range []string{`<script>%</script>`, `<style>a{%}</style>`, `<a %>`, `<a href=%>`, `<a href='%'>`, `<%>`, `<a onclick="%">`, `<p style="%">`, `<iframe srcdoc="%">`, `<!-- % -->`, `<a href="x" %="y">`} {
		if misplaced(text) == nil {
			t.Errorf("%s is let through", text)
		}
	}
}

// sources returns the files of the package that are no tests.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = f
	}
	return files
}

// source returns an expression as it is written: a name, a selector, a literal, or a call
// without arguments.
func source(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.BasicLit:
		return e.Value
	case *ast.SelectorExpr:
		return source(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		args := make([]string, len(e.Args))
		for i, arg := range e.Args {
			args[i] = source(arg)
		}
		return source(e.Fun) + "(" + strings.Join(args, ", ") + ")"
	}
	return "an expression"
}

// misplaced says which % of a format are where escaped text could be more than text.
func misplaced(format string) (wrong []string) {
	raw := ""
	for z := html.NewTokenizer(strings.NewReader(format)); z.Next() != html.ErrorToken; {
		whole := string(z.Raw())
		token := z.Token()
		switch token.Type {
		case html.TextToken:
			if strings.Contains(whole, "<") {
				wrong = append(wrong, "a < that begins no tag")
			}
			if raw != "" && strings.Contains(whole, "%") {
				wrong = append(wrong, "% inside "+raw)
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			raw = ""
			if token.Data == "script" || token.Data == "style" {
				raw = token.Data
			}
			outside := quoted.ReplaceAllString(whole, "")
			if strings.Contains(outside, "%") {
				wrong = append(wrong, "% in a tag outside of double quotes")
			}
			for _, a := range token.Attr {
				if strings.Contains(a.Val, "%") && (strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc") {
					wrong = append(wrong, "% in the attribute "+a.Key)
				}
			}
		default:
			raw = ""
			if strings.Contains(whole, "%") {
				wrong = append(wrong, "% in "+token.Type.String())
			}
		}
	}
	if strings.Count(format, `<`) != strings.Count(format, `>`) {
		wrong = append(wrong, "a tag that is not whole")
	}
	return wrong
}

var (
	quoted  = regexp.MustCompile(`"[^"]*"`)
	address = regexp.MustCompile(`\b(?:href|src|action|formaction|data-stream)="([^"]*)"`)
)

// addresses fails unless the addresses of a format begin with the folder of the page, and
// what else they are of is escaped as a part of a path.
func addresses(t *testing.T, format string, args []ast.Expr) {
	t.Helper()
	for _, at := range address.FindAllStringSubmatchIndex(format, -1) {
		value := format[at[2]:at[3]]
		if !strings.HasPrefix(value, "%/") {
			if value != "#main" {
				t.Errorf("the address %s does not begin with the folder of the page", value)
			}
			continue
		}
		first := strings.Count(format[:at[2]], "%")
		for i := range strings.Count(value, "%") {
			got := source(args[first+i])
			ok := slices.Contains([]string{"t.path", "path", "v.live"}, got) || strings.HasPrefix(got, "escape(")
			if i == 0 {
				ok = got == "base" || got == "markup(p.guard.base)"
			}
			if !ok {
				t.Errorf("%s is %s in the address %s", "%", got, value)
			}
		}
	}
}
