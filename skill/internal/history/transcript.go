package history

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// maxTranscript is how many bytes at the end of a transcript are read.
const maxTranscript = 4 << 20

// toldBy returns the time at which the host's transcript says that a call ended: that of the line with the
// result of the call, or of the line with the end of its turn. It returns zero if the transcript says
// nothing, or has another form than lines of JSON.
func (c Call) toldBy() (at time.Time) {
	if c.Transcript == "" {
		return at
	}
	f, info, err := tree.RegularFile(os.OpenFile(c.Transcript, readFlags, 0))
	if err != nil {
		return at
	}
	defer f.Close()
	data := make([]byte, min(info.Size, maxTranscript))
	n, err := f.ReadAt(data, info.Size-int64(len(data)))
	if err != nil && err != io.EOF {
		return at
	}
	quoted := func(text string) []byte { return []byte(`"` + text + `"`) }
	for line := range bytes.Lines(data[:n]) {
		result := c.ID != "" && bytes.Contains(line, []byte("tool_result")) && bytes.Contains(line, quoted(c.ID))
		ended := c.Turn != "" && bytes.Contains(line, []byte("turn_aborted")) && bytes.Contains(line, quoted(c.Turn))
		var said struct {
			Timestamp time.Time `json:"timestamp"`
		}
		if (result || ended) && json.Unmarshal(line, &said) == nil {
			at = said.Timestamp
		}
	}
	return at
}
