package parser_test

import (
	"errors"
	"fmt"

	"textskill/parser"
)

func ExampleText() {
	c := parser.Text("writeFile \"my notes.txt\" content: it's\n  fine\n")
	text, _ := c.Content()
	fmt.Printf("%s %q %q\n", c.Operation, c.Path, text)
	// Output: writeFile "my notes.txt" "it's\n  fine"
}

func ExampleCommand_Destination() {
	c := parser.Text("copyFile a.txt Destination: 'old copies/a.txt'")
	destination, ok := c.Destination()
	fmt.Println(destination, ok)
	// Output: old copies/a.txt true
}

func ExampleCommand_Content() {
	for _, prompt := range []string{"writeFile a", "writeFile a text", "writeFile a content:"} {
		c := parser.Text(prompt)
		text, explicit := c.Content()
		fmt.Printf("%q: payload %q, content %q %t\n", prompt, c.Payload, text, explicit)
	}
	// Output:
	// "writeFile a": payload "", content "" false
	// "writeFile a text": payload "text", content "" false
	// "writeFile a content:": payload "content:", content "" true
}

func ExampleToolCalls() {
	e, err := parser.ToolCalls("I'll look.\n```json\n" + `{"tool_calls": [
		{"id": "1", "type": "function", "function": {"name": "read_file", "arguments": "{'path': 'a.txt'}"}},
		{"id": "2", "type": "function", "function": {"name": "read_file", "arguments": {"path": "a.txt"}}},
	]}` + "\n```")
	for _, c := range e.Calls {
		fmt.Println(c.ID, c.Name, string(c.Arguments), c.Err)
	}
	for _, r := range e.Repairs {
		fmt.Println("repaired:", r)
	}
	fmt.Println(err)
	// Output:
	// 1 read_file {"path": "a.txt"} <nil>
	// 2 read_file  function.arguments must be a JSON string that holds an object, got an object
	// repaired: trailing comma removed
	// repaired: code fence removed
	// repaired: prose removed
	// repaired: arguments of call 1: single quotes replaced
	// <nil>
}

func ExampleSyntaxError() {
	_, err := parser.ToolCalls(`{"ops":[{"type":"read_file","path":"a.txt"}]}`)
	fmt.Println(err)
	if wrong, ok := errors.AsType[*parser.SyntaxError](err); ok {
		fmt.Println(wrong.Hint())
	}
	// Output:
	// ERR: no tool_calls provided
	// key `ops` is not `tool_calls`; want {"tool_calls":[…]} or {"final":"…"}
}

func ExampleCalls() {
	known := func(name string) bool { return name == "grep" || name == "write" }
	calls, _, err := parser.Calls("I search with grep(…) first:\n```\ngrep(path: '.', pattern: 'def\\\\s+', context: 2)\n```\nwrite(path: 'a.txt', content: 'it's')", known)
	for _, c := range calls {
		fmt.Println(c.Name, string(c.Arguments), c.Err)
	}
	fmt.Println(err)
	// Output:
	// grep {"path":".","pattern":"def\\s+","context":2} <nil>
	// write  line 5, column 35: found 's', want ',' or ')' after the value; a quote inside a string is written \' or \"; nothing from there on was read
	// <nil>
}
