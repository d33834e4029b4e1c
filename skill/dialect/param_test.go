package dialect

import (
	"strings"
	"testing"
)

// TestFirstSurrogate has two arguments that hold half a character: the first one of the tool is
// named, each time.
func TestFirstSurrogate(t *testing.T) {
	tool := &Tool{Params: []Param{{Name: "a", Aliases: []string{"old"}}, {Name: "b"}}}
	for range 50 {
		err := refuseSurrogates(tool, []byte(`{"b":"\udc01","old":"x\ud800"}`))
		if err == nil || !strings.Contains(err.Error(), `'\ud800' in position 1`) {
			t.Fatal(err)
		}
	}
}
