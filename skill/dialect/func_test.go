package dialect

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"textskill/parser"
	"textskill/skill"
)

type shoutIn struct {
	Text  string `json:"text" jsonschema:"what to shout"`
	Times int    `json:"times,omitempty"`
}

type shoutOut struct {
	Loud string `json:"loud"`
}

func shout(_ context.Context, in shoutIn) (shoutOut, error) {
	if in.Text == "nothing" {
		return shoutOut{}, errors.New("there is nothing to shout")
	}
	return shoutOut{strings.Repeat(strings.ToUpper(in.Text), max(1, in.Times))}, nil
}

// TestFunc calls functions as tools: arguments are held to the schema of their type.
func TestFunc(t *testing.T) {
	plain := Func("plain", "Say it.", func(_ context.Context, in struct {
		A *int `json:"a,omitempty"`
	}) (string, error) {
		return strings.Repeat("x", *in.A), nil // panics without a
	})
	read := Func("look", "Look.", func(context.Context, struct{}) (*shoutOut, error) { return nil, nil })
	read.Effect = Reads
	d, err := New("own", "Tools of a test", Func("shout", "Shout a text.", shout), plain, read)
	if err != nil {
		t.Fatal(err)
	}
	x, err := skill.New(skill.Config{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	frozen, err := skill.New(skill.Config{Dir: t.TempDir(), ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer frozen.Close()
	for _, tt := range []struct {
		x                           *skill.Executor
		tool, args, body, structure string
		fails                       bool
	}{
		{x, "shout", `{"text":"hi","times":2}`, `{"loud":"HIHI"}`, `{"loud":"HIHI"}`, false},
		{x, "shout", `{"text":"nothing"}`, "shout: there is nothing to shout", "", true},
		{x, "shout", `{}`, `required: missing properties: ["text"]`, "", true},
		{x, "shout", ``, "do not fit", "", true}, {x, "shout", `{"text":1}`, "do not fit", "", true},
		{x, "shout", `[]`, "not a JSON object", "", true},
		{x, "shout", `{"text":"a","text":"b"}`, "a member twice", "", true},
		{x, "shout", `{"text":"a","loud":true}`, "do not fit", "", true},
		{x, "plain", `{"a":3}`, "xxx", "", false},
		{x, "plain", `{}`, "plain: the function panicked", "", true},
		{x, "look", `{}`, "null", "", false}, {x, "look", ` null`, "null", "", false},
		{x, "luok", `{}`, "is it look?", "", true},
		{frozen, "shout", `{"text":"hi"}`, "nothing may be changed here", "", true},
		{frozen, "look", `{}`, "null", "", false},
	} {
		r := d.Do(t.Context(), tt.x, &skill.Session{},
			parser.ToolCall{Name: tt.tool, Arguments: json.RawMessage(tt.args)})
		if !strings.Contains(r.Body, tt.body) || string(r.Structured) != tt.structure ||
			(r.Err != nil) != tt.fails {
			t.Errorf("%s %s: %s, %s, %v", tt.tool, tt.args, r.Body, r.Structured, r.Err)
		}
	}
	if in, out := string(d.Lookup("shout").Schema()), string(d.Lookup("shout").OutputSchema()); !strings.Contains(in, "what to shout") || !strings.Contains(out, "loud") {
		t.Errorf("the schemas are %s and %s", in, out)
	}
}

// ownKind is a type with its own JSON.
type ownKind struct{ N int }

func (o *ownKind) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &o.N) }
func (o ownKind) MarshalJSON() ([]byte, error)     { return json.Marshal(o.N) }

type ownWhere struct {
	Dir string `json:"dir"`
}

// ownTypes has a member of each kind whose JSON is not that of its Go type.
type ownTypes struct {
	ownWhere
	Rows  json.RawMessage       `json:"rows,omitempty"`
	Data  []byte                `json:"data,omitempty"`
	N     json.Number           `json:"n,omitempty"`
	A     netip.Addr            `json:"a,omitzero"`
	Big   *big.Int              `json:"big,omitempty"`
	At    time.Time             `json:"at,omitzero"`
	Own   ownKind               `json:"own,omitzero"`
	List  []map[string]*ownKind `json:"list,omitempty"`
	Bytes [2]byte               `json:"bytes,omitzero"`
}

// TestFuncOwnJSON calls a function with types whose JSON is their own, and holds its results to
// the schema that they are told with.
func TestFuncOwnJSON(t *testing.T) {
	d, err := New("own", "Tools of a test", Func("same", "Return it.",
		func(_ context.Context, in ownTypes) (ownTypes, error) { return in, nil }))
	if err != nil {
		t.Fatal(err)
	}
	x, err := skill.New(skill.Config{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var s jsonschema.Schema
	if err := json.Unmarshal(d.Lookup("same").OutputSchema(), &s); err != nil {
		t.Fatal(err)
	}
	schema, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for members, fits := range map[string]bool{
		`,"rows":[{"a":1}]`: true, `,"rows":{"a":1}`: true, `,"rows":7`: true, `,"data":"aGk="`: true, `,"n":5`: true,
		`,"a":"127.0.0.1"`: true, `,"big":123456789012345678901234567890`: true, `,"at":"2026-01-02T03:04:05Z"`: true,
		`,"own":7`: true, `,"list":[{"x":7},{}]`: true, `,"bytes":[1,2]`: true, ``: true,
		`,"data":[1,"x"]`: false, `,"n":"x"`: false, `,"a":7`: false, `,"at":7`: false, `,"list":{}`: false, `,"more":1`: false,
	} {
		args := `{"dir":"d"` + members + `}`
		r := d.Do(t.Context(), x, &skill.Session{}, parser.ToolCall{Name: "same", Arguments: json.RawMessage(args)})
		if (r.Err == nil) != fits {
			t.Errorf("%s: %v", args, r.Err)
			continue
		}
		if !fits {
			continue
		}
		var object any
		if err := json.Unmarshal(r.Structured, &object); err != nil || !strings.Contains(string(r.Structured), members) {
			t.Errorf("%s is returned as %s, %v", args, r.Structured, err)
		} else if err := schema.Validate(object); err != nil {
			t.Errorf("%s does not fit its own schema: %v", r.Structured, err)
		}
	}
}

// TestNewRefuses finds what no client could call.
func TestNewRefuses(t *testing.T) {
	ok := Func("ok", "Do.", shout)
	for want, tools := range map[string][]Tool{
		"is not a name for a tool": {Func("no blanks", "Do.", shout)},
		"two tools are called ok":  {ok, ok},
		"shout has no function":    {{Name: "shout"}},
		"null has no function":     {Func[struct{}, string]("null", "Do.", nil)},
		"its arguments: int is not": {Func("n", "Do.",
			func(context.Context, int) (string, error) { return "", nil })},
		"bad: its arguments: ": {Func("bad", "Do.",
			func(context.Context, struct{ C chan int }) (string, error) { return "", nil })},
		"ID: the option string": {Func("bad", "Do.", func(context.Context, struct {
			ID int64 `json:"id,string"`
		}) (string, error) {
			return "", nil
		})},
		"ownWhere: it is embedded": {Func("bad", "Do.", func(context.Context, struct {
			ownWhere `json:"where"`
		}) (string, error) {
			return "", nil
		})},
		"its result: ": {Func("out", "Do.",
			func(context.Context, struct{}) (struct{ F func() }, error) { panic("no") })},
	} {
		if _, err := New("own", "", tools...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	if _, err := New("", ""); err == nil {
		t.Error("a dialect without a name")
	}
}

// TestAnswerWithoutPrompt has a text without calls answered by a dialect that reads none.
func TestAnswerWithoutPrompt(t *testing.T) {
	own, err := New("own", "Tools of a test", Func("shout", "Shout a text.", shout))
	if err != nil {
		t.Fatal(err)
	}
	x, err := skill.New(skill.Config{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, d := range append(All, own) {
		for _, text := range []string{"", "hello there"} {
			if d.Prompt != nil {
				continue
			}
			for r := range d.Answer(t.Context(), x, &skill.Session{}, Input{Text: text, Named: true}) {
				if want := "the tools of " + d.Name +
					" are called by messages with tool calls; the text is none"; r.Err == nil ||
					r.Body != want {
					t.Errorf("%s: %q: %q", d.Name, text, r.Body)
				}
			}
		}
	}
}

// TestHandmadeDialect answers calls of a dialect that New has not made with an error.
func TestHandmadeDialect(t *testing.T) {
	x, err := skill.New(skill.Config{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	d := &Dialect{Name: "mine", Tools: []Tool{{Name: "shout"}}}
	for _, name := range []string{"shout", "other"} {
		if r := d.Do(t.Context(), x, &skill.Session{}, parser.ToolCall{Name: name}); r.Err == nil {
			t.Errorf("%s: %s", name, r.Body)
		}
	}
}
