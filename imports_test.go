// Package textskill_test holds rules that concern the whole module.
package textskill_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is what the paths of this module's packages begin with.
const module = "textskill/"

// fleet is the folder of a second module: who uses the library needs no servers for a fleet.
const fleet = "skill/fleet"

// mayImport says for each package which others of this module it may import: those
// above it here, and not all of them.
var mayImport = map[string][]string{
	"parser/rawjson": {},

	"parser": {"parser/rawjson"},

	"parser/wire": {"parser", "parser/rawjson"},

	"skill/internal/words": {},

	"skill/internal/refusal": {},

	"skill/internal/workspace/tree": {},

	"skill/internal/merge": {},

	"skill/internal/history": {"skill/internal/merge", "skill/internal/workspace/tree"},

	"skill/internal/workspace": {"skill/internal/refusal", "skill/internal/history",
		"skill/internal/workspace/tree"},

	"skill/internal/patch": {},

	"skill/internal/search": {"skill/internal/workspace", "skill/internal/workspace/tree"},

	"skill/internal/egress": {},

	"skill/internal/process": {"skill/internal/egress", "skill/internal/history", "skill/internal/workspace",
		"skill/internal/workspace/tree", "skill/internal/search", "skill/internal/refusal",
		"skill/internal/words"},

	"skill/internal/trial": {"skill/internal/merge", "skill/internal/workspace/tree", "skill/internal/process"},

	"skill/internal/web": {"skill/internal/egress", "skill/internal/process", "skill/internal/workspace",
		"skill/internal/workspace/tree", "skill/internal/refusal", "skill/internal/words"},

	"skill/internal/git": {"skill/internal/web", "skill/internal/process", "skill/internal/workspace", "skill/internal/workspace/tree",
		"skill/internal/refusal", "skill/internal/words"},

	"skill/internal/project": {"skill/internal/process", "skill/internal/search", "skill/internal/workspace",
		"skill/internal/refusal", "skill/internal/words"},

	"skill/hook": {"parser/rawjson"},

	"skill": {"skill/hook", "skill/internal/history", "skill/internal/workspace",
		"skill/internal/workspace/tree", "skill/internal/patch", "skill/internal/merge",
		"skill/internal/search", "skill/internal/egress", "skill/internal/process", "skill/internal/web",
		"skill/internal/git", "skill/internal/project", "skill/internal/refusal", "skill/internal/words",
		"skill/internal/trial"},

	"skill/browser": {"skill"},

	"skill/audit": {"skill", "parser/rawjson"},

	"skill/dialect": {"skill", "skill/internal/words", "parser/wire", "parser", "parser/rawjson"},

	"llmfallback/remote": {},

	"llmfallback/openai": {"llmfallback/remote", "parser/rawjson"},

	"llmfallback": {"llmfallback/openai", "llmfallback/remote", "parser", "parser/rawjson"},

	"skill/internal/door": {},

	"skill/mcpserver": {"skill/internal/door", "skill/dialect", "skill", "parser", "parser/rawjson"},

	"skill/page": {"skill/internal/door", "skill"},

	"skill/page/runs": {"skill/page", "skill/agent", "parser/rawjson"},

	"skill/agent": {"skill/dialect", "skill", "skill/internal/refusal", "skill/internal/words",
		"llmfallback/remote", "parser/wire", "parser", "parser/rawjson"},

	"skill/agent/trace": {"skill/agent", "skill"},

	"skill/agent/provider": {"skill/agent", "skill/internal/words", "llmfallback/openai",
		"llmfallback/remote", "parser/wire", "parser", "parser/rawjson"},

	"skill/fleet/pack": {"skill/internal/search", "skill/internal/workspace/tree"},

	"skill/fleet": {"skill/fleet/pack", "skill/agent", "skill/dialect", "skill", "parser/rawjson"},

	"skill/fleet/jetstream": {"skill/fleet", "skill/internal/workspace/tree"},

	"skill/fleet/board": {"skill/fleet", "skill/page/runs", "skill/page", "skill/agent"},

	"skill/fleet/toolcall": {"skill/fleet", "skill/mcpserver", "skill/dialect", "skill"},

	"internal/usage": {"skill"},

	"cmd/skill/contrib": {"parser/rawjson"},

	"cmd/skill": {"internal/usage", "cmd/skill/contrib", "skill/hook", "skill/audit", "skill/page",
		"skill/page/runs", "skill/mcpserver", "skill/agent", "skill/agent/provider", "skill/agent/trace",
		"skill/dialect", "skill/browser", "skill", "llmfallback", "parser/wire", "parser", "parser/rawjson"},

	"skill/fleet/cmd/skill-fleet": {"internal/usage", "skill/fleet/board", "skill/fleet/toolcall",
		"skill/fleet/jetstream", "skill/fleet/pack", "skill/fleet", "skill/page", "skill/page/runs",
		"skill/mcpserver", "skill/agent", "skill/agent/provider", "skill/agent/trace",
		"skill/dialect", "skill/browser", "skill", "llmfallback/remote", "parser/rawjson"},
}

