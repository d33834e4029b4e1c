package dialect_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"textskill/parser"
	"textskill/parser/wire"
	"textskill/skill"
	"textskill/skill/dialect"
)

// A text command is carried out on a workspace and answered by a sentence.
func ExampleText() {
	dir := example()
	defer os.RemoveAll(dir)
	x, err := skill.New(skill.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()

	ctx, s := context.Background(), &skill.Session{}
	for _, prompt := range []string{
		"writeFile notes/a.txt content: hi",
		"listDirectory notes",
		"readFile b.txt",
	} {
		r := dialect.Text(ctx, x, s, prompt, nil)
		fmt.Println(strings.ReplaceAll(r.Body, x.Dir(), "…"), r.Err != nil)
	}
	// Output:
	// Wrote file at …/notes/a.txt successfully. false
	// Listed entries at …/notes successfully: ["a.txt"]. false
	// ENOENT: no such file or directory, open '…/b.txt' true
}

// A Go function becomes a tool, which a client calls in any wire.
func ExampleFunc() {
	type order struct {
		Item  string `json:"item" jsonschema:"what to count"`
		Count int    `json:"count"`
	}
	own, err := dialect.New("shop", "the tools of a shop",
		dialect.Func("price", "Return the price of an order.",
			func(_ context.Context, o order) (string, error) {
				if o.Count < 1 {
					return "", fmt.Errorf("%d is no number of %s", o.Count, o.Item)
				}
				return fmt.Sprintf("%d euros", 3*o.Count), nil
			}))
	if err != nil {
		log.Fatal(err)
	}
	dir := example()
	defer os.RemoveAll(dir)
	x, err := skill.New(skill.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()

	for _, arguments := range []string{`{"item":"pear","count":2}`, `{"item":"pear","count":0}`,
		`{"item":"pear"}`} {
		r := own.Do(context.Background(), x, &skill.Session{},
			parser.ToolCall{Name: "price", Arguments: []byte(arguments)})
		fmt.Println(r.Body)
	}
	// Output:
	// 6 euros
	// price: 0 is no number of pear
	// price: the arguments do not fit: validating root: required: missing properties: ["count"]
}

// A request to a provider holds the definitions of a dialect's tools in the provider's form.
func ExampleDialect_Definitions() {
	mkdir := &dialect.Dialect{Tools: []dialect.Tool{*dialect.Filesystem.Lookup("create_directory")}}
	for _, w := range []*wire.Wire{wire.OpenAI, wire.Anthropic} {
		fmt.Printf("%.60s…\n", mkdir.Definitions(w))
	}
	// Output:
	// [{"type":"function","function":{"name":"create_directory","d…
	// [{"description":"Create a directory and its missing parents.…
}

// The shape of a text says what dialect it is in. The calls of an envelope are
// carried out in their order, and each is answered.
func ExampleDialect_Answer() {
	dir := example()
	defer os.RemoveAll(dir)
	x, err := skill.New(skill.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()

	text := `{"tool_calls":[
		{"id":"1","type":"function","function":{"name":"write_file","arguments":"{\"path\":\"a.txt\",\"content\":\"one\\ntwo\\n\"}"}},
		{"id":"2","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.txt\",\"tail\":1}"}},
		{"id":"3","type":"function","function":{"name":"delete_file","arguments":"{}"}}
	]}`
	for r := range dialect.Of(text).Answer(context.Background(), x, &skill.Session{},
		dialect.Input{Text: text}) {
		fmt.Println(strings.ReplaceAll(r.Body, x.Dir(), "…"))
		for _, c := range r.Calls {
			fmt.Println(c.Tool, strings.ReplaceAll(c.Body, x.Dir(), "…"))
		}
		fmt.Println(r.Err == nil)
	}
	// Output:
	// {"messages":[{"role":"tool","tool_call_id":"1","content":"write_file OK: …/a.txt"},{"role":"tool","tool_call_id":"2","content":"two"},{"role":"tool","tool_call_id":"3","content":"delete_file ERR: missing required arg 'path'"}]}
	// write_file write_file OK: …/a.txt
	// read_file two
	// delete_file delete_file ERR: missing required arg 'path'
	// false
}

// Calls in a model's text are carried out one after the other; nothing is done
// before its reply is taken.
func ExampleDialect_Answer_calls() {
	dir := example()
	defer os.RemoveAll(dir)
	x, err := skill.New(skill.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()

	in := dialect.Input{Text: "write(path: 'a.txt', content: 'one')\nread(path: 'a.txt')"}
	for r := range dialect.Stack.Answer(context.Background(), x, &skill.Session{}, in) {
		fmt.Println(r.Body)
	}
	// Output:
	// {"success":true,"path":"a.txt","lines_written":1}
	// {"success":true,"content":"one","total_lines":1,"path":"a.txt"}
}

// A fallback is asked what a prompt in plain words means.
func ExampleFallback() {
	dir := example()
	defer os.RemoveAll(dir)
	x, err := skill.New(skill.Config{Dir: dir, DryRun: true})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()

	ask := func(_ context.Context, prompt, operation string) (dialect.Extraction, error) {
		if rest, ok := strings.CutPrefix(prompt, "make a folder "); ok {
			return dialect.Extraction{Operation: "createDirectory", Path: rest, Via: "rules"}, nil
		}
		return dialect.Extraction{}, dialect.ErrSilent
	}
	for _, prompt := range []string{"make a folder drafts", "dance"} {
		r := dialect.Text(context.Background(), x, &skill.Session{}, prompt, ask)
		fmt.Println(strings.ReplaceAll(r.Body, x.Dir(), "…"), r.Via)
	}
	// Output:
	// Dry run: would create directory …/drafts rules
	// Unknown operation: dance
}

func ExampleTool_Schema() {
	fmt.Printf("%s\n", dialect.Filesystem.Lookup("mkdir").Schema())
	// Output: {"type":"object","properties":{"path":{"type":"string","description":"relative to working_dir, or absolute inside the workspace"}},"required":["path"],"additionalProperties":false}
}

// example makes an empty folder.
func example() string {
	dir, err := os.MkdirTemp("", "example-*")
	if err != nil {
		log.Fatal(err)
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		log.Fatal(err)
	}
	return dir
}
