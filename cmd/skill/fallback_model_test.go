package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestModelAnswers has answers of a model to plain words that the rules do not read, what comes
// of them, and what the user is told.
func TestModelAnswers(t *testing.T) {
	const (
		greet  = "put a friendly greeting into ai.txt"
		folder = "Erstelle einen Ordner namens neu"
		stream = "text/event-stream"
		asIs   = "the answer is a stream of events, which was not asked for; set the endpoint to answer whole"
	)
	said := func(message string) string {
		return `{"choices":[{"message":{"role":"assistant",` + message + `},"finish_reason":"stop"}]}`
	}
	says := func(content string) string {
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		return said(`"content":` + string(text))
	}
	hello := says(`["writeFile","ai.txt","hello",null]`)
	for name, tt := range map[string]struct {
		args    string // the prompt is the last one, after |
		kind    string // of the answer; "" for JSON
		body    string
		code    int
		content string // of ai.txt; - where there is no such file
		want    string // on standard error
	}{
		"own text": {"|" + greet, "", hello, exitConfirm, "-",
			"the content does not occur in the request\nnothing was done; --llm allow before the request " +
				"lets the model do it; to do it, type: skill writeFile ai.txt content: hello\n"},
		"own text, allowed": {"--llm allow|" + greet, "", hello, 0, "hello", ""},
		"own text, refused": {"--llm refuse|" + greet, "", hello, exitConfirm, "-", "--llm allow before the request"},
		"own text, trusted": {"--trust-llm|" + greet, "", hello, 0, "hello", ""},
		"flag at the end": {"|" + greet + " --trust-llm", "", hello, 1, "-",
			"ends with the flag --trust-llm\nnothing was done; flags count before the request: skill --trust-llm …\n"},
		"flag and value at the end": {"|" + greet + " --llm allow", "", hello, 1, "-", "the flag --llm allow\n"},
		"flag alone":                {"|mach --dry-run", "", hello, 1, "-", "the flag --dry-run\n"},
		"flag in the middle":        {"--llm allow|" + greet + " for --json users", "", hello, 0, "hello", ""},
		"negation": {"--llm allow|do not " + greet, "", hello, exitConfirm, "-",
			"it has a negation: not\nnothing was done; --trust-llm before"},
		"question":  {"--llm allow|shall we " + greet + "?", "", hello, exitConfirm, "-", "--trust-llm before"},
		"quotation": {"--llm allow|the note says " + greet, "", hello, exitConfirm, "-", "it tells of words: says\nnothing"},
		"file that exists": {"--llm allow|put a friendly greeting into old.txt", "",
			says(`["writeFile","old.txt","hello",null]`), exitConfirm, "-",
			"does not occur in the request\nnothing was done; --trust-llm before"},
		"own text to append": {"--llm allow|append a friendly greeting to ai.txt", "",
			says(`["appendFile","ai.txt","hello",null]`), exitConfirm, "-", "--trust-llm before the request"},
		"own name": {"--llm allow|put hello into the file", "", hello, exitConfirm, "-",
			"path ai.txt does not occur in the request\nnothing was done; --trust-llm before"},
		"deletion": {"|entferne old.txt", "", says(`["deleteFile","old.txt",null,null]`), exitConfirm, "-",
			"--llm allow before the request lets the model do it"},
		"no path":      {"|" + greet, "", says(`["writeFile","","hello",null]`), 1, "-", "the model's answer has no path"},
		"null path":    {"|" + greet, "", says(`["writeFile",null,"hello",null]`), 1, "-", "the model's answer has no path"},
		"blank path":   {"--llm allow|" + greet, "", says(`["writeFile"," ","hello",null]`), 1, "-", "has no path"},
		"blank target": {"--llm allow|kopiere old.txt", "", says(`["copyFile","old.txt",null," "]`), 1, "-", "Destination required"},
		"refusal": {"|" + folder, "", said(`"content":null,"refusal":"I do not\n help."`), 1, "-",
			"the answer is refused: the model says: I do not help.\n"},
		"sentence": {"|" + folder, "", says("I am sorry."), 1, "-", "the model says: I am sorry.\n"},
		"sentence, trusted": {"--trust-llm|" + folder, "", says("I am sorry."), 1, "-",
			"the answer is not a JSON array: the model says: I am sorry.\n"},
		"web page": {"|" + folder, "text/html", "<html>", 1, "-", "the answer is not JSON; check that the base URL"},
		"stream": {"|" + folder, stream, "data: " + strings.Replace(hello, "message", "delta", 1) +
			"\n\ndata: [DONE]\n\n", 1, "-", asIs},
		"cut stream":      {"|" + folder, stream, "data: {\"choi", 1, "-", asIs},
		"nonsense stream": {"|" + folder, stream, "hello", 1, "-", asIs},
		"cut answer":      {"|" + folder, "", hello[:40], 1, "-", "the answer broke off in the middle"},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				kind := "application/json"
				if tt.kind != "" {
					kind = tt.kind
				}
				w.Header().Set("Content-Type", kind)
				w.Write([]byte(tt.body))
			}))
			defer endpoint.Close()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "old.txt"), []byte("old"), 0o666); err != nil {
				t.Fatal(err)
			}
			env := map[string]string{"OPENAI_BASE_URL": endpoint.URL, "SKILL_MODEL": "m", "HOME": t.TempDir()}
			c := &cli{console: console{getenv: func(name string) string { return env[name] }}}
			flags, prompt, _ := strings.Cut(tt.args, "|")
			out, errs, code := play(t, c, "", append(append([]string{"-C", dir}, strings.Fields(flags)...), prompt)...)
			errs = strings.ReplaceAll(errs, " -C "+dir, "")
			content, err := os.ReadFile(filepath.Join(dir, "ai.txt"))
			if err != nil {
				content = []byte("-")
			}
			if code != tt.code || string(content) != tt.content || !strings.Contains(errs, tt.want) ||
				tt.want == "" && errs != "" {
				t.Errorf("exit %d, ai.txt is %s, %s%s", code, content, out, errs)
			}
			if old, err := os.ReadFile(filepath.Join(dir, "old.txt")); err != nil || string(old) != "old" {
				t.Errorf("old.txt is %s, %v", old, err)
			}
			if tt.kind != "text/html" && strings.Contains(errs, "base URL") {
				t.Errorf("the base URL is blamed: %s", errs)
			}
		})
	}
}
