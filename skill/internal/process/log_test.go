package process

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPruneLogsRemovesTheOldestLogsOnly(t *testing.T) {
	dir, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	add := func(name string, size int64, age time.Duration) {
		f, err := dir.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Truncate(size)
		f.Close()
		at := time.Now().Add(-age)
		dir.Chtimes(name, at, at)
	}
	names := func() (list []string) {
		entries, _ := fs.ReadDir(dir.FS(), ".")
		for _, e := range entries {
			list = append(list, strings.TrimSuffix(e.Name(), logSuffix))
		}
		return list
	}
	for i, name := range []string{"d", "c", "b", "a"} {
		add(name+logSuffix, 60<<20, time.Duration(i)*time.Hour)
	}
	add("server-x.log", 200<<20, 100*time.Hour)
	pruneLogs(dir)
	if got := names(); !slices.Equal(got, []string{"b", "c", "d", "server-x.log"}) {
		t.Errorf("too many bytes: %q are left", got)
	}
	for i := range maxLogCount {
		add(fmt.Sprint("n", i, logSuffix), 1, time.Minute)
	}
	pruneLogs(dir)
	if got := names(); len(got) != maxLogCount || slices.Contains(got, "c") || !slices.Contains(got, "d") {
		t.Errorf("too many logs: %d are left", len(got))
	}
}

// A log that is too long keeps its beginning and its end, and says what is missing between them.
func TestLogsKeepBothEnds(t *testing.T) {
	for _, extra := range []int{0, 1, maxLog + 7} {
		f, err := os.Create(t.TempDir() + "/log")
		if err != nil {
			t.Fatal(err)
		}
		l := outputLog{f: f, name: f.Name()}
		var want []byte
		chunk := make([]byte, 1<<20-17)
		for left := maxLog + extra; left > 0; {
			n := min(left, len(chunk))
			for i := range n {
				chunk[i] = byte(len(want)>>10) ^ byte(i)
			}
			l.add(chunk[:n])
			want = append(want, chunk[:n]...)
			left -= n
		}
		name, cut := l.finish(true)
		got, err := os.ReadFile(name)
		if err != nil || cut != int64(extra) {
			t.Fatalf("%d more: %d are cut, %v", extra, cut, err)
		}
		if extra > 0 {
			note := fmt.Sprintf("\n[… %d bytes left out …]\n", extra)
			want = slices.Concat(want[:maxLog/2], []byte(note), want[len(want)-maxLog/2:])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d more: the log has %d bytes, want %d others", extra, len(got), len(want))
		}
	}
}
