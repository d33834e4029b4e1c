package dialect

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestPerstackArguments has arguments that the row refuses.
func TestPerstackArguments(t *testing.T) {
	for _, tt := range []struct{ tool, in, want string }{
		{"todo", ``, "the arguments are not a JSON object"},
		{"todo", `null`, "the arguments are not a JSON object"},
		{"todo", `[]`, "the arguments are not a JSON object"},
		{"todo", ` "x"`, "the arguments are not a JSON object"},
		{"todo", `{"newTodos":"a"}`, "newTodos must be of type array"},
		{"todo", `{"completedTodos":[1,"2"]}`, "completedTodos must be an array of type number"},
		{"todo", `{"newTodos":null}`, "newTodos must be of type array"},
		{"todo", `{"newTodos":[["x"]]}`, "newTodos must be an array of type string"},
		{"todo", `{"newTodos":[null]}`, "newTodos must be an array of type string"},
		{"todo", `{"newTodos":["a"],"newTodos":["b"]}`, "newTodos is given twice"},
		{"readTextFile", `{}`, "path is required"},
		{"readTextFile", `{"path":"f","from":1e400}`, "from must be of type number"},
		{"exec", `{"command":"","args":[],"env":{"b":1},"cwd":"","stdout":true,"stderr":true}`,
			"env must be an object with values of type string"},
		{"exec", `{"command":"","args":[],"env":[],"cwd":"","stdout":true,"stderr":true}`,
			"env must be of type object"},
		{"exec", `{"command":"","args":[],"env":{},"cwd":"","stdout":"x","stderr":true}`,
			"stdout must be of type boolean"},
		{"editTextFile", `{"path":"f","newText":"x","oldText":""}`,
			"oldText must be a text of at least 1 character, not 0"},
		{"appendTextFile", `{"path":"f","text":"` + strings.Repeat("😀", 1000) + `x"}`,
			"text must be a text of at most 2000 characters, not 2001"},
	} {
		_, err := perstackArguments(Perstack.Lookup(tt.tool), json.RawMessage(tt.in))
		want := "MCP error -32602: Input validation error: Invalid arguments for tool " + tt.tool + ": " +
			tt.want
		if err == nil || err.Error() != want {
			t.Errorf("%s %.80s\n got %v\nwant %s", tt.tool, tt.in, err, want)
		}
	}
}

// TestPerstackArgumentsRead has the values of arguments that the row accepts.
func TestPerstackArgumentsRead(t *testing.T) {
	in, err := perstackArguments(Perstack.Lookup("exec"),
		json.RawMessage(`{"command":"c","args":["a","\ud800"],"env":{"B":"1","2":"two","B":"3"},"cwd":"","stdout":true,"stderr":false,"more":{},"timeout":1.5e3}`))
	if err != nil {
		t.Fatal(err)
	}
	if env := in["env"].(map[string]any); len(env) != 2 || env["2"] != "two" || env["B"] != "3" {
		t.Errorf("env is %v", env)
	}
	var a perstackExecArgs
	in.fill(Perstack.Lookup("exec").Params(), reflect.ValueOf(&a).Elem())
	if args := a.Args; args[0] != "a" || args[1] != "\xed\xa0\x80" {
		t.Errorf("args are %q", args)
	}
	if *a.Timeout != 1500 || !a.Stdout || a.Stderr || in["more"] != nil {
		t.Errorf("read %v", in)
	}
}

// TestLimit sets other limits than the manual's, and none.
func TestLimit(t *testing.T) {
	text := func(d *Dialect, n int) error {
		_, err := perstackArguments(d.Lookup("writeTextFile"),
			json.RawMessage(`{"path":"f","text":"`+strings.Repeat("x", n)+`"}`))
		return err
	}
	for _, tt := range []struct {
		d  *Dialect
		n  int
		ok bool
	}{
		{Perstack, 10000, true}, {Perstack, 10001, false},
		{Perstack.Limit(5), 5, true}, {Perstack.Limit(5), 6, false},
		{Perstack.Limit(0), 1 << 20, true},
	} {
		if err := text(tt.d, tt.n); (err == nil) != tt.ok {
			t.Errorf("%d units: %v", tt.n, err)
		}
	}
	if Filesystem.Limit(5) != Filesystem {
		t.Error("a dialect without limits was changed")
	}
}
