package dialect

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"textskill/parser"
	"textskill/skill"
)

// stack answers one call of Stack; the workspace is shown as root.
func (b *base) stack(tool, args string) string {
	b.t.Helper()
	r := Stack.Do(b.t.Context(), b.x, b.s, parser.ToolCall{Name: tool, Arguments: json.RawMessage(args)})
	var said struct{ Success bool }
	if err := json.Unmarshal([]byte(r.Body), &said); err != nil || said.Success == (r.Err != nil) {
		b.t.Errorf("%s %s: %s is marked %v", tool, args, r.Body, r.Err)
	}
	return strings.ReplaceAll(r.Body, b.dir, "root")
}

// A stackCase is a call and its whole answer.
type stackCase struct{ tool, args, want string }

func (b *base) stackCases(cases []stackCase) {
	b.t.Helper()
	for _, tt := range cases {
		if got := b.stack(tt.tool, tt.args); got != tt.want {
			b.t.Errorf("%s %s\n got %s\nwant %s", tt.tool, tt.args, got, tt.want)
		}
	}
}

// TestStackArguments refuses what a row does not take.
func TestStackArguments(t *testing.T) {
	b := newBase(t, skill.Config{})
	b.file("f", "a\nb\nc\n")
	b.stackCases([]stackCase{
		{"raed", `{}`, `{"success":false,"error":"there is no tool raed; is it read?"}`},
		{"read", `[]`, `{"success":false,"error":"read: the arguments are not a JSON object"}`},
		{"read", `null`, `{"success":false,"error":"read: the arguments are not a JSON object"}`},
		{"read", `{"path":"f","path":"g"}`, `{"success":false,"error":"read: path is given twice"}`},
		{"read", `{"path":"f","lines":1}`,
			`{"success":false,"error":"read: there is no argument lines; read takes path, offset, limit"}`},
		{"read", `{"path":"f","limit":1.5}`,
			`{"success":false,"error":"read: limit must be of type integer"}`},
		{"read", `{"path":"f","limit":1e0,"offset":1.0}`,
			`{"success":true,"content":"b","total_lines":4,"path":"f","truncated":true,"next_offset":2}`},
		{"read", `{"path":"f","limit":null}`,
			`{"success":true,"content":"a\nb\nc\n","total_lines":4,"path":"f"}`},
		{"read", `{"path":"f","limit":-2}`,
			`{"success":true,"content":"a\nb\nc\n","total_lines":4,"path":"f"}`},
		{"read", `{"path":"f","offset":-2}`,
			`{"success":false,"error":"read: offset is -2; it counts lines from the beginning, 0 for none"}`},
		{"context_load", `{"projects":["x"]}`, `{"success":true,"context":{},"loaded":[]}`},
		{"delete", `{"path":"f","force":"false"}`,
			`{"success":true,"would_delete":"f","warning":"Set force=True to actually delete"}`},
		{"read", `{"path":"f","limit":"2","offset":"1"}`,
			`{"success":true,"content":"b\nc","total_lines":4,"path":"f","truncated":true,"next_offset":3}`},
		{"read", `{"path":"f","limit":"2x"}`,
			`{"success":false,"error":"read: limit must be of type integer"}`},
		{"write", `{"path":"n","content":5.50}`, `{"success":true,"path":"n","lines_written":1}`},
		{"read", `{"path":"n"}`, `{"success":true,"content":"5.50","total_lines":1,"path":"n"}`},
		{"list_tasks", `{"status":"bogus"}`,
			`{"success":false,"error":"list_tasks: there is no status \"bogus\"; there are pending, in_progress, done, blocked, and all"}`},
		{"create_task", `{"title":" "}`,
			`{"success":false,"error":"create_task: title must be a text that is not empty"}`},
		{"create_plan", `{"goal":"g","steps":[]}`,
			`{"success":false,"error":"create_plan: steps is empty; give at least one"}`},
		{"create_plan", `{"goal":"g","steps":["a",""]}`,
			`{"success":false,"error":"create_plan: step 2 is empty; say what is to be done"}`},
		{"delete", `{"path":"f","force":1}`,
			`{"success":false,"error":"delete: force must be of type boolean"}`},
		{"memory_recall", `{"query":"x","max_results":-1}`,
			`{"success":false,"error":"memory_recall: max_results is -1; give 0 or more"}`},
		{"web_search", `{"query":"x","count":-1}`,
			`{"success":false,"error":"web_search: count is -1; it counts results, 20 at most"}`},
		{"memory_list", `{"offset":-1}`,
			`{"success":false,"error":"memory_list: offset is -1; it counts from the beginning, 0 for none"}`},
		{"update_task", `{"task_id":"a","status":"ready"}`,
			`{"success":false,"error":"update_task: status must be one of pending, in_progress, done, blocked"}`},
		{"update_task", `{"task_id":"a","kwargs":{"priority":"most"}}`,
			`{"success":false,"error":"update_task: priority must be one of low, medium, high, critical"}`},
		{"update_task", `{"task_id":"a","kwargs":5}`,
			`{"success":false,"error":"update_task: kwargs must be an object of fields; or give the fields themselves"}`},
		{"update_task", `{"task_id":"a","title":["x"]}`,
			`{"success":false,"error":"update_task: title must be of type string"}`},
		{"update_task", `{"task_id":"a","title":" "}`,
			`{"success":false,"error":"update_task: title must be a text that is not empty"}`},
		{"check_url", `{"url":"","timeout":"2.5"}`,
			`{"success":false,"error":"check_url: reaching other machines is off; start skill with --network to allow it","url":"","status_code":"000","ok":false,"latency_ms":0}`},
		{"update_task", `{"task_id":"a","created":"x"}`,
			`{"success":false,"error":"update_task: created is the task's own and cannot be set"}`},
	})
}

