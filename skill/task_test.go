package skill

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestTasks creates, updates and deletes tasks, and compares the file after each step.
func TestTasks(t *testing.T) {
	dir, xs := inside(t, nil, 1)
	x := xs[0]
	first := did[Recorded](t, x, CreateTask{Title: "é <b> 🙂\x7f", Priority: "high"}).Record
	second := did[Recorded](t, x, CreateTask{Title: "b", Description: "d", Priority: "low"}).Record
	did[Recorded](t, x, UpdateTask{ID: first.Text("id"),
		Fields: []Field{newField("status", "done"), {"tags", []byte(`[ "x",{} ]`)}}})
	for _, tt := range []struct {
		list  ListTasks
		total int
		want  string
	}{
		{ListTasks{}, 2, "é <b> 🙂\x7f b"},
		{ListTasks{Status: "all", Priority: "all"}, 2, "é <b> 🙂\x7f b"},
		{ListTasks{Status: "done"}, 1, "é <b> 🙂\x7f"},
		{ListTasks{Status: "done", Priority: "low"}, 0, ""},
		{ListTasks{Offset: 1, Limit: 1}, 2, "b"},
		{ListTasks{Offset: 9}, 2, ""},
	} {
		l := did[TaskList](t, x, tt.list)
		var titles []string
		for _, r := range l.Tasks {
			titles = append(titles, r.Text("title"))
		}
		if got := strings.Join(titles, " "); got != tt.want || l.Total != tt.total {
			t.Errorf("%+v finds %s, %d in all; want %s, %d", tt.list, got, l.Total, tt.want, tt.total)
		}
	}
	did[Recorded](t, x, DeleteTask{ID: second.Text("id")})
	const want = `[
  {
    "id": "ID",
    "title": "\u00e9 <b> \ud83d\ude42\u007f",
    "description": "",
    "priority": "high",
    "status": "done",
    "created": "TIME",
    "tags": [
      "x",
      {}
    ],
    "updated": "TIME"
  }
]`
	if got := masked(t, filepath.Join(dir, ".tasks.json")); got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
	for _, a := range []Args{UpdateTask{ID: second.Text("id")}, DeleteTask{ID: second.Text("id")},
		DeleteTask{}} {
		if _, err := x.Execute(t.Context(), &Session{}, a); err == nil ||
			!strings.HasPrefix(err.Error(), "there is no task ") {
			t.Errorf("%+v: %v", a, err)
		}
	}
}

var (
	anID   = regexp.MustCompile(`"id": "[0-9a-f]{8}"`)
	aStamp = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?"`)
)

// masked returns a file of records with ids and times replaced.
func masked(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return aStamp.ReplaceAllString(anID.ReplaceAllString(string(data), `"id": "ID"`), `"TIME"`)
}

