package wire_test

import (
	"encoding/json"
	"fmt"
	"log"

	"textskill/parser/wire"
)

// A model that writes calls into its text is answered in its own form.
func Example() {
	text := "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a.txt\"}}\n</tool_call>"
	w, _ := wire.OfText(text)
	e, err := w.Read(text, func(string) json.RawMessage { return nil })
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range e.Calls {
		fmt.Println(w.Name, c.Name, string(c.Arguments))
	}
	// Output: hermes read {"path": "a.txt"}
}