// TestStackTaskFields stores the fields of a task in the order in which they are given.
func TestStackTaskFields(t *testing.T) {
	b := newBase(t, skill.Config{})
	b.file(".tasks.json", `[{"id":"a","status":"pending"}]`)
	b.stackCases([]stackCase{
		{"update_task", `{"note":{"z":1,"b":[2.5]},"task_id":"a","assignee":"me","status":"done","kwargs":{"y":"1","x":null},"assignee2":"\u00fc"}`, `{"success":true,"task_id":"a","updated":true}`},
	})
	data, err := os.ReadFile(filepath.Join(b.dir, ".tasks.json"))
	var got bytes.Buffer
	if err == nil {
		err = json.Compact(&got, data)
	}
	if want := `[{"id":"a","status":"done","note":{"z":1,"b":[2.5]},"assignee":"me","y":"1","x":null,"assignee2":"\u00fc","updated":`; err != nil || !strings.HasPrefix(got.String(), want) {
		t.Errorf("%v\n got %s\nwant %s", err, got.String(), want)
	}
}

// TestStackFiles reads and changes files in the ways that no recorded row does.
func TestStackFiles(t *testing.T) {
	b := newBase(t, skill.Config{MaxRead: 64})
	for name, content := range map[string]string{
		"crlf": "a\r\nb\r\nc\r\n", "bad": "x\xff\n", "long": strings.Repeat("0123456789\n", 10),
		"twice":       "one two one",
		"real/deep/f": "deep", "real/g": "g", "real/l": "->nowhere", "dir/real/": "", "l": "->real/deep",
		"circle": "->circle",
	} {
		b.file(name, content)
	}
	b.stackCases([]stackCase{
		{"read", `{"path":"crlf","offset":1,"limit":1}`,
			`{"success":true,"content":"b\r","total_lines":4,"path":"crlf","truncated":true,"next_offset":2}`},
		{"read", `{"path":"crlf","offset":9}`, `{"success":true,"content":"","total_lines":4,"path":"crlf"}`},
		{"read", `{"path":"bad"}`,
			`{"success":true,"warning":"not text: bytes that are not UTF-8 show as U+FFFD, and writing the content back would change them","content":"x` + "\ufffd" + `\n","total_lines":2,"path":"bad","invalid_utf8":true}`},
		{"read", `{"path":"long","offset":1}`, `{"success":true,"content":"` + strings.Repeat(`0123456789\n`,
			4) + `0123456789","total_lines":11,"path":"long","truncated":true,"next_offset":6}`},
		{"read", `{"path":"long","offset":6}`, `{"success":true,"content":"` +
			strings.Repeat(`0123456789\n`, 4) + `","total_lines":11,"path":"long"}`},
		{"read", `{"path":"l/../g"}`, `{"success":true,"content":"g","total_lines":1,"path":"l/../g"}`},
		{"read", `{"path":"/etc/passwd"}`,
			`{"success":false,"error":"read: /etc/passwd is outside the workspace root"}`},
		{"edit", `{"path":"twice","old_text":"one","new_text":"1"}`,
			`{"success":true,"path":"twice","edits_made":1,"more_occurrences":true}`},
		{"edit", `{"path":"twice","old_text":"one","new_text":"1"}`,
			`{"success":true,"path":"twice","edits_made":1}`},
		{"edit", `{"path":"twice","old_text":" ","new_text":"_"}`,
			`{"success":true,"path":"twice","edits_made":1,"more_occurrences":true}`},
		// l as a link
		{"copy", `{"source":"real","destination":"copied"}`,
			`{"success":true,"source":"real","destination":"copied"}`},
		{"copy", `{"source":"real/g","destination":"~/g"}`,
			`{"success":false,"error":"copy: destination ~/g is relative to a home folder, which is outside the workspace; a folder named ~ is ./~"}`},
		{"move", `{"source":"real","destination":"dir/"}`,
			`{"success":false,"error":"Destination path 'dir/real' already exists"}`},
		{"move", `{"source":"real/","destination":"./real/deep"}`,
			`{"success":false,"error":"Cannot move a directory 'real' into itself 'real/deep'."}`},
		{"delete", `{"path":"./real//deep/"}`,
			`{"success":true,"would_delete":"real/deep","warning":"Set force=True to actually delete"}`},
		{"delete", `{"path":"nowhere"}`, `{"success":false,"error":"Path not found: nowhere"}`},
		{"delete", `{"path":"long/x"}`, `{"success":false,"error":"Path not found: long/x"}`},
		{"read", `{"path":"long/x"}`, `{"success":false,"error":"File not found: long/x"}`},
		{"edit", `{"path":"long/x","old_text":"a","new_text":"b"}`,
			`{"success":false,"error":"File not found: long/x"}`},
		{"grep", `{"path":"long/x","pattern":"a"}`, `{"success":false,"error":"Invalid path: long/x"}`},
		{"search", `{"path":"long/x","pattern":"*"}`, `{"success":false,"error":"Path not found: long/x"}`},
		{"search", `{"path":"long","pattern":"*"}`, `{"success":true,"matches":[],"count":0}`},
		{"copy", `{"source":"long/x","destination":"n"}`,
			`{"success":false,"error":"Source not found: long/x"}`},
		{"move", `{"source":"long/x/y","destination":"n/m"}`,
			`{"success":false,"error":"Source not found: long/x/y"}`},
		{"copy", `{"source":"circle","destination":"n"}`,
			`{"success":false,"error":"Source not found: circle"}`},
		{"copy", `{"source":"twice","destination":"circle"}`,
			`{"success":false,"error":"copy: root/twice to root/circle: too many levels of symbolic links"}`},
		{"run", `{"command":"true","env":{"A=B":"x"}}`,
			`{"success":false,"error":"run: env.A=B is an illegal environment variable name: it holds ="}`},
		{"lint", `{"linter":""}`, `{"success":false,"error":"Unknown linter: "}`},
		{"git_commit", `{"message":"m","files":[""]}`,
			`{"success":false,"error":"git_commit: files[0] is empty; no files at all, or \".\", mean all that has changed"}`},
		{"delete", `{"path":"."}`,
			`{"success":false,"error":"delete: . is the workspace itself or holds it, which stays"}`},
		{"delete", `{"path":"l","force":true}`, `{"success":true,"deleted":"l"}`},
		{"delete", `{"path":"real","force":true}`, `{"success":true,"deleted":"real"}`},
	})
	names, err := filepath.Glob(filepath.Join(b.dir, "[^.]*"))
	if err != nil || len(names) != 7 {
		t.Errorf("there are %q, %v", names, err)
	}
}

