package skill

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// TestHistoryOfMany lists the last of many changes, and does not read the first ones, of
// which one is damaged, until it lists all.
func TestHistoryOfMany(t *testing.T) {
	needs.InMemory(t)
	cfg := Config{Dir: t.TempDir(), State: t.TempDir(), NoSync: true, Journal: Journal{Count: 5000}}
	x := newExecutor(t, cfg)
	for range 1600 {
		do[Changed](t, x, AppendFile{Path: "f", Content: "x"})
	}
	logs, err := filepath.Glob(cfg.State + "/*/log")
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	f, err := os.OpenFile(logs[0], os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte("damaged"), 1000)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	few := do[Changes](t, x, History{Limit: 10})
	if len(few.List) != 10 || few.List[0].ID != "1600" || few.More != 100 ||
		!strings.HasSuffix(few.Message(), "\nand 100 older changes or more; a larger limit lists more") {
		t.Errorf("%d listed, %d more, %d damaged: %s", len(few.List), few.More, few.Damaged, few.Message())
	}
	if all := do[Changes](t, x, History{}); len(all.List) != 1599 || all.List[1598].ID != "1" ||
		all.More != 0 || all.Damaged == 0 {
		t.Errorf("%d listed, %d more, %d damaged", len(all.List), all.More, all.Damaged)
	}
}

// TestHistoryOfFolders lists the changes of several folders in the order of time.
func TestHistoryOfFolders(t *testing.T) {
	far, farther := t.TempDir(), t.TempDir()
	x := newExecutor(t, Config{Dir: t.TempDir(), Allow: []string{far, farther}, State: t.TempDir(),
		NoSync: true})
	var want []string
	for _, dir := range []string{far, x.Dir(), x.Dir(), farther, far, x.Dir(), farther} {
		do[Changed](t, x, AppendFile{Path: filepath.Join(dir, "f"), Content: "x"})
		want = append([]string{dir}, want...)
	}
	var got []string
	for _, e := range do[Changes](t, x, History{}).List {
		got = append(got, filepath.Dir(e.Path))
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("listed\n%s\nwant\n%s", a, b)
	}
	if few := do[Changes](t, x, History{Limit: 3}); len(few.List) != 3 || few.More != 4 {
		t.Errorf("%d listed, %d more", len(few.List), few.More)
	}
}
