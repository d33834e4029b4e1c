package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"golang.org/x/tools/txtar"

	"textskill/skill/dialect"
	"textskill/testdata/needs"
)

// goldens are the golden prompt files, a folder for each dialect.
const goldens = "../../testdata/"

// prompted are the dialects that a prompt can be of.
var prompted = slices.DeleteFunc(slices.Clone(dialect.All),
	func(d *dialect.Dialect) bool { return d.Prompt == nil && d != dialect.Workspace })

// writeGolden says how a golden file is made.
const writeGolden = "write testdata/DIALECT/TOOL.txtar with prompts, as testdata/README.md says, and run go test ./cmd/skill -run Golden -update"

// TestGolden plays the golden prompt files as "skill test" does.
func TestGolden(t *testing.T) {
	for _, d := range prompted {
		files, err := filepath.Glob(goldens + d.Name + "/*.txtar")
		if err != nil || len(files) == 0 {
			t.Errorf("testdata/%s holds no golden file, %v; %s", d.Name, err, writeGolden)
		}
		for _, name := range files {
			t.Run(d.Name+"/"+strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
				if d == dialect.Stack && filepath.Base(name) == "git.txtar" {
					needs.Program(t, "git")
				}
				diff, _, _, err := goldenRunner{helper: ownProgram(),
					given: goldenGiven(t)}.testFile(t.Context(), name, *update)
				if err != nil {
					t.Fatal(err)
				}
				if diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// goldenGiven are the flags of skill test that the golden files here need.
func goldenGiven(t *testing.T) *pflag.FlagSet {
	cmd := (&cli{}).testCommand(nil)
	if err := cmd.ParseFlags([]string{"--fence=auto", "--network", "--allow-config", "--trust-llm"}); err != nil {
		t.Fatal(err)
	}
	return cmd.Flags()
}

// TestGoldenParent names what lies beside the workspace of a golden file alike each time.
func TestGoldenParent(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	g := goldenRunner{helper: ownProgram(), given: goldenGiven(t), made: &madeFolders{}}
	defer g.made.remove()
	for range 2 {
		got, err := g.play(t.Context(), txtar.Parse([]byte("-- prompt --\nreadFile ../x\n-- want --\n")))
		if err != nil || !strings.Contains(string(txtar.Format(got)),
			"\nskill: "+temp+"/x is outside the workspace $WORK\n") {
			t.Errorf("%s, %v", txtar.Format(got), err)
		}
	}
}

// TestGoldenBytes plays files as an editor, git on Windows and a program with bytes in it leave them.
func TestGoldenBytes(t *testing.T) {
	const good = "-- a.txt --\nhi\n-- prompt --\nreadFile a.txt\n-- want --\nRead file at $WORK/a.txt successfully.\n-- tree --\na.txt \"hi\\n\"\n"
	crlf := func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }
	for _, row := range []struct{ name, file, diff, updated string }{
		{"line ends of Windows", crlf(good), "", crlf(good)},
		{"a difference in them", crlf(strings.Replace(good, "Read", "Wrote", 1)),
			"-Wrote file at $WORK/a.txt successfully.\n+Read file at", crlf(good)},
		{"line ends that one file has",
			"-- a.txt --\nhi\r\n-- prompt --\ndeleteFile b\n-- tree --\na.txt \"hi\\n\"\n",
			"+a.txt \"hi\\r\\n\"\n", ""},
		{"a blank line of a mask", "-- mask --\n\n-- prompt --\nfileExists b\n", "+-- want --\n+Checked",
			"-- mask --\n\n-- prompt --\nfileExists b\n-- want --\nChecked file existence at $WORK/b: false.\n"},
		{"a NUL in a file", "-- b.bin --\nx\x00\n" + strings.Replace(good, "Read", "Wrote", 1),
			"-Wrote file at $WORK/a.txt successfully.\n+Read file at", ""},
		{"lines like markers", "-- a.txt --\n-- --\n-- \n --\n--  --\n" + strings.Replace(good, "Read", "Wrote", 1),
			"-Wrote file at $WORK/a.txt successfully.\n+Read file at", ""},
		{"a NUL that is wanted escaped",
			"-- prompt --\nfileExists b\n-- want --\nChecked file existence at $WORK/b: false.\n-- b --\n\\x00\n-- tree --\nb \"\\x00\\n\"\n", "+b \"", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "x.txtar")
			if err := os.WriteFile(name, []byte(row.file), 0o666); err != nil {
				t.Fatal(err)
			}
			g := goldenRunner{helper: ownProgram(), given: goldenGiven(t)}
			diff, _, _, err := g.testFile(t.Context(), name, false)
			if err != nil || !strings.Contains(diff, row.diff) || (diff == "") != (row.diff == "") {
				t.Errorf("%v, %s, want %q in it", err, diff, row.diff)
			}
			if row.updated == "" {
				return
			}
			if _, _, _, err := g.testFile(t.Context(), name, true); err != nil {
				t.Error(err)
			}
			if got, err := os.ReadFile(name); err != nil || string(got) != row.updated {
				t.Errorf("%v, updated to %q, want %q", err, got, row.updated)
			}
		})
	}
}

// TestGoldenRule holds every golden file to its first line, which says the rule.
func TestGoldenRule(t *testing.T) {
	files, err := filepath.Glob(goldens + "*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if line, _, _ := strings.Cut(string(data), "\n"); len(line) < 20 || strings.HasPrefix(line, "--") {
			t.Errorf("%s begins with %q, want a sentence that says the rule", name, line)
		}
	}
}

