package contrib

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSkillMD holds SKILL.md to what agents demand of its front matter.
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
		if !ok || fields["name"] != folder || !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(folder) || len(folder) > 64 {
			t.Errorf("%s: the name is %q", name, fields["name"])
		}
		if n := len(fields["description"]); n == 0 || n > 1024 || len(fields["compatibility"]) > 500 || strings.Count(body, "\n") > 500 {
			t.Errorf("%s: a field is missing or too long: %v", name, fields)
		}
		if !strings.Contains(body, "`/opt/x y/skill undo`") || strings.Contains(body, "`skill") {
			t.Errorf("%s does not name the program:\n%s", name, body)
		}
	}
}

// TestInstall writes and removes each package beside files of others.
func TestInstall(t *testing.T) {
	for _, p := range Packages {
		dir := t.TempDir()
		neighbour := filepath.Join(dir, filepath.FromSlash(p.to[0]), "..", "other", "x")
		if err := replace(neighbour, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		written, err := p.Install(dir, "/opt/skill")
		if err != nil || len(written) == 0 {
			t.Fatalf("%s: %v, %v", p.Name, written, err)
		}
		for _, name := range written {
			if text, err := os.ReadFile(name); err != nil || !strings.Contains(string(text), string(p.mark())) {
				t.Errorf("%s lacks its mark: %v", name, err)
			}
		}
		if again, err := p.Install(dir, "/opt/skill"); err != nil || again != nil {
			t.Errorf("%s: the second time wrote %v, %v", p.Name, again, err)
		}
		if removed, err := p.Remove(dir); err != nil || len(removed) != len(written) {
			t.Errorf("%s: removed %v, %v", p.Name, removed, err)
		}
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(p.to[0]))); err == nil {
			t.Errorf("%s: the folder is left", p.Name)
		}
		if text, err := os.ReadFile(neighbour); err != nil || string(text) != "x" {
			t.Errorf("%s: the neighbour is %q, %v", p.Name, text, err)
		}
		if err := replace(written[0], []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Install(dir, "/opt/skill"); err == nil || !strings.Contains(err.Error(), "is not of this program") {
			t.Errorf("%s: over a file of somebody else: %v", p.Name, err)
		}
		if _, err := p.Remove(dir); err == nil {
			t.Errorf("%s removed a file of somebody else", p.Name)
		}
	}
}

// TestAchilles calls the action of the package as AchillesAgentLib does.
func TestAchilles(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("this machine has no node")
	}
	program := filepath.Join(t.TempDir(), "skill")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/skill").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
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
	cmd := exec.Command(node, "try.mjs")
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
