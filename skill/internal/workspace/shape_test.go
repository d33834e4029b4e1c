package workspace

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// No function of the packages that change files has more than six parameters.
func TestParameters(t *testing.T) {
	for _, folder := range []string{".", "tree", "../history", "../merge"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(folder, err)
		}
		files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
		for _, name := range files {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if f, ok := n.(*ast.FuncType); ok && f.Params.NumFields() > 6 {
					t.Errorf("%s: %d parameters", set.Position(n.Pos()), f.Params.NumFields())
				}
				return true
			})
		}
	}
}
