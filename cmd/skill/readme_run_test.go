package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"textskill/skill/agent"
)

// TestReadmeExperts reads the document's perstack.toml blocks, and lets the expert of
// the first work as the command below it says.
func TestReadmeExperts(t *testing.T) {
	projects := blocks(t, agentReadme, "toml")
	for _, block := range projects {
		if _, err := agent.ReadProject([]byte(block)); err != nil {
			t.Errorf("%v in\n%s", err, block)
		}
	}
	const command = `skill run file-organizer "Organize files in this directory by type" --max-steps 50`
	if !strings.Contains(readDocument(t, agentReadme), "\n"+command+"\n") {
		t.Errorf("the document has no %s", command)
	}
	var script []scriptedAnswer
	err := json.Unmarshal([]byte(`[
		{"tools":[{"id":"a","name":"listDirectory","input":{"path":"."}}]},
		{"tools":[{"id":"b","name":"todo","input":{"newTodos":["Create images/ directory","Create documents/ directory","Move files to appropriate directories"]}}]},
		{"tools":[{"id":"c","name":"createDirectory","input":{"path":"images"}},{"id":"d","name":"createDirectory","input":{"path":"documents"}}]},
		{"tools":[{"id":"e","name":"moveFile","input":{"source":"photo.jpg","destination":"images/photo.jpg"}},
			{"id":"f","name":"moveFile","input":{"source":"report.pdf","destination":"documents/report.pdf"}}]},
		{"tools":[{"id":"g","name":"todo","input":{"completedTodos":[0,1,2]}}]},
		{"tools":[{"id":"h","name":"attemptCompletion","input":{}}]},
		{"text":"The files are in images/ and documents/."}]`), &script)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{"perstack.toml": projects[0], "photo.jpg": "photo",
		"report.pdf": "report"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	events, stderr, code := skillRun(t, dir, scriptedEndpoint(t, script).URL, false, "file-organizer",
		"Organize files in this directory by type", "--max-steps", "50")
	if code != 0 || events[len(events)-1]["text"] != "The files are in images/ and documents/." {
		t.Errorf("exit %d: %s", code, stderr)
	}
	want := map[string]string{"perstack.toml": projects[0], "images/photo.jpg": "photo",
		"documents/report.pdf": "report"}
	if got := tree(t, dir); !reflect.DeepEqual(got, want) {
		t.Errorf("the workspace holds %v, want %v", got, want)
	}
}
