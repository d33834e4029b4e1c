package skill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"textskill/skill/internal/words"
)

// tasksFile holds the tasks, as records, at the workspace's root.
const tasksFile = ".tasks.json"

// CreateTask appends a pending task with a new id. It returns a [Recorded].
type CreateTask struct{ Title, Description, Priority string }

// ListTasks lists the tasks with a status and a priority. It returns a [TaskList].
type ListTasks struct {
	// "" and "all" mean any; another that is neither listed below nor in a task is an error
	Status, Priority string

	Statuses, Priorities []string
	Offset               int // number of tasks to skip
	Limit                int // maximum number of tasks; 0 means 1000
}

// UpdateTask sets fields of a task, and its field updated. It returns a [Recorded].
type UpdateTask struct {
	ID     string
	Fields []Field // not id, created or updated
}

// DeleteTask removes all tasks with an id. It returns a [Recorded].
type DeleteTask struct{ ID string }

func (CreateTask) op() {}
func (ListTasks) op()  {}
func (UpdateTask) op() {}
func (DeleteTask) op() {}

// Recorded is the result of operations that change one task or plan.
type Recorded struct {
	Changed
	Record Record // the new state; after DeleteTask it has only the id
}

// Message says what was changed and the id of the record.
func (r Recorded) Message() string {
	return pastTense[r.Kind] + " " + r.Path + ": " + r.Record.Text("id")
}

// TaskList is the result of [ListTasks].
type TaskList struct {
	Tasks []Record // the oldest first
	Total int      // number of matching tasks, whatever Offset and Limit
}

// Message says how many tasks match.
func (l TaskList) Message() string { return words.Count(l.Total, "task", "tasks") }

func (x *Executor) CreateTask(ctx context.Context, _ *Session, a CreateTask) (Recorded, error) {
	var made Record
	c, err := x.changeRecords(ctx, tasksFile, true, func(list []Record) ([]Record, error) {
		made = Record{
			newField("id", newID(list)), newField("title", a.Title), newField("description", a.Description),
			newField("priority", a.Priority), newField("status", "pending"),
			newField("created", localTime(time.Now())),
		}
		return append(list, made), nil
	})
	return Recorded{Changed{Change: c}, made}, err
}

func (x *Executor) ListTasks(_ context.Context, _ *Session, a ListTasks) (TaskList, error) {
	list, err := x.records(tasksFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return TaskList{}, err
	}
	if err := cmp.Or(knownValue(list, "status", a.Status, a.Statuses),
		knownValue(list, "priority", a.Priority, a.Priorities)); err != nil {
		return TaskList{}, err
	}
	matches := func(r Record, name, want string) bool {
		return want == "" || want == "all" || r.Text(name) == want
	}
	list = slices.DeleteFunc(list, func(r Record) bool {
		return !matches(r, "status", a.Status) || !matches(r, "priority", a.Priority)
	})
	return TaskList{paginate(list, a.Offset, a.Limit), len(list)}, nil
}

// knownValue fails unless a filter is a known value of a field, or one that a task has.
func knownValue(list []Record, field, want string, known []string) error {
	if want == "" || want == "all" {
		return nil
	}
	known = slices.Clone(known)
	for _, r := range list {
		if v := r.Text(field); v != "" && !slices.Contains(known, v) {
			known = append(known, v)
		}
	}
	if slices.Contains(known, want) {
		return nil
	}
	return fmt.Errorf("there is no %s %q; there are %s, and all", field, want, strings.Join(known, ", "))
}

// paginate returns at most limit elements of a list from offset on; a limit of 0 means 1000.
func paginate[T any](list []T, offset, limit int) []T {
	if limit == 0 {
		limit = 1000
	}
	list = list[min(max(offset, 0), len(list)):]
	return list[:min(limit, len(list))]
}

func (x *Executor) UpdateTask(ctx context.Context, _ *Session, a UpdateTask) (Recorded, error) {
	return x.changeRecord(ctx, tasksFile, "task", a.ID,
		append(slices.Clone(a.Fields), newField("updated", localTime(time.Now()))))
}

func noRecord(kind, id string) error { return fmt.Errorf("there is no %s %s", kind, id) }

// changeRecord sets fields of the first record with an id.
func (x *Executor) changeRecord(ctx context.Context, file, kind, id string, fields []Field) (Recorded, error) {
	var found Record
	c, err := x.changeRecords(ctx, file, false, func(list []Record) ([]Record, error) {
		for i, r := range list {
			if r.Text("id") != id {
				continue
			}
			for _, f := range fields {
				r = r.with(f)
			}
			list[i], found = r, r
			break
		}
		if found == nil {
			return nil, noRecord(kind, id)
		}
		return list, nil
	})
	return Recorded{Changed{Change: c}, found}, err
}

func (x *Executor) DeleteTask(ctx context.Context, _ *Session, a DeleteTask) (Recorded, error) {
	var deleted Record
	c, err := x.changeRecords(ctx, tasksFile, false, func(list []Record) ([]Record, error) {
		kept := slices.DeleteFunc(slices.Clone(list), func(r Record) bool { return r.Text("id") == a.ID })
		if len(kept) == len(list) {
			return nil, noRecord("task", a.ID)
		}
		deleted = Record{newField("id", a.ID)}
		return kept, nil
	})
	return Recorded{Changed{Change: c}, deleted}, err
}
