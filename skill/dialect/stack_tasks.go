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
	{
		Name: "create_task", Doc: "Create a task, which is pending.",
		Params: []Param{
			{Name: "title", Type: "string", Required: true, Doc: "what to do"},
			{Name: "description", Type: "string", Default: "", Doc: "more about it"},
			{Name: "priority", Type: "string", Enum: priorities, Default: "medium",
				Doc: "how much it matters"}},
		Effect: Adds,
		operation: func(in *call) (skill.Args, error) {
			return skill.CreateTask{Title: in.str("title"), Description: in.str("description"),
				Priority: in.str("priority")}, nil
		},
		reply: typed(func(_ *call, made skill.Recorded) string {
			return success(keys{"task", made.Record}, dryRunOf(made.Changed))
		}),
	},
	{
		Name: "list_tasks", Doc: "List the tasks, or only the ones with a status or priority.",
		Params: []Param{
			{Name: "status", Type: "string", Default: "",
				Doc: "one of pending, in_progress, done, blocked; all for any"},
			{Name: "priority", Type: "string", Default: "",
				Doc: "one of low, medium, high, critical; all for any"},
			stackOffset},
		operation: func(in *call) (skill.Args, error) {
			offset, err := offsetOf(in)
			return skill.ListTasks{Statuses: statuses, Priorities: priorities, Status: in.str("status"),
				Priority: in.str("priority"), Offset: offset}, err
		},
		reply: typed(func(in *call, list skill.TaskList) string {
			return success(keys{"tasks", append([]skill.Record{}, list.Tasks...), "count", len(list.Tasks)},
				pageOf(in, len(list.Tasks), list.Total))
		}),
	},
	{
		Name: "update_task", Doc: "Set the status of a task, and any other fields: title, description, priority, or what you like.",
		Params: []Param{stackTaskID,
			{Name: "status", Type: "string", Enum: statuses, Lenient: true, Doc: "its new status"}},
		More: true, Effect: Destroys,
		operation: func(in *call) (skill.Args, error) {
			fields, err := taskFields(in.values, in.raw)
			return skill.UpdateTask{ID: in.str("task_id"), Fields: fields}, err
		},
		reword: recordsMissing("No tasks found"),
		reply: typed(func(in *call, r skill.Recorded) string {
			return success(keys{"task_id", in.str("task_id"), "updated", r.Applied}, dryRunOf(r.Changed))
		}),
	},
	{
		Name: "delete_task", Doc: "Delete a task.",
		Params: []Param{stackTaskID},
		Effect: Destroys,
		operation: func(in *call) (skill.Args, error) {
			return skill.DeleteTask{ID: in.str("task_id")}, nil
		},
		reword: recordsMissing("No tasks found"),
		reply: typed(func(in *call, r skill.Recorded) string {
			return success(keys{"task_id", in.str("task_id"), "deleted", r.Applied}, dryRunOf(r.Changed))
		}),
	},
	{
		Name: "create_plan", Doc: "Create a plan with its steps in their order.",
		Params: []Param{
			{Name: "goal", Type: "string", Required: true, Doc: "what the plan is for"},
			{Name: "steps", Type: "array", Of: "string", Required: true, Doc: "the steps"}},
		Effect: Adds,
		operation: func(in *call) (skill.Args, error) {
			steps := in.texts("steps")
			for i, s := range steps {
				if strings.TrimSpace(s) == "" {
					return nil, fmt.Errorf("step %d is empty; say what is to be done", i+1)
				}
			}
			if len(steps) == 0 {
				return nil, errors.New("steps is empty; give at least one")
			}
			return skill.CreatePlan{Goal: in.str("goal"), Steps: steps}, nil
		},
		reply: typed(func(_ *call, made skill.Recorded) string {
			return success(keys{"plan", made.Record}, dryRunOf(made.Changed))
		}),
	},
	{
		Name: "execute_plan", Doc: "Mark a plan as started and return its steps. Nothing is run: do the steps one by one.",
		Params: []Param{
			{Name: "plan_id", Type: "string", Required: true, Doc: "the plan's id"}},
		Effect: Destroys,
		operation: func(in *call) (skill.Args, error) {
			return skill.ExecutePlan{ID: in.str("plan_id")}, nil
		},
		reword: recordsMissing("No plans found"),
		reply: typed(func(in *call, begun skill.Recorded) string {
			return success(keys{"plan_id", in.str("plan_id"), "status", "executing", "steps",
				stepsOf(begun.Record)}, dryRunOf(begun.Changed))
		}),
	},
}

var (
	priorities  = []string{"low", "medium", "high", "critical"}
	statuses    = []string{"pending", "in_progress", "done", "blocked"}
	stackTaskID = Param{Name: "task_id", Type: "string", Required: true, Doc: "the task's id"}
)

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
func recordsMissing(text string) func(*call, error) error {
	return func(_ *call, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return failf("%s", text)
		}
		return err
	}
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