// TestStackHint says what resembles a text that is not there.
func TestStackHint(t *testing.T) {
	b := newBase(t, skill.Config{})
	b.file("f", "func main() {\n\tx := 1\n}\n")
	got := b.stack("edit", `{"path":"f","old_text":"    x := 1","new_text":"y"}`)
	if !strings.HasPrefix(got,
		`{"success":false,"error":"Text to replace not found","hint":"line 2 is nearest`) {
		t.Errorf("the answer is %s", got)
	}
}

// TestStackSearch finds names and lines in the ways that no recorded row does.
func TestStackSearch(t *testing.T) {
	b := newBase(t, skill.Config{})
	for name, content := range map[string]string{
		"p/a.go": "one\r\ntwo \x1f\r\n", "p/b.py": "été\n", "p/.git/config": "two", "p/bin": "two\x00",
		"p/long": strings.Repeat("x", 3000),
	} {
		b.file(name, content)
	}
	b.stackCases([]stackCase{
		{"search", `{"path":".","pattern":"*.[gp][oy]"}`,
			`{"success":true,"matches":["p/a.go","p/b.py"],"count":2,"skipped_git":1}`},
		{"search", `{"path":".","pattern":"*.{go,py}"}`,
			`{"success":true,"matches":[],"count":0,"skipped_git":1,"note":"braces in a pattern stand for themselves; search for each choice"}`},
		{"search", `{"path":".","pattern":"[a"}`,
			`{"success":true,"matches":[],"count":0,"skipped_git":1,"note":"a [ that is never closed stands for itself"}`},
		{"search", `{"path":"./p/","pattern":"*.go","exclude":["*.py",""]}`,
			`{"success":true,"matches":["p/a.go"],"count":1,"excluded":1,"skipped_git":1}`},
		{"search", `{"path":"p/../p","pattern":"a*"}`,
			`{"success":true,"matches":["p/../p/a.go"],"count":1,"skipped_git":1}`},
		{"search", `{"path":"","pattern":"a*"}`,
			`{"success":true,"matches":["p/a.go"],"count":1,"skipped_git":1}`},
		{"search", `{"path":"p/a.go","pattern":"*"}`, `{"success":true,"matches":[],"count":0}`},
		{"search", `{"path":"root","pattern":"*"}`, `{"success":false,"error":"Path not found: root"}`},
		{"grep", `{"path":"p","pattern":"two","context":1}`,
			`{"success":true,"matches":[{"file":"p/a.go","line":2,"content":"two","context":["one","two \u001f",""]}],"count":1,"skipped_binary":1}`},
		{"grep", `{"path":"p/b.py","pattern":"\\w{3}"}`,
			`{"success":true,"matches":[{"file":"p/b.py","line":1,"content":"été"}],"count":1}`},
		{"grep", `{"path":"p/b.py","pattern":"^qx{,2}\\Z"}`, `{"success":true,"matches":[],"count":0}`},
		{"grep", `{"path":"p/b.py","pattern":"[\\pL\\pN_]{3}"}`,
			`{"success":true,"matches":[{"file":"p/b.py","line":1,"content":"été"}],"count":1}`},
		{"grep", `{"path":"p/long","pattern":"x"}`,
			`{"success":true,"matches":[{"file":"p/long","line":1,"content":"` + strings.Repeat("x", 2000) +
				`","truncated":true}],"count":1}`},
		{"grep", `{"path":"","pattern":"one"}`,
			`{"success":true,"matches":[{"file":"p/a.go","line":1,"content":"one"}],"count":1,"skipped_binary":1}`},
		{"grep", `{"path":"nowhere","pattern":"x"}`, `{"success":false,"error":"Invalid path: nowhere"}`},
	})
}

