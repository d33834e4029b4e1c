//go:build unix

package dialect

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"textskill/skill"
)

// TestPerstackSpecialFiles asks for what is no regular file, or too large a one:
// each call is answered at once.
func TestPerstackSpecialFiles(t *testing.T) {
	b := newBase(t, skill.Config{})
	if err := syscall.Mkfifo(filepath.Join(b.dir, "fifo.png"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.file("sparse", "first\nsecond\n")
	if err := os.Truncate(filepath.Join(b.dir, "sparse"), 10<<30); err != nil {
		t.Fatal(err)
	}
	const special = "File root/fifo.png is a named pipe. Only regular files are read and written."
	begin := time.Now()
	for _, tt := range []struct{ tool, args, want string }{
		{"readTextFile", `{"path":"fifo.png"}`, special},
		{"readImageFile", `{"path":"fifo.png"}`, special},
		{"writeTextFile", `{"path":"fifo.png","text":"x"}`, special},
		{"appendTextFile", `{"path":"fifo.png","text":"x"}`, special},
		{"editTextFile", `{"path":"fifo.png","oldText":"x","newText":"y"}`, special},
		{"readImageFile", `{"path":"sparse"}`, "File sparse is not supported."},
	} {
		if got := said(b.call(tt.tool, tt.args)); got != tt.want {
			t.Errorf("%s %s\n got %s\nwant %s", tt.tool, tt.args, got, tt.want)
		}
	}
	if got := b.call("readTextFile", `{"path":"sparse","from":0,"to":2}`); got != `{"path":"sparse","content":"first\nsecond","from":0,"to":2}` {
		t.Errorf("the first lines of a large file: %.200s", got)
	}
	for args, want := range map[string]string{
		`{"path":"sparse"}`:                 `{"path":"sparse","content":"first\nsecond","from":0,"to":2,"truncated":true,"totalLines":3,"next":{"from":2}}`,
		`{"path":"sparse","from":1,"to":9}`: `{"path":"sparse","content":"second","from":1,"to":2,"truncated":true,"totalLines":3,"next":{"from":2}}`,
	} {
		if got := b.call("readTextFile", args); got != want {
			t.Errorf("%s\n got %.200s\nwant %s", args, got, want)
		}
	}
	if got := b.call("readTextFile", `{"path":"sparse","from":-1}`); !strings.HasSuffix(got, `\u0000","from":-1,"to":3,"truncated":true,"totalLines":3,"next":{"from":3},"lineCut":true}`) {
		t.Errorf("the last line of a large file: …%s", got[max(0, len(got)-200):])
	}
	if got := b.call("getFileInfo", `{"path":"sparse"}`); !strings.Contains(got, `"size":10737418240,"sizeFormatted":"10.00 GB"`) {
		t.Errorf("of a large file is told %s", got)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("the answers took %v", took)
	}
}
