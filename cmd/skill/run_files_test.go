package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunFiles takes the files of a run back: with undo, with a continuation from a
// checkpoint, and after a question.
func TestRunFiles(t *testing.T) {
	dir := newProject(t)
	var script []scriptedAnswer
	err := json.Unmarshal([]byte(`[
		{"tools":[{"id":"a","name":"writeTextFile","input":{"path":"f","text":"1"}}]},
		{"tools":[{"id":"b","name":"appendTextFile","input":{"path":"f","text":"2"}},{"id":"c","name":"writeTextFile","input":{"path":"d/g","text":"g"}}]},
		{"tools":[{"id":"d","name":"appendTextFile","input":{"path":"f","text":"3"}}]}]`), &script)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := scriptedEndpoint(t, script).URL
	do := func(stdin string, args ...string) (string, string, int) {
		t.Helper()
		c := &cli{console: console{getenv: func(name string) string {
			return map[string]string{"OPENAI_BASE_URL": endpoint, "SKILL_MODEL": "m"}[name]
		}}}
		return play(t, c, stdin, append([]string{"-C", dir}, args...)...)
	}
	files := func(want string) {
		t.Helper()
		held := tree(t, dir)
		delete(held, "perstack.toml")
		if got, _ := json.Marshal(held); string(got) != want {
			t.Errorf("the files are %s, want %s", got, want)
		}
	}
	out, errs, code := do("", "run", "e", "go", "--run-id", "r", "--max-steps", "3")
	if code != 0 {
		t.Fatal(errs)
	}
	var second struct{ Checkpoint struct{ ID string } }
	for line := range strings.Lines(out) {
		if strings.Contains(line, `"stepNumber":2`) &&
			strings.HasPrefix(line, `{"type":"continueToNextStep"`) {
			if err := json.Unmarshal([]byte(line), &second); err != nil {
				t.Fatal(err)
			}
		}
	}
	files(`{"d/g":"g","f":"123"}`)

	if out, _, _ := do("", "log", "--run", "r", "--tools"); !strings.Contains(out, `"2"} (change 2)`) {
		t.Errorf("the log is\n%s", out)
	}
	if out, _, _ := do("", "history", "--run", "r"); strings.Count(out, "run r, step 2") != 2 ||
		strings.Count(out, "\n") != 4 {
		t.Errorf("the history is\n%s", out)
	}
	for _, wrong := range [][]string{{"undo", "--step", "2"}, {"undo", "--run", "r", "3"},
		{"undo", "--run", "r", "--since", "3"}} {
		if _, errs, code := do("", wrong...); code != exitUsage {
			t.Errorf("%v: exit %d, %s", wrong, code, errs)
		}
	}
	if _, errs, code := do("", "undo", "--run", "r", "--step", "7"); code != exitFailed ||
		errs != "skill: the run r has no checkpoint of step 7; its last step is 3\n" {
		t.Errorf("a step that is not there: exit %d, %s", code, errs)
	}
	if _, errs, code := do("", "undo", "--run", "s", "--step", "1"); code != exitFailed ||
		errs != "skill: there is no run s; \"skill log\" lists the runs\n" {
		t.Errorf("a run that is not there: exit %d, %s", code, errs)
	}
	_, errs, code = do("", "undo", "--run", "r", "--step", "2")
	in := " -C " + shellWord(dir)
	if want := "skill: \"skill undo" + in + " --since 5\" makes all of it again\nskill: \"skill run" +
		in + " e --continue-run r --resume-from " + second.Checkpoint.ID +
		"\" continues the conversation from there\n"; code != 0 || errs != want {
		t.Errorf("exit %d: %s", code, errs)
	}
	files(`{"d/g":"g","f":"12"}`)
	if _, _, code := do("", "undo", "--since", "5"); code != 0 {
		t.Error("the undo cannot be undone")
	}
	files(`{"d/g":"g","f":"123"}`)

	// Another has changed one of the files.
	if err := os.WriteFile(filepath.Join(dir, "d/g"), []byte("theirs"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := do("", "undo", "--run", "r"); code != exitPartly ||
		!strings.Contains(errs, "d/g was changed since by something else\n\"skill undo"+
			in+" --force --run r\" goes on anyway: ") {
		t.Errorf("exit %d: %s", code, errs)
	}
	files(`{"d/g":"theirs"}`)
	if err := os.WriteFile(filepath.Join(dir, "d/g"), []byte("g"), 0o666); err != nil {
		t.Fatal(err)
	}

	// The question in start: the file is as at the end of step 2, if the answer is yes.
	for _, tt := range []struct{ answer, want string }{{"no", `{"d/g":"g"}`},
		{"yes", `{"d/g":"g","f":"12"}`}} {
		out, errs, _ := do(tt.answer+"\n", "start", "--resume-from", second.Checkpoint.ID, "--max-steps", "1")
		if !strings.Contains(out, "The run made these changes after step 2. Undo them first? (yes or no) ") {
			t.Errorf("nothing was asked: %s%s", out, errs)
		}
		if again := "\"skill undo" + in + " --since "; strings.Contains(out+errs, again) != (tt.answer == "yes") {
			t.Errorf("%s: want %s in %s%s", tt.answer, again, out, errs)
		}
		files(tt.want)
	}
	if _, errs, code := do("", "run", "e", "--continue", "--files"); code != exitFailed ||
		!strings.Contains(errs, "--resume-from") {
		t.Errorf("--files without a checkpoint: exit %d: %s", code, errs)
	}

	// Elsewhere nothing confirms the records, and the model is told.
	for state, told := range map[string]bool{"--state=" + filepath.Join(dir, "../elsewhere"): true,
		"--json": false} {
		out, errs, _ := do("", "run", "e", "go on", "--resume-from", second.Checkpoint.ID, "--max-steps",
			"1", state)
		if strings.Contains(out, "Nothing confirms the records") != told ||
			strings.Contains(errs, "nothing confirms") != told {
			t.Errorf("with %s: %s%s", state, out, errs)
		}
	}
}
