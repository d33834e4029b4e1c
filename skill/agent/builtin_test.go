package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/skill"
	"textskill/testdata/needs"
)

// TestBuiltin has an expert use tools of another dialect beside the Base Skill.
func TestBuiltin(t *testing.T) {
	p, err := ReadProject([]byte(`
[experts.e]
instruction = "Do it."
[experts.e.skills.stack]
type = "builtin"
tools = "stack"
omit = ["git_push"]
[experts.e.skills.history]
type = "builtin"
tools = "undo"
`))
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, calls(`writeTextFile {"path":"a.txt","text":"one\ntwo\n"}`),
		calls(`grep {"path":".","pattern":"tw."}`), calls("undo {}"), calls("attemptCompletion"), "done")
	l.cfg.Experts = p.Experts
	l.ran("go")
	result := func(i int) string {
		return l.asked[i].Messages[len(l.asked[i].Messages)-1].Contents[0].Contents[0].Text
	}
	if !strings.Contains(result(2), `"two"`) || !strings.Contains(result(2), `"success": true`) &&
		!strings.Contains(result(2), `"success":true`) {
		t.Errorf("grep answers %s", result(2))
	}
	if l.file("a.txt") == "one\ntwo\n" {
		t.Errorf("nothing is undone: %s", result(3))
	}
	for _, tool := range l.asked[0].Tools {
		if tool.Name == "git_push" {
			t.Error("omit is not obeyed")
		}
	}
}

// TestBuiltinNative offers a model the tools of its vendor, and of others only what pick names.
func TestBuiltinNative(t *testing.T) {
	for _, tt := range []struct{ provider, pick, has, hasnt, call string }{
		{"anthropic", "", "str_replace_based_edit_tool bash memory", "apply_patch write_file",
			`str_replace_based_edit_tool {"command":"create","path":"a.txt","file_text":"hi"}`},
		{"google", "", "apply_patch exec_command write_stdin", "memory",
			`apply_patch {"input":"*** Begin Patch\n*** Add File: a.txt\n+hi\n*** End Patch"}`},
		{"openai", "", "apply_patch exec_command write_stdin", "memory",
			`apply_patch {"input":"*** Begin Patch\n*** Add File: a.txt\n+hi\n*** End Patch"}`},
		{"ollama", "pick = [\"write\", \"glob\"]", "write glob", "apply_patch bash",
			`write {"file_path":"ROOT/a.txt","content":"hi"}`},
	} {
		p, err := ReadProject([]byte("[experts.e]\ninstruction = \"Do it.\"\n[experts.e.skills.own]\ntype = \"builtin\"\ntools = \"native\"\n" + tt.pick))
		if err != nil {
			t.Fatal(err)
		}
		l := newLab(t, nil, calls("attemptCompletion"), "done")
		l.answers[0] = calls(strings.ReplaceAll(tt.call, "ROOT", l.dir))
		l.cfg.Experts, l.cfg.About.Provider = p.Experts, tt.provider
		l.ran("go")
		if text := strings.TrimSpace(l.file("a.txt")); text != "hi" {
			t.Errorf("%s: the file holds %q", tt.provider, text)
		}
		names := " "
		for _, tool := range l.asked[0].Tools {
			names += tool.Name + " "
		}
		for name := range strings.FieldsSeq(tt.has) {
			if !strings.Contains(names, " "+name+" ") {
				t.Errorf("%s: %s is not offered:%s", tt.provider, name, names)
			}
		}
		for name := range strings.FieldsSeq(tt.hasnt) {
			if strings.Contains(names, " "+name+" ") {
				t.Errorf("%s: %s is offered:%s", tt.provider, name, names)
			}
		}
	}
}

// TestAllowedDomains has the tools and commands of a skill refuse what lies outside its domains.
func TestAllowedDomains(t *testing.T) {
	needs.Program(t, "cat")
	p, err := ReadProject([]byte(`
[experts.e]
instruction = "Do it."
[experts.e.skills.web]
type = "builtin"
tools = "stack"
allowedDomains = ["example.org"]
`))
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, calls(`fetch {"url":"http://127.0.0.1:1/"}`,
		`fetch {"url":"https://example.org.evil.test/"}`, `run {"command":"cat /proc/net/route"}`),
		calls("attemptCompletion"), "done")
	l.cfg.Experts = p.Experts
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x, err := skill.New(skill.Config{Dir: l.dir, NoSync: true, Network: true, Private: true, Helper: program})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	l.cfg.Executor = x
	l.ran("go")
	for _, r := range l.asked[1].Messages[3].Contents {
		text := r.Contents[0].Text
		if strings.Contains(text, `"returncode":`) {
			if strings.Contains(text, "files, network") != strings.Contains(text, `"stdout":"Iface`) ||
				strings.Count(text, `\n`) > 2 {
				t.Errorf("a command reaches more than localhost: %s", text)
			}
			continue
		}
		if !strings.Contains(text, "is not among the allowed domains: example.org") {
			t.Errorf("fetch answers %s", text)
		}
	}
}

// TestGuardOverResume continues a run of an expert with the tools of workspace, which has read a
// file. It may write over it, unless somebody else has changed it.
func TestGuardOverResume(t *testing.T) {
	for changed, want := range map[string]string{"before\n": "mine", "theirs\n": "theirs\n"} {
		l := newLab(t, calls(`read {"paths":["f"]}`), calls(`write {"path":"f","content":"mine"}`))
		e := l.cfg.Experts["e"]
		e.Skills = map[string]SkillConfig{"w": {Type: builtinSkill, Dialect: "workspace"}}
		l.cfg.Experts["e"] = e
		for _, text := range []string{"before\n", changed} {
			if err := os.WriteFile(filepath.Join(l.cfg.Executor.Dir(), "f"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			l.cfg.MaxSteps = 1
			l.ran(map[string]string{"": "go"}[l.cfg.Continue])
			l.cfg.Continue = "run"
		}
		if got := l.file("f"); got != want {
			t.Errorf("f holds %q, want %q", got, want)
		}
	}
}
