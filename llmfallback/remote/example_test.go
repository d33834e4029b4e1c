package remote_test

import (
	"fmt"
	"strings"

	"textskill/llmfallback/remote"
)

// Server-sent events are read one after another.
func ExampleEvents() {
	events := remote.NewEvents(strings.NewReader("data: one\n\ndata: two\n\n"))
	for {
		data, err := events.Next()
		if err != nil {
			break // io.EOF, or what went wrong
		}
		fmt.Println(string(data))
	}
	// Output:
	// one
	// two
}
