package skill

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestExecuteIsTotal finds the operations in the sources: every type that
// implements [Args] has one case in Execute's switch, and a method of its name.
func TestExecuteIsTotal(t *testing.T) {
	var operations, cases []string
	for _, f := range sources(t) {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil {
				continue
			}
			switch receiver := types(fn.Recv.List[0].Type); fn.Name.Name {
			case "op":
				operations = append(operations, receiver)
			case "Execute":
				cases = append(cases, switched(fn)...)
			}
		}
	}
	if len(operations) < 12 {
		t.Fatalf("only %q are operations", operations)
	}
	for _, name := range operations {
		if n := times(cases, name); n != 1 {
			t.Errorf("%s has %d cases in the switch of Execute, want 1: see execute.go", name, n)
		}
		m, ok := reflect.TypeFor[*Executor]().MethodByName(name)
		if !ok || m.Type.NumIn() != 4 || m.Type.In(3).Name() != name || !m.Type.Out(0).Implements(reflect.TypeFor[Result]()) {
			t.Errorf("no method x.%[1]s(ctx, s, %[1]s{}) returns its result", name)
		}
	}
	for _, name := range cases {
		if !slices.Contains(operations, name) {
			t.Errorf("Execute has a case for %s, which is not an operation", name)
		}
	}
}

func times(names []string, name string) (n int) {
	for _, s := range names {
		if s == name {
			n++
		}
	}
	return n
}

// sources parses the files of the package except for its tests.
func sources(t *testing.T) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// types returns the name of a type, without the star of a pointer.
func types(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// switched returns the types that are cases in a function.
func switched(fn *ast.FuncDecl) (names []string) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if c, ok := n.(*ast.CaseClause); ok {
			for _, e := range c.List {
				names = append(names, types(e))
			}
		}
		return true
	})
	return names
}