var (
	stackID   = regexp.MustCompile(`"id":"[0-9a-f]{8}"`)
	stackTime = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[0-9:.]+"`)
)

// TestStackRecords reads what others wrote: a plan without steps has none.
func TestStackRecords(t *testing.T) {
	b := newBase(t, skill.Config{})
	b.file(".plans.json", `[{"id":"a"},{"id":"b","steps":"x"},{"id":"a","steps":["y"]}]`)
	b.file(".tasks.json", `{}`)
	b.file("MEMORY.md", "\ufeff### first\n_t_\n\x1cx\x1f\n")
	b.stackCases([]stackCase{
		{"execute_plan", `{"plan_id":"a"}`, `{"success":true,"plan_id":"a","status":"executing","steps":[]}`},
		{"execute_plan", `{"plan_id":"b"}`,
			`{"success":true,"plan_id":"b","status":"executing","steps":["x"]}`},
		{"update_task", `{"task_id":"a","status":"waits"}`,
			`{"success":false,"error":"update_task: status must be one of pending, in_progress, done, blocked"}`},
		{"list_tasks", `{}`, `{"success":false,"error":"list_tasks: root/.tasks.json cannot be read and is left as it is: it is no JSON array of objects"}`},
		{"memory_list", `{}`, `{"success":true,"entries":[{"title":"first","content_preview":"x","content":"x"}],"count":1}`},
	})
}

