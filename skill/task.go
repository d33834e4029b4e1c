package skill

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"textskill/skill/internal/words"
)

// Tasks are the records of a file at the workspace's root, .tasks.json.
const tasksFile = ".tasks.json"

// CreateTask adds a task with a new id to the end of the list. It is pending.
type CreateTask struct{ Title, Description, Priority string }

// ListTasks lists the tasks of a status and a priority; "" and "all" are any.
type ListTasks struct {
	Status, Priority string
	Offset           int // tasks to leave out at the beginning
	Limit            int // tasks at the most; 0 means 1000
}

// UpdateTask sets fields of a task, and the time of the change.
type UpdateTask struct {
	ID     string
	Fields []Field // never id, created or updated
}

// DeleteTask removes all tasks with that id.
type DeleteTask struct{ ID string }

func (CreateTask) op() {}
func (ListTasks) op()  {}
func (UpdateTask) op() {}
func (DeleteTask) op() {}

// Recorded is what became of one record, a task or plan.
type Recorded struct {
	Changed
	Record Record
}

// Message tells which one it is.
func (r Recorded) Message() string { return past[r.Kind] + " " + r.Path + ": " + r.Record.Text("id") }

// TaskList are the tasks that ListTasks chose, oldest first.
type TaskList struct {
	Tasks []Record
	Total int // how many match, also before and behind these
}

// Message counts the tasks.
func (l TaskList) Message() string { return words.Count(l.Total, "task", "tasks") }

func (x *Executor) createTask(ctx context.Context, a CreateTask) (Result, error) {
	var made Record
	c, err := x.changeRecords(ctx, tasksFile, true, func(list []Record) ([]Record, error) {
		made = Record{
			newField("id", newID(list)), newField("title", a.Title), newField("description", a.Description),
			newField("priority", a.Priority), newField("status", "pending"), newField("created", localTime(time.Now())),
		}
		return append(list, made), nil
	})
	if err != nil {
		return nil, err
	}
	return Recorded{Changed{Change: c}, made}, nil
}

func (x *Executor) listTasks(a ListTasks) (Result, error) {
	list, err := x.records(tasksFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	is := func(r Record, name, want string) bool {
		return want == "" || want == "all" || r.Text(name) == want
	}
	list = slices.DeleteFunc(list, func(r Record) bool { return !is(r, "status", a.Status) || !is(r, "priority", a.Priority) })
	return TaskList{portion(list, a.Offset, a.Limit), len(list)}, nil
}

// portion returns limit elements of a list behind the first offset; a limit of 0 is 1000.
func portion[T any](list []T, offset, limit int) []T {
	if limit == 0 {
		limit = 1000
	}
	list = list[min(max(offset, 0), len(list)):]
	return list[:min(limit, len(list))]
}

func (x *Executor) updateTask(ctx context.Context, a UpdateTask) (Result, error) {
	return x.changeRecord(ctx, tasksFile, "task", a.ID, append(slices.Clone(a.Fields), newField("updated", localTime(time.Now()))))
}

// changeRecord sets fields of the first record with that id.
func (x *Executor) changeRecord(ctx context.Context, file, kind, id string, fields []Field) (Result, error) {
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
			return nil, &UnknownIDError{kind, id}
		}
		return list, nil
	})
	if err != nil {
		return nil, err
	}
	return Recorded{Changed{Change: c}, found}, nil
}

func (x *Executor) deleteTask(ctx context.Context, a DeleteTask) (Result, error) {
	var gone Record
	c, err := x.changeRecords(ctx, tasksFile, false, func(list []Record) ([]Record, error) {
		kept := slices.DeleteFunc(slices.Clone(list), func(r Record) bool { return r.Text("id") == a.ID })
		if len(kept) == len(list) {
			return nil, &UnknownIDError{"task", a.ID}
		}
		gone = Record{newField("id", a.ID)}
		return kept, nil
	})
	if err != nil {
		return nil, err
	}
	return Recorded{Changed{Change: c}, gone}, nil
}
