package textskill_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestShape has no function take more parameters than a reader can hold, and no context carry what is done
// for a call: that travels in arguments.
func TestShape(t *testing.T) {
	const most = 6
	carried := []string{
		"skill/agent/skill_mcp_call.go",        // the SDK gives its transport for HTTP nothing else
		"skill/dialect/report.go",              // the trace of a client
		"skill/internal/workspace/progress.go", // who is told of progress
	}
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
				t.Errorf("%s: a function has %d parameters; the most are %d", set.Position(f.Pos()),
					f.Params.NumFields(), most)
			}
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "WithValue" && !slices.Contains(carried, name) {
				t.Errorf("%s: a context carries a value; pass it as an argument", set.Position(s.Pos()))
			}
			return true
		})
	}
}
