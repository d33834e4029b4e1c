package textskill_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestParameters has no function take more parameters than a reader can hold.
func TestParameters(t *testing.T) {
	const most = 6
	set := token.NewFileSet()
	for _, name := range sources(t) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncType); ok && f.Params.NumFields() > most {
				t.Errorf("%s: a function has %d parameters; the most are %d", set.Position(f.Pos()), f.Params.NumFields(), most)
			}
			return true
		})
	}
}
