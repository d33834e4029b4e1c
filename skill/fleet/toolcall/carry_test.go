package toolcall

import (
	"context"
	"strings"
	"testing"
)

// TestLostPart refuses a call whose first parts went to another worker, and keeps nothing of it.
func TestLostPart(t *testing.T) {
	c := newCarrier(func(context.Context, []byte) []byte {
		t.Error("half a call is made")
		return nil
	})
	defer c.close()
	frame := string(rune(opCall)) + strings.Repeat("A", idSize) + "\x01rest"
	if answer := c.receive(t.Context(), []byte(frame)); string(answer) != string(rune(isUnknown)) {
		t.Errorf("the answer is %q", answer)
	}
	if len(c.calls) > 0 {
		t.Errorf("%d calls are kept", len(c.calls))
	}
}
