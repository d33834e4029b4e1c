package textskill_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeEmbeds makes a module outside of this repository by what README.md says, and has its
// program write a file. Its go.mod begins as this one's, in place of go mod tidy, which would
// download the modules that the tests of libraries need.
func TestReadmeEmbeds(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?s)```go\\n(.*?)```").FindSubmatch(readme)
	edit := regexp.MustCompile("`go (mod edit [^`]*) && go mod tidy`").FindSubmatch(readme)
	if code == nil || edit == nil {
		t.Fatal("README.md does not say how a Go program uses the library")
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	dir, work := t.TempDir(), t.TempDir()
	program := `package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"textskill/skill"
	"textskill/skill/dialect"
)

func main() {
	ctx := context.Background()
	` + strings.ReplaceAll(string(code[1]), `"/home/you/project"`, "os.Args[1]") + `
}
`
	for name, text := range map[string]string{
		"go.mod": strings.Replace(string(own), "module textskill\n", "module example.org/mine\n", 1),
		"go.sum": string(sums), "main.go": program} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	call := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	call("go", strings.Fields(strings.ReplaceAll(string(edit[1]), "FOLDER", root))...)
	mine := filepath.Join(dir, "mine.exe")
	call("go", "build", "-o", mine, ".")
	if said := call(mine, work); !strings.HasSuffix(said, "a.txt successfully. <nil>\n") {
		t.Errorf("the program says %q", said)
	}
	if data, err := os.ReadFile(filepath.Join(work, "a.txt")); string(data) != "hi" {
		t.Errorf("it wrote %q, %v", data, err)
	}
}