// TestStackNotText says which texts show U+FFFD in place of bytes.
func TestStackNotText(t *testing.T) {
	b := newBase(t, skill.Config{})
	b.file("MEMORY.md", "### a\n_t_\nx\xff\n")
	b.file("AGENTS.md", "a\xff")
	b.file("SOUL.md", "s")
	b.file("TOOLS.md", "\xfft")
	b.stackCases([]stackCase{
		{"memory_list", `{}`, `{"success":true,"warning":"MEMORY.md: ` + notText +
			`","entries":[{"title":"a","content_preview":"x` + "\ufffd" + `","content":"x` + "\ufffd" +
			`"}],"count":1}`},
		{"context_load", `{}`, `{"success":true,"warning":"AGENTS.md, TOOLS.md: ` + notText +
			`","context":{"agents":"a` + "\ufffd" + `","soul":"s","tools":"` + "\ufffd" +
			`t"},"loaded":["AGENTS.md","SOUL.md","TOOLS.md"]}`},
	})
}

// TestStackFetchParts says where a page continues, also if nothing was asked for.
func TestStackFetchParts(t *testing.T) {
	for _, tt := range []struct {
		start       int
		shown, want string
	}{
		{0, "", `"length":0,"total_length":5,"truncated":true,"next_index":0`},
		{1, "ée", `"length":2,"total_length":5,"truncated":true,"next_index":3`},
		{3, "lo", `"length":2,"total_length":5,"truncated":false`},
		{9, "", `"length":0,"total_length":5,"truncated":false`},
	} {
		a := fetchArgs{webURL: webURL{"u"}, Start: tt.start}
		got := a.reply(skill.Fetched{Content: tt.shown, Total: 5})
		got = strings.Replace(got, `"final_url":"","status_code":0,"content_type":"",`, "", 1)
		if want := `{"success":true,"url":"u","content":"` + tt.shown + `",` + tt.want + "}"; got != want {
			t.Errorf("from %d\n got %s\nwant %s", tt.start, got, want)
		}
	}
}

// TestStackTaskTwice changes the first of two tasks of one id, and its status only
// where one is given.
func TestStackTaskTwice(t *testing.T) {
	b := newBase(t, skill.Config{})
	b.file(".tasks.json", `[{"id":"a","status":"pending"},{"id":"a","status":"pending"}]`)
	b.stackCases([]stackCase{
		{"update_task", `{"task_id":"a","status":"done"}`, `{"success":true,"task_id":"a","updated":true}`},
		{"update_task", `{"task_id":"a","status":"","title":5,"description":true}`,
			`{"success":true,"task_id":"a","updated":true}`},
	})
	var tasks []struct{ Title, Description, Status, Updated string }
	data, err := os.ReadFile(filepath.Join(b.dir, ".tasks.json"))
	if err == nil {
		err = json.Unmarshal(data, &tasks)
	}
	if err != nil || len(tasks) != 2 || tasks[0].Status != "done" || tasks[0].Title+
		tasks[0].Description != "5true" || tasks[1].Status != "pending" || tasks[1].Updated != "" {
		t.Errorf("%s, %v", data, err)
	}
}

