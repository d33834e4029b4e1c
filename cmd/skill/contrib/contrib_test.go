package contrib

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"textskill/testdata/needs"
)

// TestSkillMD checks the rules of agents for the front matter of SKILL.md.
func TestSkillMD(t *testing.T) {
	p := Named("agent-skill")
	list, err := p.Files("/opt/x y/skill")
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	for name, text := range list {
		head, body, ok := strings.Cut(strings.TrimPrefix(string(text), "---\n"), "\n---\n")
		fields := map[string]string{}
		for line := range strings.Lines(head) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			fields[key] = value
		}
		folder := filepath.Base(filepath.Dir(name))
		if !ok || fields["name"] != folder ||
			!regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(folder) || len(folder) > 64 {
			t.Errorf("%s: the name is %q", name, fields["name"])
		}
		if n := len(fields["description"]); n == 0 || n > 1024 || len(fields["compatibility"]) > 500 ||
			strings.Count(body, "\n") > 500 {
			t.Errorf("%s: a field is missing or too long: %v", name, fields)
		}
		if !strings.Contains(body, "`/opt/x y/skill undo`") || strings.Contains(body, "`skill") {
			t.Errorf("%s does not name the program:\n%s", name, body)
		}
	}
}

// TestInstall writes and removes each package beside other files.
func TestInstall(t *testing.T) {
	for _, p := range Packages {
		dir := t.TempDir()
		neighbour := filepath.Join(dir, filepath.FromSlash(p.to[0]), "other", "x")
		if err := replace(neighbour, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		written, err := p.Install(dir, "/opt/skill")
		if err != nil || len(written) == 0 {
			t.Fatalf("%s: %v, %v", p.Name, written, err)
		}
		for _, name := range written {
			if text, err := os.ReadFile(name); err != nil ||
				!strings.Contains(string(text), string(p.mark())) {
				t.Errorf("%s lacks its mark: %v", name, err)
			}
		}
		if again, err := p.Install(dir, "/opt/skill"); err != nil || again != nil {
			t.Errorf("%s: the second time wrote %v, %v", p.Name, again, err)
		}
		removed, err := p.Remove(dir)
		if err != nil || len(removed) != len(written) {
			t.Errorf("%s: removed %v, %v", p.Name, removed, err)
		}
		for _, name := range removed {
			if at := filepath.Dir(name); at != filepath.Dir(filepath.Dir(neighbour)) {
				if _, err := os.Stat(at); err == nil {
					t.Errorf("%s: the folder %s is left", p.Name, at)
				}
			}
		}
		if text, err := os.ReadFile(neighbour); err != nil || string(text) != "x" {
			t.Errorf("%s: the neighbour is %q, %v", p.Name, text, err)
		}
		if err := replace(written[0], []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Install(dir, "/opt/skill"); err == nil ||
			!strings.Contains(err.Error(), "was not written by this program") {
			t.Errorf("%s: over a file of another program: %v", p.Name, err)
		}
		if _, err := p.Remove(dir); err == nil {
			t.Errorf("%s removed a file of another program", p.Name)
		}
	}
}

// build builds the program skill.
func build(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "skill")
	if out, err := exec.Command("go", "build", "-o", program, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestAchilles calls the action of the package as AchillesAgentLib does.
func TestAchilles(t *testing.T) {
	needs.Program(t, "node")
	program := build(t)
	dir := t.TempDir()
	if _, err := Named("achilles").Install(dir, program); err != nil {
		t.Fatal(err)
	}
	const script = `
import { action } from './skills/file-system/src/index.mjs';
for (const promptText of ['writeFile a.txt options: content: one\ntwo: 2', 'readFile a.txt', 'copyFile a.txt options: destination: "b c.txt"',
  'appendFile a.txt options: content: x\ndependsOn: step1', 'readFile a.txt dependsOn: step2', 'readFile nope.txt', 'eraseFile a.txt']) {
  try { console.log(await action({ promptText })); } catch (e) { console.log('ERR', e.message); }
}`
	if err := os.WriteFile(filepath.Join(dir, "try.mjs"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "try.mjs")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "SKILL_BINARY=", "SKILL_STATE="+t.TempDir())
	out, err := cmd.CombinedOutput()
	got := strings.ReplaceAll(string(out), dir, "DIR")
	want := `Wrote file at DIR/a.txt successfully.
FILE_CONTENT:
one
two: 2
Copied file from DIR/a.txt to DIR/b c.txt successfully.
Appended content at DIR/a.txt successfully.
FILE_CONTENT:
one
two: 2x
ERR ENOENT: no such file or directory, open 'DIR/nope.txt'
ERR Unknown operation: eraseFile
`
	if err != nil || got != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}

// TestAchillesRows repeats recorded calls of the library's own skills. The actions of the package
// must give the same answers.
func TestAchillesRows(t *testing.T) {
	needs.Program(t, "bash", "node")
	program := build(t)
	agent := t.TempDir()
	if _, err := Named("achilles").Install(agent, program); err != nil {
		t.Fatal(err)
	}
	unfenced := filepath.Join(t.TempDir(), "unfenced") // not all machines can build the fence
	if err := replace(unfenced, []byte("#!/bin/sh\nexec "+program+" --fence off \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SKILL_BINARY", unfenced)
	const script = `
const [, , skill, promptText] = process.argv;
const { action } = await import(process.env.AGENT + '/skills/' + skill + '/src/index.mjs');
let answer;
try { answer = { result: await action({ promptText }) }; } catch (e) { answer = { error: e.message }; }
console.log(JSON.stringify(answer));`
	if err := os.WriteFile(filepath.Join(agent, "try.mjs"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../../../testdata/conformance/native.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		var row achillesRow
		if strings.Contains(line, `"vendor": "perstack"`) {
			continue // rows about a command line
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if row.Skill == "" {
			continue
		}
		n++
		t.Run(row.ID, func(t *testing.T) { row.play(t, agent) })
	}
	if n == 0 {
		t.Error("no row has a skill")
	}
}

// An achillesRow is a recorded call of a library skill.
type achillesRow struct {
	ID, Skill, Prompt, Result, Error string
	Setup, After                     []struct {
		Path, Content string
		Base64        []byte
		MTime         int64
	}
}

func (row achillesRow) play(t *testing.T, agent string) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range row.Setup {
		at := filepath.Join(dir, f.Path)
		if err := replace(at, append(f.Base64, f.Content...), 0o644); err != nil {
			t.Fatal(err)
		}
		if f.MTime > 0 {
			if err := os.Chtimes(at, time.Unix(f.MTime, 0), time.Unix(f.MTime, 0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.Command("node", filepath.Join(agent, "try.mjs"), row.Skill, row.Prompt)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "AGENT="+agent, "SKILL_STATE="+t.TempDir())
	out, err := cmd.CombinedOutput()
	var got struct{ Result, Error string }
	if err != nil || json.Unmarshal(out, &got) != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := strings.ReplaceAll(got.Result, dir, "${ROOT}"); got != row.Result {
		t.Errorf("answers %q, want %q", got, row.Result)
	}
	if got := strings.ReplaceAll(got.Error, dir, "${ROOT}"); got != row.Error {
		t.Errorf("fails with %q, want %q", got, row.Error)
	}
	tree := map[string]string{}
	err = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			data, err := os.ReadFile(name)
			rel, _ := filepath.Rel(dir, name)
			tree[filepath.ToSlash(rel)] = string(data)
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range row.After {
		if text, ok := tree[f.Path]; !ok || text != f.Content {
			t.Errorf("%s is %q, want %q", f.Path, text, f.Content)
		}
		delete(tree, f.Path)
	}
	if len(tree) > 0 {
		t.Errorf("files that the row does not have: %q", tree)
	}
}

// TestAchillesLibrary carries out the skills through the library itself. SKILL_TEST_ACHILLES is the
// folder of the library.
func TestAchillesLibrary(t *testing.T) {
	library := os.Getenv("SKILL_TEST_ACHILLES")
	if library == "" {
		t.Skip("SKILL_TEST_ACHILLES names no folder with AchillesAgentLib")
	}
	needs.Program(t, "node")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Named("achilles").Install(dir, build(t)); err != nil {
		t.Fatal(err)
	}
	const script = `
const { MainAgent } = await import(process.env.LIBRARY + '/MainAgent/MainAgent.mjs');
const agent = new MainAgent({ startDir: process.cwd() });
for (const [skill, prompt] of [['file-system', 'writeFile a.txt options: content: one'], ['read', 'a.txt'], ['write', 'file_path: b.txt, content: two'],
  ['edit', 'file_path: b.txt\nold_string: two\nnew_string: 2'], ['glob', '*.txt'], ['grep', 'pattern: 2, path: b.txt, output_mode: content'], ['bash', 'cat b.txt'], ['read', 'nope']]) {
  try { console.log(skill, (await agent.executeSkill(skill, prompt)).result); } catch (e) { console.log(skill, 'ERR', e.message); }
}`
	if err := os.WriteFile(filepath.Join(dir, "try.mjs"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "try.mjs")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "LIBRARY="+library, "SKILL_BINARY=",
		"SKILL_STATE="+t.TempDir())
	out, err := cmd.Output()
	got := strings.ReplaceAll(string(out), dir, "DIR")
	want := `file-system Wrote file at DIR/a.txt successfully.
read      1	one
write Wrote 3 characters to DIR/b.txt.
edit Updated DIR/b.txt.
glob ["DIR/b.txt","DIR/a.txt"]
grep DIR/b.txt:2
bash 2
read ERR Execution failed: Read failed: read: nope: no such file or directory
`
	if err != nil || !strings.HasSuffix(got, want) {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}