// testsImport says what tests import besides.
var testsImport = map[string][]string{
	"skill/dialect":        {"skill/browser"},                  // for its screenshots
	"skill/agent":          {"skill/agent/provider"},           // for what a step costs
	"skill/agent/provider": {"skill"},                          // for the workspaces of runs
	"skill/page":           {"skill/agent", "skill/page/runs"}, // for a run that a browser follows
	"skill/page/runs":      {"skill"},                          // for a workspace
	"skill/fleet":          {"skill/fleet/jetstream"},          // for a cluster
	"skill/fleet/board":    {"skill/fleet/jetstream", "skill"},
	"skill/fleet/toolcall": {"skill/fleet/jetstream", "skill/agent"},
}

// doors says through which files a library comes in, as patterns of [path.Match].
var doors = map[string][]string{
	"github.com/google/shlex":                {"parser/quote.go"},
	"github.com/sergi/go-diff":               {"skill/internal/workspace/diff.go"},
	"github.com/sashabaranov/go-openai":      {"llmfallback/openai.go", "llmfallback/openai/*.go"},
	"github.com/modelcontextprotocol/go-sdk": {"skill/mcpserver/*.go", "skill/agent/*.go"},
	"github.com/spf13/cobra": {"internal/usage/*.go", "cmd/skill/*.go",
		"skill/fleet/cmd/skill-fleet/*.go"},
	"github.com/spf13/pflag": {"internal/usage/*.go", "cmd/skill/*.go",
		"skill/fleet/cmd/skill-fleet/*.go"},
	"golang.org/x/tools/txtar": {"cmd/skill/golden.go", "cmd/skill/golden_record.go"},
	"golang.org/x/sys": {"skill/internal/search/literal_vector_amd64.go",
		"skill/internal/workspace/tree/*.go", "skill/internal/history/*.go", "skill/internal/process/*.go",
		"skill/mcpserver/unix_*.go"},
	"golang.org/x/net": {"skill/internal/web/*.go", "skill/internal/egress/*.go",
		"skill/file_encoding.go", "skill/page/serve.go"},
	"golang.org/x/text": {"skill/file_encoding.go",
		"skill/internal/patch/looks.go"},
	"golang.org/x/sync": {"skill/fleet/jetstream/*.go", "skill/fleet/pack/*.go",
		"skill/internal/history/*.go", "skill/internal/workspace/*.go"},
	"golang.org/x/term":               {"cmd/skill/root.go"},
	"github.com/peterh/liner":         {"cmd/skill/terminal.go"},
	"github.com/google/jsonschema-go": {"skill/agent/schema.go", "skill/dialect/func.go", "skill/dialect/func_types.go"},
	"github.com/pelletier/go-toml/v2": {"skill/agent/project.go", "skill/agent/builtin.go",
		"cmd/skill/setup_file.go", "cmd/skill/rules.go", "skill/fleet/cmd/skill-fleet/config.go"},
	"github.com/tailscale/hujson":                  {"cmd/skill/setup_file.go"},
	"github.com/go-json-experiment/json":           {"parser/rawjson/members.go", "parser/rawjson/escape.go"},
	"github.com/JohannesKaufmann/html-to-markdown": {"skill/internal/web/*.go"},
	"github.com/chromedp/chromedp": {"skill/browser/browser.go",
		"skill/page/chromium_test.go"},
	"go.opentelemetry.io/otel":       {"skill/agent/trace/*.go", "skill/fleet/cmd/skill-fleet/observe.go"},
	"github.com/nats-io/nats.go":     {"skill/fleet/jetstream/*.go"},
	"github.com/nats-io/nats-server": {"skill/fleet/jetstream/server.go"},
}

// testOnly are the libraries that tests of any package may use.
var testOnly = []string{
	"github.com/rogpeppe/go-internal",
	"github.com/google/jsonschema-go",
	"github.com/modelcontextprotocol/go-sdk",
	"golang.org/x/net",
	"golang.org/x/sys",
	"golang.org/x/tools",
	"pgregory.net/rapid",
}

// TestImports holds every file to the tables.
func TestImports(t *testing.T) {
	for _, file := range sources(t) {
		pkg := path.Dir(file)
		allowed, known := mayImport[pkg]
		if !known && pkg != "." {
			t.Errorf("%s: mayImport has no row for %s", file, pkg)
		}
		for _, name := range imports(t, file) {
			ours, isOurs := strings.CutPrefix(name, module)
			host, _, _ := strings.Cut(name, "/")
			switch {
			case isOurs:
				test := strings.HasSuffix(file, "_test.go") &&
					(ours == "testdata/needs" || slices.Contains(testsImport[pkg], ours))
				if ours != pkg && !test && !slices.Contains(allowed, ours) {
					t.Errorf("%s imports %s, which %s may not", file, name, pkg)
				}
			case !strings.Contains(host, ".") && name != "C": // the standard library
			case strings.HasSuffix(file, "_test.go") && slices.ContainsFunc(testOnly, within(name)):
			case !throughDoor(file, name):
				t.Errorf("%s imports %s, which has no door there", file, name)
			}
		}
	}
}

