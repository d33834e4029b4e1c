package dialect

import (
	"encoding/json"
	"errors"
	"fmt"

	"textskill/skill"
)

// Undo has the tools that list and undo changes. It is served together with another dialect,
// to clients that may undo their changes.
var Undo = &Dialect{
	Name:         "undo",
	Doc:          "the history: list, show and undo changes",
	noSurrogates: true,
	fail:         undoFail,
	Tools:        []Tool{undoTool, historyTool, restoreTool, diffTool},
}

var undoTool = Tool{
	Name: "undo", Doc: "Undo the last change, one change, or everything since one. An undo can be undone.",
	Params: []Param{
		{Name: "id", Type: "string", Doc: "the change to undo; the last one by default"},
		{Name: "since", Type: "string", Doc: "undo this change and all that came after it"},
		{Name: "run", Type: "string", Doc: "undo the changes of this run of an expert, and no others"},
		{Name: "after", Type: "array", Of: "string", Doc: "with run, only those after these changes"},
		{Name: "force", Type: "boolean",
			Doc: "undo even if something else has changed the file since; the current content is saved as a change"},
		{Name: "perhaps", Type: "boolean", Doc: "also take back what others may have changed"}},
	Effect: Destroys,
	operation: func(in *call) (skill.Args, error) {
		return skill.Undo{ID: in.str("id"), Since: in.str("since"), Run: in.str("run"),
			After: in.values.texts("after"), Force: in.flag("force"),
			Perhaps: in.flag("perhaps")}, nil
	},
	reply: message,
}

var historyTool = Tool{
	Name: "history", Doc: "List the changes that can be undone, the newest first.",
	Params: []Param{
		{Name: "path", Type: "string", Path: true, Doc: "only changes of this file or folder"},
		{Name: "run", Type: "string", Doc: "only changes of this run of an expert"},
		{Name: "limit", Type: "integer", Doc: "number of changes, 50 by default"}},
	operation: func(in *call) (skill.Args, error) {
		limit := historyLimit
		if n, ok := in.values["limit"].(json.Number); ok {
			i, err := n.Int64()
			if err != nil || i < 1 {
				return nil, errors.New("limit must be at least 1")
			}
			limit = int(min(i, maxHistory))
		}
		return skill.History{Path: in.str("path"), Run: in.str("run"), Limit: limit}, nil
	},
	reply: message,
}

var restoreTool = Tool{
	Name: "restore", Doc: "Show what a file held before a change, or write that to a file. The change stays.",
	Params: []Param{
		{Name: "id", Type: "string", Required: true, Doc: "the change"},
		{Name: "path", Type: "string", Path: true, Doc: "the file, if the change is about several"},
		{Name: "back", Type: "boolean", Doc: "write the content back to the file itself"},
		{Name: "to", Type: "string", Path: true,
			Doc: "another file to write; by default the content is the answer"}},
	Effect: Destroys,
	operation: func(in *call) (skill.Args, error) {
		return skill.Restore{ID: in.str("id"), Path: in.str("path"), Back: in.flag("back"),
			To: in.str("to")}, nil
	},
	reply: message,
}

var diffTool = Tool{
	Name: "diff", Doc: "Show what a change did, as a unified diff.",
	Params:    []Param{{Name: "id", Type: "string", Required: true, Doc: "the change"}},
	operation: func(in *call) (skill.Args, error) { return skill.Difference{ID: in.str("id")}, nil },
	reply:     message,
}

// How many changes are listed, by default and at most.
const (
	historyLimit = 50
	maxHistory   = 1000
)

// message replies with the result's own sentence.
func message(_ *call, r skill.Result) string { return r.Message() }

func undoFail(in *call, err error) Reply {
	f := &Failure{Message: fmt.Sprintf("%s: %v", in.sent, err), Code: codeOf(err), Hint: hintOf(err),
		Cause: err}
	r := failureReply(f)
	if f.Hint != "" {
		r.Body += "\n" + f.Hint
	}
	return r
}