// TestPlans creates a plan and starts it.
func TestPlans(t *testing.T) {
	dir, xs := inside(t, nil, 1)
	x := xs[0]
	if _, err := x.Execute(t.Context(), &Session{}, ExecutePlan{ID: "x"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without plans: %v", err)
	}
	did[Recorded](t, x, CreatePlan{Goal: "none"})
	made := did[Recorded](t, x, CreatePlan{Goal: "g", Steps: []string{"one", "<two>"}}).Record
	begun := did[Recorded](t, x, ExecutePlan{ID: made.Text("id")}).Record
	if got := string(begun.Value("steps")); strings.Join(strings.Fields(got), "") != `["one","<two>"]` {
		t.Errorf("the steps are %s", got)
	}
	const want = `[
  {
    "id": "ID",
    "goal": "none",
    "steps": [],
    "status": "pending",
    "created": "TIME"
  },
  {
    "id": "ID",
    "goal": "g",
    "steps": [
      "one",
      "<two>"
    ],
    "status": "executing",
    "created": "TIME",
    "started": "TIME"
  }
]`
	if got := masked(t, filepath.Join(dir, ".plans.json")); got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
	if _, err := x.Execute(t.Context(), &Session{}, ExecutePlan{ID: "ffffffff"}); err == nil ||
		err.Error() != "there is no plan ffffffff" {
		t.Errorf("an unknown plan: %v", err)
	}
}

// TestDamagedRecords checks that files that cannot be parsed are not changed.
func TestDamagedRecords(t *testing.T) {
	for _, text := range []string{
		"", " ", "{oops", "{}", "null", "5", `"x"`, `[1]`, `[{}`, `[{}] x`, "\ufeff[]",
		"[{\"title\":\"\xff\"}]", "[{\"a\":NaN}]", strings.Repeat(" ", maxStore) + "[]",
	} {
		dir, xs := inside(t, map[string]string{".tasks.json": text}, 1)
		for _, a := range []Args{CreateTask{Title: "a"}, ListTasks{}, UpdateTask{ID: "a"},
			DeleteTask{ID: "a"}} {
			if r, err := xs[0].Execute(t.Context(), &Session{}, a); err == nil ||
				!strings.Contains(err.Error(), " cannot be read and is left as it is: ") {
				t.Errorf("%.20q: %T answers %+v, %v", text, a, r, err)
			} else if strings.Contains(err.Error(), "Go value") {
				t.Errorf("%.20q: %v", text, err)
			}
		}
		if data, err := os.ReadFile(filepath.Join(dir, ".tasks.json")); err != nil || string(data) != text {
			t.Errorf("%.20q has become %.40q, %v", text, data, err)
		}
	}
}

// TestRecordsOfOthers checks that unknown fields of other programs are kept.
func TestRecordsOfOthers(t *testing.T) {
	dir, xs := inside(t, map[string]string{".tasks.json": `[{"id":5},{"id":"a","x":1e2,"x":{"k":[]},"title":"é\u00e9"},{"id":"a","status":"done"},{}]`}, 1)
	did[Recorded](t, xs[0], UpdateTask{ID: "a", Fields: []Field{newField("status", "blocked")}})
	want := strings.Join([]string{`[`,
		`  {`, `    "id": 5`, `  },`,
		`  {`, `    "id": "a",`, `    "x": {`, `      "k": []`, `    },`, `    "title": "\u00e9\u00e9",`,
		`    "status": "blocked",`, `    "updated": "TIME"`, `  },`,
		`  {`, `    "id": "a",`, `    "status": "done"`, `  },`,
		`  {}`, `]`}, "\n")
	if got := masked(t, filepath.Join(dir, ".tasks.json")); got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
	did[Recorded](t, xs[0], DeleteTask{ID: "a"})
	if l := did[TaskList](t, xs[0], ListTasks{}); l.Total != 2 {
		t.Errorf("%d tasks are left, want 2", l.Total)
	}
}

// TestCreateTaskAtOnce creates tasks in two executors at the same time.
func TestCreateTaskAtOnce(t *testing.T) {
	_, xs := inside(t, nil, 2)
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			if _, err := xs[i%2].Execute(t.Context(), &Session{},
				CreateTask{Title: strings.Repeat("t", i+1)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	ids, titles := map[string]bool{}, map[string]bool{}
	for _, r := range did[TaskList](t, xs[0], ListTasks{}).Tasks {
		ids[r.Text("id")], titles[r.Text("title")] = true, true
	}
	if len(ids) != 100 || len(titles) != 100 {
		t.Errorf("there are %d ids and %d titles, want 100", len(ids), len(titles))
	}
}

// TestLocalTime checks that a fraction of zero is omitted, as Python does.
func TestLocalTime(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	for _, tt := range []struct {
		at   time.Time
		want string
	}{{at, "2026-01-02T03:04:05"}, {at.Add(1500 * time.Nanosecond), "2026-01-02T03:04:05.000001"}} {
		if got := localTime(tt.at); got != tt.want {
			t.Errorf("%v is %s, want %s", tt.at, got, tt.want)
		}
	}
}
