package dialect

import (
	"strings"
	"testing"
)

// TestFirstSurrogate has two arguments that hold half a character: the first one of the tool is
// named, each time.
func TestFirstSurrogate(t *testing.T) {
	tool := &Tool{params: func() []Param { return []Param{{Name: "a", Aliases: []string{"old"}}, {Name: "b"}} }}
	for range 50 {
		err := refuseSurrogates(tool, []byte(`{"b":"\udc01","old":"x\ud800"}`))
		if err == nil || !strings.Contains(err.Error(), `'\ud800' in position 1`) {
			t.Fatal(err)
		}
	}
}

// TestSurrogateInList has half a character in a member of a list, which may be packed into a text.
func TestSurrogateInList(t *testing.T) {
	tool := &Tool{params: func() []Param { return []Param{{Name: "a", Type: "array"}} }}
	for _, raw := range []string{`{"a":[{"b":"x\ud800"}]}`, `{"a":"[{\"b\":\"x\\ud800\"}]"}`} {
		if err := refuseSurrogates(tool, []byte(raw)); err == nil ||
			!strings.Contains(err.Error(), `'\ud800' in position 1`) {
			t.Error(raw, err)
		}
	}
	if err := refuseSurrogates(tool, []byte(`{"a":"\\ud800","b":"\ud800"}`)); err != nil {
		t.Error("not a half:", err)
	}
}
