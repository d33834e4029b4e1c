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
