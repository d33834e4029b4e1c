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
	Tools: []Tool{
		row(Tool{Name: "undo", Effect: Destroys,
			Doc: "Undo the last change, one change, or everything since one. An undo can be undone."},
			func(in *call, a struct {
				ID      string   `arg:"id" doc:"the change to undo; the last one by default"`
				Since   string   `arg:"since" doc:"undo this change and all that came after it"`
				Run     string   `arg:"run" doc:"undo the changes of this run of an expert, and no others"`
				After   []string `arg:"after" doc:"with run, only those after these changes"`
				Force   bool     `arg:"force" doc:"undo even if something else has changed the file since; the current content is saved as a change"`
				Perhaps bool     `arg:"perhaps" doc:"also take back what others may have changed"`
			}) (string, error) {
				return in.say(skill.Undo{ID: a.ID, Since: a.Since, Run: a.Run, After: a.After, Force: a.Force,
					Perhaps: a.Perhaps})
			}),
		row(Tool{Name: "history", Doc: "List the changes that can be undone, the newest first."},
			func(in *call, a struct {
				Path  string      `arg:"path" is:"path" doc:"only changes of this file or folder"`
				Run   string      `arg:"run" doc:"only changes of this run of an expert"`
				Limit json.Number `arg:"limit" type:"integer" doc:"number of changes, 50 by default"`
			}) (string, error) {
				limit, err := historyLimit(a.Limit)
				if err != nil {
					return "", err
				}
				return in.say(skill.History{Path: a.Path, Run: a.Run, Limit: limit})
			}),
		row(Tool{Name: "restore", Effect: Destroys,
			Doc: "Show what a file held before a change, or write that to a file. The change stays."},
			func(in *call, a struct {
				ID   string `arg:"id" is:"required" doc:"the change"`
				Path string `arg:"path" is:"path" doc:"the file, if the change is about several"`
				Back bool   `arg:"back" doc:"write the content back to the file itself"`
				To   string `arg:"to" is:"path" doc:"another file to write; by default the content is the answer"`
			}) (string, error) {
				return in.say(skill.Restore{ID: a.ID, Path: a.Path, Back: a.Back, To: a.To})
			}),
		row(Tool{Name: "diff", Doc: "Show what a change did, as a unified diff."},
			func(in *call, a struct {
				ID string `arg:"id" is:"required" doc:"the change"`
			}) (string, error) {
				return in.say(skill.Difference{ID: a.ID})
			}),
	},
}

// historyLimit is how many changes are listed: 50 by default, and 1000 at most.
func historyLimit(given json.Number) (int, error) {
	if given == "" {
		return 50, nil
	}
	n, err := given.Int64()
	if err != nil || n < 1 {
		return 0, errors.New("limit must be at least 1")
	}
	return int(min(n, 1000)), nil
}

func undoFail(in *call, err error) Reply {
	f := &Failure{Message: fmt.Sprintf("%s: %v", in.sent, err), Code: codeOf(err), Hint: hintOf(err),
		Cause: err}
	r := failureReply(f)
	if f.Hint != "" {
		r.Body += "\n" + f.Hint
	}
	return r
}
