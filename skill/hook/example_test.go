package hook_test

import (
	"fmt"
	"log"

	"textskill/skill/hook"
)

// An agent tells its hook that it is going to edit a file.
func ExampleRead() {
	payload := `{"hook_event_name":"PreToolUse","session_id":"s1","cwd":"/work","tool_name":"Edit","tool_use_id":"t1",` +
		`"tool_input":{"file_path":"/work/a.txt","old_string":"a","new_string":"b"}}`
	e, err := hook.Read([]byte(payload), "claude-code", func(string) string { return "" })
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Host, e.Phase, e.Kind, e.Tool, e.Paths)
	// Output: claude-code before edit Edit [/work/a.txt]
}
