package state

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// note adds the record of a command of which nothing can be undone.
func note(t testing.TB, s *Store, i int) {
	t.Helper()
	add(t, s, Record{Kind: "run", Command: fmt.Sprint("command ", i%2), Note: "git ignores it", Steps: []Step{{Path: "b"}}})
}

// changesAndNotes counts what is left, and the segments that it is in.
func changesAndNotes(t *testing.T, s *Store) (changes []int64, notes, segments int) {
	t.Helper()
	for e, err := range s.Newest(bg, 0) {
		if err != nil || e.Damaged() {
			t.Fatal(e.ID, e.Damaged(), err)
		}
		if e.Record().Note == "" {
			changes = append(changes, e.ID)
		} else {
			notes++
		}
	}
	list, _ := filepath.Glob(s.Path() + "/log/0*")
	return changes, notes, len(list)
}

// Records of what cannot be undone do not push changes out, however many they are, and do not
// pile up.
func TestRetentionOfNotes(t *testing.T) {
	inMemory(t)
	const limit = 300
	o := Options{Root: t.TempDir(), Dir: t.TempDir(), NoSync: true, Limits: Limits{Count: limit}}
	s := open(t, o)
	for i := range 200 {
		image(t, s, int64(i+1), 1)
	}
	begin := time.Now()
	for i := range 100_000 {
		note(t, s, i)
	}
	t.Logf("a record takes %v", time.Since(begin)/100_000)
	check := func(want, first int64) {
		t.Helper()
		s.sweeps.Wait()
		changes, notes, segments := changesAndNotes(t, s)
		if n := int64(len(changes)); n < want || n > want+2*maxRecords || changes[n-1] > first || notes > limit+2*maxRecords || segments > 4+int(n) {
			t.Errorf("%d changes from %d on, and %d notes, in %d segments", n, changes[n-1], notes, segments)
		}
	}
	check(200, 1)
	for e := range s.Newest(bg, 0) {
		if e.ID <= 200 {
			if f, err := openImage(s, &e, 0); err != nil {
				t.Error(err)
			} else {
				f.Close()
			}
		}
	}
	s.Close()
	s = open(t, o) // another process, that knows no sizes
	for i := range 10 * limit {
		if i%10 == 0 {
			image(t, s, int64(100_201+i), 1)
		} else {
			note(t, s, i)
		}
	}
	check(limit, 100_201)
	for i := range int64(2 * limit) {
		image(t, s, 103_201+i, 1)
	}
	check(limit, 103_501)
}

// TestNewestWhileThinned reads on where a segment is dropped meanwhile.
func TestNewestWhileThinned(t *testing.T) {
	inMemory(t)
	s := open(t, Options{NoSync: true})
	image(t, s, 1, 1)
	for i := range 4 * maxRecords {
		note(t, s, i)
	}
	last := int64(0)
	for e, err := range s.Newest(bg, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if last == 0 && (!s.drop(maxRecords+1) || !s.drop(2*maxRecords+1)) {
			t.Fatal("not dropped")
		}
		last = e.ID
	}
	if last != 1 {
		t.Errorf("the last one read is %d", last)
	}
}

// TestThinnedByLog keeps the one change of a segment whose sizes say that it has none, and removes
// what a process left that was killed while it wrote the segment again.
func TestThinnedByLog(t *testing.T) {
	inMemory(t)
	o := Options{Root: t.TempDir(), Dir: t.TempDir(), NoSync: true, Limits: Limits{Count: 10}}
	s := open(t, o)
	image(t, s, 1, 1)
	for i := range maxRecords + 1 {
		note(t, s, i)
	}
	old := filepath.Join(s.Path(), logsName, segmentName(1))
	s.Close()
	when := time.Now().Add(-time.Hour).Truncate(time.Second)
	for name, data := range map[string]string{sizesName: `{"records":0,"notes":255,"bytes":1}`, "log.1a": "half"} {
		if err := os.WriteFile(filepath.Join(old, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old+"/log", when, when); err != nil {
		t.Fatal(err)
	}
	s = open(t, o)
	for i := range 2 * maxRecords {
		note(t, s, i)
	}
	if changes, notes, _ := changesAndNotes(t, s); len(changes) != 1 || notes > 10+2*maxRecords {
		t.Errorf("there are the changes %v, and %d notes", changes, notes)
	}
	if left, _ := filepath.Glob(old + "/log.*"); left != nil {
		t.Errorf("there is %s", left)
	}
	if info, err := os.Stat(old + "/log"); err != nil || !info.ModTime().Equal(when) {
		t.Errorf("the log is of %v, want %v; %v", info, when, err)
	}
}
