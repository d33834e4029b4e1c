package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"textskill/parser/rawjson"
	"textskill/skill"
)

var stackTasks = []Tool{
	row(Tool{Name: "create_task", Doc: "Create a task, which is pending.", Effect: Adds},
		func(in *call, a struct {
			Title       string `arg:"title" is:"required" doc:"what to do"`
			Description string `arg:"description" default:"" doc:"more about it"`
			Priority    string `arg:"priority" enum:"low,medium,high,critical" default:"medium" doc:"how much it matters"`
		}) (string, error) {
			made, err := do[skill.Recorded](in, skill.CreateTask{Title: a.Title, Description: a.Description,
				Priority: a.Priority})
			return success(keys{"task", made.Record}, dryRunOf(made.Changed)), err
		}),
	row(Tool{Name: "list_tasks", Doc: "List the tasks, or only the ones with a status or priority."},
		func(in *call, a struct {
			Status   string `arg:"status" default:"" doc:"one of pending, in_progress, done, blocked; all for any"`
			Priority string `arg:"priority" default:"" doc:"one of low, medium, high, critical; all for any"`
			stackOffset
		}) (string, error) {
			if err := a.check(); err != nil {
				return "", err
			}
			list, err := do[skill.TaskList](in, skill.ListTasks{Statuses: statuses, Priorities: priorities,
				Status: a.Status, Priority: a.Priority, Offset: a.Offset})
			return success(keys{"tasks", append([]skill.Record{}, list.Tasks...), "count", len(list.Tasks)},
				a.next(len(list.Tasks), list.Total)), err
		}),
	row(Tool{Name: "update_task", Effect: Destroys, More: true, Doc: "Set the status of a task, and any other " +
		"fields: title, description, priority, or what you like."},
		func(in *call, a struct {
			stackTaskID
			Status any `arg:"status" type:"string" enum:"pending,in_progress,done,blocked" is:"lenient" doc:"its new status"`
		}) (string, error) {
			fields, err := taskFields(in.values, in.raw)
			if err != nil {
				return "", err
			}
			r, err := do[skill.Recorded](in, skill.UpdateTask{ID: a.ID, Fields: fields})
			return success(keys{"task_id", a.ID, "updated", r.Applied}, dryRunOf(r.Changed)),
				recordsMissing("No tasks found", err)
		}),
	row(Tool{Name: "delete_task", Doc: "Delete a task.", Effect: Destroys},
		func(in *call, a stackTaskID) (string, error) {
			r, err := do[skill.Recorded](in, skill.DeleteTask{ID: a.ID})
			return success(keys{"task_id", a.ID, "deleted", r.Applied}, dryRunOf(r.Changed)),
				recordsMissing("No tasks found", err)
		}),
	row(Tool{Name: "create_plan", Doc: "Create a plan with its steps in their order.", Effect: Adds},
		func(in *call, a struct {
			Goal  string   `arg:"goal" is:"required" doc:"what the plan is for"`
			Steps []string `arg:"steps" is:"required" doc:"the steps"`
		}) (string, error) {
			for i, s := range a.Steps {
				if strings.TrimSpace(s) == "" {
					return "", fmt.Errorf("step %d is empty; say what is to be done", i+1)
				}
			}
			if len(a.Steps) == 0 {
				return "", errors.New("steps is empty; give at least one")
			}
			made, err := do[skill.Recorded](in, skill.CreatePlan{Goal: a.Goal, Steps: a.Steps})
			return success(keys{"plan", made.Record}, dryRunOf(made.Changed)), err
		}),
	row(Tool{Name: "execute_plan", Effect: Destroys, Doc: "Mark a plan as started and return its steps. " +
		"Nothing is run: do the steps one by one."},
		func(in *call, a struct {
			ID string `arg:"plan_id" is:"required" doc:"the plan's id"`
		}) (string, error) {
			begun, err := do[skill.Recorded](in, skill.ExecutePlan{ID: a.ID})
			if err != nil {
				return "", recordsMissing("No plans found", err)
			}
			return success(keys{"plan_id", a.ID, "status", "executing", "steps", stepsOf(begun.Record)},
				dryRunOf(begun.Changed)), nil
		}),
}

var (
	priorities = []string{"low", "medium", "high", "critical"}
	statuses   = []string{"pending", "in_progress", "done", "blocked"}
)

type stackTaskID struct {
	ID string `arg:"task_id" is:"required" doc:"the task's id"`
}

// stepsOf are the steps of a plan. In files of the original they may be missing, or
// one text.
func stepsOf(plan skill.Record) []json.RawMessage {
	var list []json.RawMessage
	switch v := plan.Value("steps"); {
	case v == nil:
	case json.Unmarshal(v, &list) != nil:
		list = []json.RawMessage{v}
	}
	return append([]json.RawMessage{}, list...)
}

// recordsMissing says that there is no file of records yet.
func recordsMissing(text string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return failf("%s", text)
	}
	return err
}

// taskFields collects the fields to set, in their order. Those in an object kwargs count as
// fields too, for models that read the manual to the letter.
func taskFields(given map[string]any, raw []byte) (fields []skill.Field, err error) {
	for name, value := range rawjson.EachMember(raw) {
		key, _ := rawjson.String(name)
		v, ok := given[key]
		object, isObject := v.(map[string]any)
		switch {
		case !ok || key == "task_id" || key == "status" && v == "": // which the original ignores
			continue
		case key != "kwargs" && key != "**kwargs":
			if v, err = taskField(key, v); err != nil {
				return nil, err
			}
			if _, isList := v.([]any); !isObject && !isList {
				value = rawjson.Encode(v)
			}
			fields = append(fields, skill.Field{Name: key, Value: slices.Clone(value)})
		case !isObject:
			return nil, fmt.Errorf("%s must be an object of fields; or give the fields themselves", key)
		default:
			more, err := taskFields(object, value)
			if err != nil {
				return nil, err
			}
			fields = append(fields, more...)
		}
	}
	return fields, nil
}

// taskField checks a field to set, and returns its value as the type that it has in tasks.
func taskField(key string, v any) (any, error) {
	text := (&Param{Type: "string"}).coerced(v)
	s, isText := text.(string)
	switch key {
	case "id", "created", "updated":
		return nil, fmt.Errorf("%s is the task's own and cannot be set", key)
	case "title", "description":
		switch {
		case !isText:
			return nil, fmt.Errorf("%s must be of type string", key)
		case key == "title" && strings.TrimSpace(s) == "":
			return nil, fmt.Errorf("%s must be a text that is not empty", key)
		}
		return text, nil
	case "priority":
		if !slices.Contains(priorities, s) {
			return nil, oneOf(key, priorities)
		}
	case "status":
		if !slices.Contains(statuses, s) {
			return nil, oneOf(key, statuses)
		}
	}
	return v, nil
}

func oneOf(key string, names []string) error {
	return fmt.Errorf("%s must be one of %s", key, strings.Join(names, ", "))
}
