package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"textskill/skill"
	"textskill/skill/dialect"
	"textskill/testdata/needs"
)

// The documents whose examples the tests run, from the folder of the module.
const (
	readme        = "README.md"
	contributing  = "CONTRIBUTING.md"
	dialectReadme = "skill/dialect/README.md"
	mcpReadme     = "skill/mcpserver/README.md"
	agentReadme   = "skill/agent/README.md"
	goldenReadme  = "testdata/README.md"
)

func readDocument(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// blocks returns the fenced blocks of a language in a document.
func blocks(t *testing.T, document, language string) (bodies []string) {
	t.Helper()
	for _, m := range regexp.MustCompile("(?ms)^```"+language+
		"\n(.*?)^```$").FindAllStringSubmatch(readDocument(t, document), -1) {
		bodies = append(bodies, m[1])
	}
	if len(bodies) == 0 {
		t.Fatalf("%s has no block of %s", document, language)
	}
	return bodies
}

// TestReadmeTools compares the lists of tools with the tables of the dialects.
// With -update it writes the lists.
func TestReadmeTools(t *testing.T) {
	const open, shut = "<!-- tools -->\n", "<!-- /tools -->"
	text := readDocument(t, dialectReadme)
	before, rest, ok := strings.Cut(text, open)
	table, after, ok2 := strings.Cut(rest, shut)
	if !ok || !ok2 {
		t.Fatalf("%s lacks %s or %s", dialectReadme, open, shut)
	}
	want := toolTables()
	if table == want {
		return
	}
	if !*update {
		t.Fatalf("%s\n%s is stale; go test ./cmd/skill -run Readme -update writes it",
			skill.Unified("there", "wanted", []byte(table), []byte(want)), dialectReadme)
	}
	if err := os.WriteFile("../../"+dialectReadme, []byte(before+open+want+shut+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// toolTables names the tools of each dialect with their arguments; "skill tools" describes them.
func toolTables() string {
	var b strings.Builder
	for _, d := range dialect.All {
		b.WriteString("\n**" + d.Name + "**: " + d.Doc + ".\n")
		for i, tool := range d.Tools {
			comma := ","
			if i == len(d.Tools)-1 {
				comma = "."
			}
			b.WriteString("`" + strings.TrimSpace(tool.Name+" "+argumentList(tool)) + "`" + aliases(tool) +
				comma + "\n")
		}
	}
	return b.String() + "\n"
}

func aliases(tool dialect.Tool) string {
	if len(tool.Aliases) == 0 {
		return ""
	}
	return " (or " + strings.Join(tool.Aliases, ", ") + ")"
}

// TestReadmeConsole runs the commands of the console blocks one after the other in
// one folder, and compares what they print. A scripted endpoint is in the place of Ollama.
func TestReadmeConsole(t *testing.T) {
	needs.Shell(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home", "you")
	program, err := exec.LookPath("skill")
	if err == nil {
		err = os.MkdirAll(filepath.Join(home, "bin"), 0o755)
	}
	if err == nil {
		err = os.Symlink(program, filepath.Join(home, "bin", "skill"))
	}
	if err != nil {
		t.Fatal(err)
	}
	ollama := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := `{"operation":"createDirectory","path":"drafts/neu"}`
		if asked, _ := io.ReadAll(r.Body); strings.Contains(string(asked), "greeting") {
			answer = `{"operation":"writeFile","path":"notes/ai.txt","content":"Hello!"}`
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"choices":[{"message":{"content":%q},"finish_reason":"stop"}]}`, answer)
	}))
	defer ollama.Close()
	env := append(os.Environ(), noSleep)
	// The test's PATH has the program as skill, so that hints name that.
	same := strings.NewReplacer(dir, "", `"bin/skill `, `"skill `)
	const first = "$ echo 'writeFile notes/a.txt content: hi' | bin/skill\nWrote file at /home/you/notes/a.txt successfully.\n"
	for _, block := range append([]string{first}, blocks(t, readme, "console")...) {
		for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
			line, want, _ := strings.Cut(strings.TrimSuffix(step, "\n"), "\n")
			if variables, ok := strings.CutPrefix(line, "export "); ok {
				variables, _, _ = strings.Cut(variables, " #")
				env = append(env, strings.Fields(strings.Replace(variables, "http://localhost:11434", ollama.URL, 1))...)
				continue
			}
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir, cmd.Env = home, env
			out, err := cmd.CombinedOutput()
			if _, failed := err.(*exec.ExitError); err != nil && !failed {
				t.Fatal(err)
			}
			if got := same.Replace(strings.TrimSuffix(string(out), "\n")); got != same.Replace(want) {
				t.Errorf("%s\n got %s\nwant %s", line, got, want)
			}
		}
	}
}

// TestReadmeShell runs the commands of the sh blocks. The binary goes to a folder
// outside the checkout, where the other commands run. .ci/run tests the packages of the test command.
func TestReadmeShell(t *testing.T) {
	needs.Program(t, "sh", "go")
	ci, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)\.\d+$`).FindStringSubmatch(readDocument(t, "go.mod"))
	if need := "need only Go " + version[1] + " or later"; !strings.Contains(readDocument(t, readme), need) {
		t.Errorf("README.md does not say %q", need)
	}
	dir := t.TempDir()
	for _, block := range blocks(t, readme, "sh") {
		for line := range strings.Lines(block) {
			for command := range strings.SplitSeq(strings.TrimSpace(line), " && ") {
				if flags, ok := strings.CutPrefix(command, "go test "); ok {
					if !strings.Contains(string(ci), "raced=$(comm -23 <(go list "+flags+" | sort) ") {
						t.Errorf("%s is not what .ci/run does", command)
					}
					continue
				}
				cmd := exec.Command("sh", "-c", command)
				cmd.Dir = dir
				if rest, ok := strings.CutPrefix(command, "CGO_ENABLED=0 go build -o bin/ "); ok {
					// as the tests are built: .ci/package builds without cgo
					cmd = exec.Command("go", "build", "-o", dir+"/bin/", rest)
					cmd.Dir = "../.."
				}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", command, err, out)
				}
			}
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, "notes/a.txt")); string(data) != "hi" {
		t.Errorf("notes/a.txt holds %q, %v", data, err)
	}
}

// TestReadmeGolden plays the README's golden file.
func TestReadmeGolden(t *testing.T) {
	for _, block := range blocks(t, goldenReadme, "txtar") {
		got, err := goldenRunner{given: goldenGiven(t)}.play(t.Context(), txtar.Parse([]byte(block)))
		if err != nil {
			t.Fatal(err)
		}
		if text := string(txtar.Format(got)); text != block {
			t.Errorf("\n got %s\nwant %s", text, block)
		}
	}
}

// TestReadmeLinks follows the links to files.
func TestReadmeLinks(t *testing.T) {
	for _, document := range []string{readme, contributing, "SECURITY.md", dialectReadme, mcpReadme,
		agentReadme, goldenReadme, "skill/internal/search/README.md"} {
		links := regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`).FindAllStringSubmatch(readDocument(t,
			document), -1)
		for _, m := range links {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join("../..", filepath.Dir(document), m[1])); err != nil {
				t.Errorf("%s: %v", document, err)
			}
		}
	}
}

// TestReadmeLength keeps each document to what its reader reads.
func TestReadmeLength(t *testing.T) {
	if n := strings.Count(readDocument(t, readme), "\n"); n > 160 {
		t.Errorf("README.md has %d lines, more than 160", n)
	}
	for name, most := range map[string]int{
		dialectReadme: 11 << 10, agentReadme: 6 << 10, "SECURITY.md": 18 << 9,
		mcpReadme: 3 << 10, goldenReadme: 3 << 10, "parser/wire/README.md": 3 << 10,
		"skill/fleet/README.md":           3 << 10,
		"skill/internal/search/README.md": 3 << 10, "skill/internal/history/README.md": 3 << 10,
	} {
		if n := len(readDocument(t, name)); n > most {
			t.Errorf("%s has %d bytes, more than %d", name, n, most)
		}
	}
}

// TestReadmeNames looks for the functions and types that the tour names.
func TestReadmeNames(t *testing.T) {
	_, tour, _ := strings.Cut(readDocument(t, contributing), "## One command through the code\n")
	tour, _, _ = strings.Cut(tour, "\n## ")
	steps := regexp.MustCompile("(?m)^\\d+\\. `(?:\\w+\\.)?(\\w+)` in \\[([^\\]]+)\\]").FindAllStringSubmatch(tour, -1)
	if len(steps) < 8 {
		t.Fatalf("the tour has %d steps that name a function", len(steps))
	}
	for _, m := range steps {
		data, err := os.ReadFile(filepath.Join("../..", m[2]))
		if err != nil {
			t.Error(err)
			continue
		}
		if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + m[1] + `\(`).Match(data) {
			t.Errorf("%s has no function %s", m[2], m[1])
		}
	}
}