// starts matches what starts a program in the standard library.
var starts = regexp.MustCompile(`"os/exec"|\bos\.StartProcess\b|\b(syscall|unix)\.(ForkExec|StartProcess|Exec|RawSyscall\w*\((syscall|unix)\.SYS_(CLONE|FORK|EXEC))`)

// TestOneWayToStartAProgram has package process start all programs, for it knows the fence.
func TestOneWayToStartAProgram(t *testing.T) {
	for _, file := range sources(t) {
		if strings.HasSuffix(file, "_test.go") || path.Dir(file) == "skill/internal/process" {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if m := starts.Find(data); m != nil {
			t.Errorf("%s starts programs by %s, which only skill/internal/process may", file, m)
		}
	}
}

// atStart matches a pattern that is compiled when the program starts.
var atStart = regexp.MustCompile(`(?m)^(var |\t)\w+ += regexp\.MustCompile`)

// TestNoPatternIsCompiledAtStart keeps the start of skill short: a pattern takes 0.05 ms of 5.
// A worker of a fleet starts once for many runs.
func TestNoPatternIsCompiledAtStart(t *testing.T) {
	for _, file := range sources(t) {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "skill/fleet/") ||
			strings.HasPrefix(file, "testdata/") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if m := atStart.Find(data); m != nil {
			t.Errorf("%s has %s; put it into sync.OnceValue", file, bytes.TrimSpace(m))
		}
	}
}

// TestSkillLinksNoProtobuf keeps the exporters of OpenTelemetry out of skill: they add 7.8 MB
// to it, and 94 inits to each start.
func TestSkillLinksNoProtobuf(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./cmd/skill")
	cmd.Stderr = t.Output()
	found, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(found)) {
		if within(name)("google.golang.org/protobuf") || within(name)("google.golang.org/grpc") {
			t.Errorf("cmd/skill links %s", name)
		}
	}
}

// TestFleetStaysApart keeps the fleet's libraries out of the module of the library, and the two
// modules apart without a go.work, which would make one list of modules of both.
func TestFleetStaysApart(t *testing.T) {
	for _, name := range []string{"go.mod", "go.sum"} { // go.sum names each module that go list -m all does
		if text, err := os.ReadFile(name); err != nil || bytes.Contains(text, []byte("nats-io")) {
			t.Errorf("%s: %v; it may not name NATS, which only %s/go.mod may", name, err, fleet)
		}
	}
	if _, err := os.Stat("go.work"); err == nil {
		t.Error("there is a go.work")
	}
}

// subcommand matches the name of a subcommand where it is defined.
var subcommand = regexp.MustCompile(`(?m)^\s+Use: +"([a-z]+)`)

// TestLibraryNamesNoProgram has the library say what to type next with Config.Program, for
// packages install the program by another name.
func TestLibraryNamesNoProgram(t *testing.T) {
	names := []string{"completion", "--?[a-z]"}
	for _, file := range sources(t) {
		if data, err := os.ReadFile(file); err == nil && strings.HasPrefix(file, "cmd/skill/") {
			for _, m := range subcommand.FindAllSubmatch(data, -1) {
				names = append(names, string(m[1]))
			}
		}
	}
	// the history calls the page skill web
	names = slices.DeleteFunc(names, func(name string) bool { return name == "web" })
	command := regexp.MustCompile(`(?m)^[^/\n]*["` + "`" + ` (]skill (` + strings.Join(names, "|") + `)`)
	for _, file := range sources(t) {
		if strings.HasSuffix(file, "_test.go") || !strings.HasPrefix(file, "skill/") ||
			strings.Contains(file, "/testdata/") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if m := command.Find(data); m != nil {
			t.Errorf("%s says to type %s; begin that with Config.Program", file, bytes.TrimSpace(m))
		}
	}
}

// TestImportsHaveNoCircle holds the table itself to one direction.
func TestImportsHaveNoCircle(t *testing.T) {
	for pkg, allowed := range mayImport {
		for _, other := range allowed {
			below, known := mayImport[other]
			if !known {
				t.Errorf("%s may import %s, for which there is no row", pkg, other)
			}
			for _, lower := range below {
				if lower == pkg {
					t.Errorf("%s and %s may import each other", pkg, other)
				}
			}
		}
	}
}

// throughDoor reports whether a file is a door of the library that name belongs to.
func throughDoor(file, name string) bool {
	for library, patterns := range doors {
		if !within(name)(library) {
			continue
		}
		for _, pattern := range patterns {
			if ok, err := path.Match(pattern, file); ok && err == nil {
				return true
			}
		}
	}
	return false
}

// within reports whether the package name belongs to a library.
func within(name string) func(library string) bool {
	return func(library string) bool { return name == library || strings.HasPrefix(name, library+"/") }
}

// sources returns the Go files of this module, with slashes.
func sources(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case strings.HasPrefix(d.Name(), "_"): // the go command leaves it out
			if d.IsDir() {
				return filepath.SkipDir
			}
		case !d.IsDir() && filepath.Ext(name) == ".go":
			files = append(files, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// imports returns what a file imports.
func imports(t *testing.T, file string) (names []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range f.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}
