package hook

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxTranscript is how many bytes of a transcript are read.
const maxTranscript = 8 << 20

// callWords are in transcripts with calls of tools.
var callWords = []string{`"tool_use"`, `"function_call"`, `"custom_tool_call"`, `"functionCall"`}

// A Transcript is the file in which a host writes a session down.
type Transcript struct {
	Session string
	Time    time.Time // of the last line
}

// Newest returns the newest transcript of a host whose session has called tools and worked in a folder, ""
// for any. ok is false if the newest one is not such, or if the host's transcripts are not known.
func (s *Setup) Newest(getenv func(string) string, folder string) (t Transcript, ok bool) {
	dir := Folder(s.Host, getenv)
	if dir == "" || s.Transcripts == "" {
		return t, false
	}
	names, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(s.Transcripts)))
	newest := ""
	for _, name := range names {
		info, err := os.Lstat(name)
		if err != nil || !info.Mode().IsRegular() || !info.ModTime().After(t.Time) {
			continue
		}
		if id := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)); len(id) >= uuidLength &&
			isIn(name, folder) {
			newest, t = name, Transcript{id[len(id)-uuidLength:], info.ModTime()}
		}
	}
	data := readHead(newest, maxTranscript)
	for _, word := range callWords {
		ok = ok || bytes.Contains(data, []byte(word))
	}
	return t, ok
}

const uuidLength = 36

// isIn reports whether the head of a transcript names a folder as the current one.
func isIn(name, folder string) bool {
	if folder == "" {
		return true
	}
	text, _ := json.Marshal(folder)
	return bytes.Contains(readHead(name, 64<<10), append([]byte(`"cwd":`), text...))
}

func readHead(name string, n int64) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, n))
	return data
}
