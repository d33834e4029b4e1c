package project

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// planGo uses the go command, gofmt and, if configured, golangci-lint.
func planGo(p *project, a Task) (*runner, error) {
	switch a.Do {
	case Test:
		line := []string{"go", "test"}
		if !a.Brief {
			line = append(line, "-v")
		}
		if a.Name != "" {
			line = append(line, "-run", a.Name)
		}
		return &runner{name: "go test", argv: append(line, p.packages()), summary: goSummary}, nil
	case Lint:
		vet := &runner{name: "go vet", argv: []string{"go", "vet", p.packages()}}
		if p.has(".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json") {
			return &runner{argv: []string{"golangci-lint", "run", p.packages()}, fallback: vet}, nil
		}
		return vet, nil
	case Format:
		line := []string{"gofmt", "-l"}
		if !a.Check {
			line = append(line, "-w")
		}
		return &runner{argv: append(line, p.arg), outputFails: a.Check}, nil
	case Typecheck:
		return &runner{name: "go build", argv: []string{"go", "build", "-o", os.DevNull, p.packages()}}, nil
	}
	return &runner{name: "go mod download", argv: []string{"go", "mod", "download"}}, nil
}

// packages returns the package pattern for the target: all packages below a directory,
// or the package of a file.
func (p *project) packages() string {
	rel, err := filepath.Rel(p.dir, p.target)
	switch rel = filepath.ToSlash(rel); {
	case err != nil || rel == ".":
		return "./..."
	case p.file && !strings.Contains(rel, "/"):
		return "."
	case p.file:
		return "./" + path.Dir(rel)
	}
	return "./" + rel + "/..."
}

// planRust uses cargo, always for the whole package.
func planRust(p *project, a Task) (*runner, error) {
	line := map[Purpose][]string{
		Test: {"cargo", "test"}, Lint: {"cargo", "clippy"}, Format: {"cargo", "fmt"},
		Typecheck: {"cargo", "check"}, Install: {"cargo", "fetch"},
	}[a.Do]
	switch {
	case a.Do == Test && a.Name != "":
		line = append(line, a.Name)
	case a.Do == Format && a.Check:
		line = append(line, "--check")
	case a.Do == Install && p.has("Cargo.lock"):
		line = append(line, "--locked")
	}
	r := &runner{name: strings.Join(line[:2], " "), argv: line}
	if a.Do == Test {
		r.summary = cargoSummary
	}
	return r, nil
}

// planMake uses the makefile's target test or lint, if it exists.
func planMake(p *project, a Task) (*runner, error) {
	if a.Do != Test && a.Do != Lint {
		return nil, nil
	}
	target := regexp.MustCompile(`(?m)^` + string(a.Do) + `\s*:([^=]|$)`)
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if target.Match(p.read(name)) {
			return &runner{name: "make " + string(a.Do), argv: []string{"make", string(a.Do)}}, nil
		}
	}
	return nil, nil
}
