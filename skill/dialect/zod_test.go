package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestZod has what zod 4.2.1 says of these arguments, in its order.
func TestZod(t *testing.T) {
	for _, tt := range []struct{ tool, in, want string }{
		{"todo", ``, `[{"expected":"object","code":"invalid_type","path":[],"message":"Invalid input: expected object, received undefined"}]`},
		{"todo", `null`, `[{"expected":"object","code":"invalid_type","path":[],"message":"Invalid input: expected object, received null"}]`},
		{"todo", `[]`, `[{"expected":"object","code":"invalid_type","path":[],"message":"Invalid input: expected object, received array"}]`},
		{"todo", ` "x"`, `[{"expected":"object","code":"invalid_type","path":[],"message":"Invalid input: expected object, received string"}]`},
		{"todo", `{"newTodos":"a","completedTodos":[1,"2",null,true]}`,
			`[{"expected":"array","code":"invalid_type","path":["newTodos"],"message":"Invalid input: expected array, received string"},{"expected":"number","code":"invalid_type","path":["completedTodos",1],"message":"Invalid input: expected number, received string"},{"expected":"number","code":"invalid_type","path":["completedTodos",2],"message":"Invalid input: expected number, received null"},{"expected":"number","code":"invalid_type","path":["completedTodos",3],"message":"Invalid input: expected number, received boolean"}]`},
		{"todo", `{"newTodos":null}`,
			`[{"expected":"array","code":"invalid_type","path":["newTodos"],"message":"Invalid input: expected array, received null"}]`},
		{"todo", `{"newTodos":[["x"]]}`,
			`[{"expected":"string","code":"invalid_type","path":["newTodos",0],"message":"Invalid input: expected string, received array"}]`},
		{"readTextFile", `{"path":"f","from":1e400}`,
			`[{"expected":"number","code":"invalid_type","received":"Infinity","path":["from"],"message":"Invalid input: expected number, received number"}]`},
		{"exec", `{"command":1,"args":[1,"a",null,{}],"env":{"b":1,"2":"x","1":3,"":null},"cwd":true,"stdout":"x","stderr":0,"timeout":null}`,
			`[{"expected":"string","code":"invalid_type","path":["command"],"message":"Invalid input: expected string, received number"},{"expected":"string","code":"invalid_type","path":["args",0],"message":"Invalid input: expected string, received number"},{"expected":"string","code":"invalid_type","path":["args",2],"message":"Invalid input: expected string, received null"},{"expected":"string","code":"invalid_type","path":["args",3],"message":"Invalid input: expected string, received object"},{"expected":"string","code":"invalid_type","path":["env","1"],"message":"Invalid input: expected string, received number"},{"expected":"string","code":"invalid_type","path":["env","b"],"message":"Invalid input: expected string, received number"},{"expected":"string","code":"invalid_type","path":["env",""],"message":"Invalid input: expected string, received null"},{"expected":"string","code":"invalid_type","path":["cwd"],"message":"Invalid input: expected string, received boolean"},{"expected":"boolean","code":"invalid_type","path":["stdout"],"message":"Invalid input: expected boolean, received string"},{"expected":"boolean","code":"invalid_type","path":["stderr"],"message":"Invalid input: expected boolean, received number"},{"expected":"number","code":"invalid_type","path":["timeout"],"message":"Invalid input: expected number, received null"}]`},
		{"exec", `{"command":"","args":{},"env":[],"cwd":"","stdout":true,"stderr":true}`,
			`[{"expected":"array","code":"invalid_type","path":["args"],"message":"Invalid input: expected array, received object"},{"expected":"record","code":"invalid_type","path":["env"],"message":"Invalid input: expected record, received array"}]`},
		{"exec", `{"command":"","args":"a","env":"x","cwd":"","stdout":null,"stderr":true}`,
			`[{"expected":"array","code":"invalid_type","path":["args"],"message":"Invalid input: expected array, received string"},{"expected":"record","code":"invalid_type","path":["env"],"message":"Invalid input: expected record, received string"},{"expected":"boolean","code":"invalid_type","path":["stdout"],"message":"Invalid input: expected boolean, received null"}]`},
		{"editTextFile", `{"newText":"x","oldText":""}`,
			`[{"expected":"string","code":"invalid_type","path":["path"],"message":"Invalid input: expected string, received undefined"},{"origin":"string","code":"too_small","minimum":1,"inclusive":true,"path":["oldText"],"message":"Too small: expected string to have >=1 characters"}]`},
		{"appendTextFile", `{"path":"f","text":"` + strings.Repeat("😀", 1000) + `x"}`,
			`[{"origin":"string","code":"too_big","maximum":2000,"inclusive":true,"path":["text"],"message":"Too big: expected string to have <=2000 characters"}]`},
	} {
		_, err := zodRead(Perstack.Lookup(tt.tool), json.RawMessage(tt.in))
		_, list, ok := strings.Cut(fmt.Sprint(err), "Invalid arguments for tool "+tt.tool+": ")
		var got bytes.Buffer
		if err := json.Compact(&got, []byte(list)); err != nil || !ok {
			t.Errorf("%s %.80s: error %v", tt.tool, tt.in, err)
			continue
		}
		if got.String() != tt.want {
			t.Errorf("%s %.80s\n got %s\nwant %s", tt.tool, tt.in, got.String(), tt.want)
		}
	}
}

// TestZodReads shows the values of what is right.
func TestZodReads(t *testing.T) {
	in, err := zodRead(Perstack.Lookup("exec"),
		json.RawMessage(`{"command":"c","args":["a","\ud800"],"env":{"B":"1","2":"two","B":"3","1":"one","01":"x"},"cwd":"","stdout":true,"stderr":false,"more":{},"timeout":1.5e3}`))
	if err != nil {
		t.Fatal(err)
	}
	env := in["env"].([]member)
	want := []member{{"1", "one"}, {"2", "two"}, {"B", "3"}, {"01", "x"}}
	if len(env) != len(want) {
		t.Fatalf("env is %v, want %v", env, want)
	}
	for i := range want {
		if env[i] != want[i] {
			t.Errorf("env is %v, want %v", env, want)
		}
	}
	if args := in["args"].([]string); args[0] != "a" || args[1] != "\xed\xa0\x80" {
		t.Errorf("args are %q", args)
	}
	if in["timeout"] != 1500.0 || in["stdout"] != true || in["stderr"] != false || in["more"] != nil {
		t.Errorf("read %v", in)
	}
}

// TestLimit sets other limits than the manual's, and none.
func TestLimit(t *testing.T) {
	text := func(d *Dialect, n int) error {
		_, err := zodRead(d.Lookup("writeTextFile"),
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