// TestGoldenOfEveryTool looks for the golden file of every row. Those of the
// network, of git and of what depends on programs and clocks share some.
func TestGoldenOfEveryTool(t *testing.T) {
	for _, d := range prompted {
		if d == dialect.Native { // its rows are what the vendors' own tools answer: see TestNativeRows
			continue
		}
		for _, tool := range d.Tools {
			data, err := os.ReadFile(goldens + d.Name + "/" + goldenName(d, tool.Name) + ".txtar")
			if err != nil {
				t.Errorf("%s has no golden file: %v; %s", tool.Name, err, writeGolden)
				continue
			}
			for _, name := range append(tool.Aliases, tool.Name) {
				if !hasPrompt(string(data), d, name) {
					t.Errorf("%s/%s.txtar has no prompt with %s", d.Name, tool.Name, name)
				}
			}
		}
	}
}

// shared are the golden files that several tools of stack share, and those tools.
var shared = map[string]string{
	"git":    "git_status git_commit git_push git_pull git_branch git_log git_diff",
	"exec":   "run test lint format typecheck server install",
	"web":    "web_search fetch download check_url screenshot",
	"memory": "memory_recall memory_save memory_list context_load project_scan",
	"tasks":  "create_task list_tasks update_task delete_task create_plan execute_plan",
}

// together are the tools of workspace.
var together = map[string]string{"search": "grep glob list", "move": "move copy delete", "run": "run server",
	"undo": "undo history restore", "errors": "fetch"}

func goldenName(d *dialect.Dialect, tool string) string {
	for file, tools := range together {
		if d == dialect.Workspace && slices.Contains(strings.Fields(tools), tool) {
			return file
		}
	}
	for file, tools := range shared {
		if d == dialect.Stack && slices.Contains(strings.Fields(tools), tool) {
			return file
		}
	}
	return tool
}

// hasPrompt reports whether a golden file has a prompt that calls name.
func hasPrompt(golden string, d *dialect.Dialect, name string) bool {
	call := "-- prompt --\n" + name + " "
	switch d {
	case dialect.Filesystem:
		call = `"name":"` + name + `"`
	case dialect.Stack:
		call = "\n" + name + "("
	case dialect.Workspace:
		call = `"name": "` + name + `"`
	}
	return strings.Contains(golden, call)
}