// TestStackDryRun describes changes, and makes and pretends none.
func TestStackDryRun(t *testing.T) {
	b := newBase(t, skill.Config{DryRun: true})
	b.file("f", "a\n")
	b.file(".tasks.json", `[{"id":"a"}]`)
	for _, tt := range []stackCase{
		{"write", `{"path":"g","content":"x"}`,
			`{"success":true,"path":"g","lines_written":1,"dry_run":true,"change":"would write root/g","diff":"--- /dev/null\n`},
		{"edit", `{"path":"f","old_text":"a","new_text":"b"}`,
			`{"success":true,"path":"f","edits_made":1,"dry_run":true,"change":"would edit root/f","diff":"--- `},
		{"move", `{"source":"f","destination":"g"}`,
			`{"success":true,"source":"f","destination":"g","dry_run":true,"change":"would move root/f to root/g"`},
		{"delete", `{"path":"f","force":true}`,
			`{"success":true,"would_delete":"f","dry_run":true,"change":"would delete root/f"`},
		{"memory_save", `{"key":"k","value":"v"}`,
			`{"success":true,"key":"k","saved":false,"dry_run":true,"change":"would append to root/MEMORY.md"`},
		{"create_task", `{"title":"t"}`,
			`{"success":true,"task":{"id":"","title":"t","description":"","priority":"medium","status":"pending","created":""},"dry_run":true,"change":"would edit root/.tasks.json"`},
		{"delete_task", `{"task_id":"a"}`,
			`{"success":true,"task_id":"a","deleted":false,"dry_run":true,"change":"would edit root/.tasks.json"`},
		{"create_plan", `{"goal":"g","steps":["s"]}`,
			`{"success":true,"plan":{"id":"","goal":"g","steps":["s"],"status":"pending","created":""},"dry_run":true,"change":"would write root/.plans.json"`},
	} {
		got := stackTime.ReplaceAllString(stackID.ReplaceAllString(b.stack(tt.tool, tt.args),
			`"id":""`), `""`)
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s %s\n got %s\nwant %s", tt.tool, tt.args, got, tt.want)
		}
	}
	entries, err := os.ReadDir(b.dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("there are %v, %v", entries, err)
	}
}

// TestStackLists answers long lists in parts.
func TestStackLists(t *testing.T) {
	b := newBase(t, skill.Config{})
	b.file(".tasks.json", "["+strings.Repeat(`{"id":"a"},`, 1500)+`{"id":"z"}]`)
	b.file("MEMORY.md", strings.Repeat("### a\n", 1500)+"### z\n_t_\n"+strings.Repeat("é", 201))
	for _, tool := range []string{"list_tasks", "memory_list"} {
		for args, want := range map[string]string{
			`{}`:              `"count":1000,"truncated":true,"total":1501,"next_offset":1000}`,
			`{"offset":1000}`: `"count":501}`,
			`{"offset":1501}`: `"count":0}`,
		} {
			if got := b.stack(tool, args); !strings.HasSuffix(got, want) {
				t.Errorf("%s %s ends with %s, want %s", tool, args, got[max(0, len(got)-100):], want)
			}
		}
	}
	short := strings.Repeat("é", 200)
	b.stackCases([]stackCase{
		{"list_tasks", `{"offset":1500}`, `{"success":true,"tasks":[{"id":"z"}],"count":1}`},
		{"memory_list", `{"offset":1500}`, `{"success":true,"entries":[{"title":"z","content_preview":"` +
			short + `","content":"` + short + `","truncated":true}],"count":1}`},
	})
}

// TestWithContent has a text as encoding/json has it, also where it is cut into pieces.
func TestWithContent(t *testing.T) {
	document := func(content string, lines int) string {
		return success(keys{"warning?", `"content":""`, "content", content, "total_lines", lines})
	}
	for _, part := range []string{"", "a", "\x00\b\f\n\r\t\x1f\x7f", `\"content":""`,
		"</a>&\u2028\u2029\ufffd", "aä€😀"} {
		for n := range 5 {
			text := strings.Repeat(part, n*n*n*11)
			want := document(text, n)
			if got := withContent(document("", n), text); got != want {
				t.Errorf("%d times %q: %.200q, not %.200q", n*n*n*11, part, got, want)
			}
		}
	}
}
