package history

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A transcript says when a call ended; any other text says nothing.
func TestToldBy(t *testing.T) {
	const (
		cut     = `{"type":"user","timestamp":"2026-11-27T10:00:00Z","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true}]}}`
		other   = `{"type":"user","timestamp":"2026-11-27T11:00:00Z","message":{"content":[{"type":"tool_result","tool_use_id":"t2"}]}}`
		aborted = `{"timestamp":"2026-11-27T12:00:00Z","type":"event_msg","payload":{"type":"turn_aborted","turn_id":"p1"}}`
	)
	for _, tt := range []struct {
		text string
		call Call
		want string
	}{
		{cut + "\n" + other + "\n", Call{ID: "t1"}, "10:00"},
		{cut + "\n" + other + "\n", Call{ID: "t3"}, "00:00"},
		{other + "\n" + aborted + "\n", Call{ID: "t1", Turn: "p1"}, "12:00"},
		{`{"tool_result":"t1","timestamp":7}` + "\n", Call{ID: "t1"}, "00:00"},
		{"tool_result \"t1\" 2026-11-27T10:00:00Z\n", Call{ID: "t1"}, "00:00"},
		{"", Call{ID: "t1"}, "00:00"},
	} {
		tt.call.Transcript = filepath.Join(t.TempDir(), "t.jsonl")
		if err := os.WriteFile(tt.call.Transcript, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := tt.call.toldBy().UTC().Format("15:04"); got != tt.want {
			t.Errorf("%s of %+v: %s, want %s", tt.text, tt.call, got, tt.want)
		}
	}
	if at := (Call{ID: "t1", Transcript: t.TempDir()}).toldBy(); !at.Equal(time.Time{}) {
		t.Errorf("a folder says %s", at)
	}
}
