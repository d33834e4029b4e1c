package state

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"textskill/skill/internal/workspace/tree"
)

var bg = context.Background()

// time0 is long ago.
var time0 = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)

// inMemory puts the files of a test into memory, where that can be.
func inMemory(t *testing.T) {
	if _, err := os.Stat("/dev/shm"); err == nil {
		t.Setenv("TMPDIR", "/dev/shm")
	}
}

// open opens a store of its own for a root of its own.
func open(t testing.TB, o Options) *Store {
	t.Helper()
	if o.Root == "" {
		o.Root = t.TempDir()
	}
	if o.Dir == "" && o.User == "" {
		o.Dir = t.TempDir()
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// add adds a record of no consequence.
func add(t testing.TB, s *Store, r Record) int64 {
	t.Helper()
	if r.Kind == "" {
		r.Kind = "write"
	}
	if r.Steps == nil {
		r.Steps = []Step{{Path: "a.txt", Before: State{Kind: "file", Sum: strings.Repeat("ab", 32)}, After: State{Kind: "file"}, Keep: true}}
	}
	c, err := s.Add(bg, &r)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	return c.ID
}

// ids returns the numbers of all records, the oldest first, and those that are damaged.
func ids(t testing.TB, s *Store) (whole, damaged []int64) {
	t.Helper()
	for e, err := range s.Newest(bg, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Damaged() {
			damaged = append(damaged, e.ID)
		} else {
			whole = append(whole, e.ID)
		}
	}
	slices.Reverse(whole)
	slices.Reverse(damaged)
	return whole, damaged
}

func upTo(n int64) (list []int64) {
	for id := range n {
		list = append(list, id+1)
	}
	return list
}

func TestAdd(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	s := open(t, Options{Root: root, Dir: dir})
	r := Record{Dialect: "workspace", Tool: "write", Kind: "move", Bytes: 12, Note: "why <not>", Steps: []Step{
		{Path: "a\xffb", From: "c", Before: State{Kind: "link", Target: "x\xfe"}, Keep: true},
		{Path: "big", Patch: &Patch{Offset: 5, Length: 3, New: 4, Old: []byte("old")}, After: State{Kind: "file", Stamp: Stamp{1, 2, 3, 4}}},
	}}
	c, err := s.Add(bg, &r)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.End(bg, Done), c.Flush()); err != nil {
		t.Fatal(err)
	}
	c.Close()
	s.Close()
	s = open(t, Options{Root: root, Dir: dir, ReadOnly: true})
	e, err := find(s, 1)
	if err != nil || e.End != Done || e.Record().Tool != "write" || e.Record().Note != "why <not>" || e.Record().Steps[0].Path != "a\xffb" ||
		e.Record().Steps[0].Before.Target != "x\xfe" || e.Record().Steps[0].Image != "1.0" || string(e.Record().Steps[1].Patch.Old) != "old" || e.Record().Steps[1].After.Stamp.CTime != 4 {
		t.Errorf("Find(1): %+v, %v", e, err)
	}
	if _, err := find(s, 2); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Find(2): %v", err)
	}
	if _, err := s.Add(bg, &Record{}); err == nil {
		t.Error("a record was added to a store that is only read")
	}
}

func TestReadOnlyMakesNothing(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	if _, err := Open(Options{Root: root, Dir: dir + "/s", ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open: %v", err)
	}
	if list, _ := os.ReadDir(dir); len(list) > 0 {
		t.Errorf("made %v", list)
	}
}

func TestSegments(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	s := open(t, Options{Root: root, Dir: dir, NoSync: true, Limits: Limits{Count: -1}})
	other := open(t, Options{Root: root, Dir: dir, NoSync: true, Limits: Limits{Count: -1}})
	const n = 3*maxRecords + 10
	for i := range n {
		use := s
		if i%3 == 1 {
			use = other
		}
		if id := add(t, use, Record{}); id != int64(i+1) {
			t.Fatalf("record %d has the number %d", i+1, id)
		}
	}
	for _, s := range []*Store{s, other, open(t, Options{Root: root, Dir: dir, ReadOnly: true})} {
		if whole, damaged := ids(t, s); !slices.Equal(whole, upTo(n)) || damaged != nil {
			t.Errorf("%d whole, damaged %v", len(whole), damaged)
		}
		for _, id := range []int64{1, 256, 257, 600, n} {
			if e, err := find(s, id); err != nil || e.ID != id {
				t.Errorf("Find(%d): %+v, %v", id, e, err)
			}
		}
	}
	if list, err := segments(s.dir.Load()); err != nil || !slices.Equal(list, []int64{1, 257, 513, 769}) {
		t.Errorf("segments %v, %v", list, err)
	}
	below := 0
	for e := range s.Newest(bg, 300) {
		if e.ID != int64(299-below) {
			t.Fatalf("%d comes after %d others below 300", e.ID, below)
		}
		if below++; below == 50 {
			break
		}
	}
}

// A large image ends its segment, so that retention can drop it soon.
func TestSegmentOfLargeImages(t *testing.T) {
	s := open(t, Options{NoSync: true})
	add(t, s, Record{Bytes: maxImages})
	add(t, s, Record{})
	if list, _ := segments(s.dir.Load()); !slices.Equal(list, []int64{1, 2}) {
		t.Errorf("segments %v", list)
	}
}

func TestNext(t *testing.T) {
	s := open(t, Options{NoSync: true})
	steps := []struct{ undoes, next, want int64 }{
		{0, 0, 0},  // 1
		{0, 0, 1},  // 2
		{0, 0, 2},  // 3
		{3, 2, 2},  // 4 takes back 3 in order
		{0, 0, 2},  // 5
		{2, 0, 5},  // 6 takes back 2 out of order
		{0, 0, 6},  // 7
		{4, 3, 3},  // 8 does 3 again
		{0, 0, 3},  // 9
		{9, 3, 3},  // 10 does not end
		{0, 0, 10}, // 11
	}
	for i, step := range steps {
		c, err := s.Add(bg, &Record{Undoes: step.undoes, Next: step.next})
		if err == nil && step.undoes > 0 && i != 9 {
			err = c.End(bg, Done)
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		if e, _ := find(s, int64(i+1)); e.Record().Next != step.want {
			t.Errorf("record %d goes on at %d, want %d", i+1, e.Record().Next, step.want)
		}
	}
}

func TestEndOfOlderSegment(t *testing.T) {
	s := open(t, Options{NoSync: true})
	c, err := s.Add(bg, &Record{Kind: "run"})
	if err != nil {
		t.Fatal(err)
	}
	for range maxRecords {
		add(t, s, Record{})
	}
	if err := c.End(bg, Void); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if e, err := find(s, 1); err != nil || e.End != Void {
		t.Errorf("%+v, %v", e, err)
	}
	if whole, damaged := ids(t, s); !slices.Equal(whole, upTo(maxRecords+1)) || damaged != nil {
		t.Errorf("whole %v, damaged %v", whole, damaged)
	}
}

// A history that is removed under an open Store begins anew.
func TestHistoryIsRemoved(t *testing.T) {
	s := open(t, Options{NoSync: true})
	add(t, s, Record{})
	if err := os.RemoveAll(s.Path()); err != nil {
		t.Fatal(err)
	}
	add(t, s, Record{})
	if whole, _ := ids(t, s); !slices.Equal(whole, upTo(1)) {
		t.Errorf("whole %v", whole)
	}
}

// image adds a record that has an image.
func image(t *testing.T, s *Store, id, size int64) {
	c, err := s.Add(bg, &Record{Bytes: size, Steps: []Step{{Path: "a", Keep: true}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := os.WriteFile(filepath.Join(s.Path(), c.g.path, imagesName, c.Steps[0].Image), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if c.ID != id {
		t.Fatalf("record %d has the number %d", id, c.ID)
	}
}

func TestRetention(t *testing.T) {
	inMemory(t)
	t.Run("count", func(t *testing.T) {
		s := open(t, Options{NoSync: true, Limits: Limits{Count: 300}})
		for i := range int64(2000) {
			image(t, s, i+1, 1)
		}
		s.sweeps.Wait()
		whole, damaged := ids(t, s)
		if len(whole) < 300 || len(whole) > 300+2*maxRecords || whole[len(whole)-1] != 2000 || damaged != nil {
			t.Errorf("%d whole, damaged %v", len(whole), damaged)
		}
		if list, _ := filepath.Glob(s.Path() + "/gone-*"); list != nil {
			t.Errorf("left: %v", list)
		}
	})
	t.Run("age", func(t *testing.T) {
		s := open(t, Options{NoSync: true, Limits: Limits{Age: time.Hour}})
		for i := range int64(2*maxRecords + 1) {
			image(t, s, i+1, 1)
			if i == maxRecords {
				old := time.Now().Add(-2 * time.Hour)
				if err := os.Chtimes(s.Path()+"/log/0000000000000001/log", old, old); err != nil {
					t.Fatal(err)
				}
			}
		}
		if whole, _ := ids(t, s); whole[0] != maxRecords+1 {
			t.Errorf("the oldest is %d", whole[0])
		}
	})
	t.Run("bytes", func(t *testing.T) {
		s := open(t, Options{NoSync: true, Limits: Limits{Count: -1, Bytes: 100 << 20}})
		for i := range int64(6 * maxRecords) {
			size := int64(1 << 10)
			switch i {
			case 10:
				size = 90 << 20
			case 20:
				size = 40 << 20
			}
			image(t, s, i+1, size)
		}
		whole, _ := ids(t, s)
		if len(whole) != 6*maxRecords {
			t.Errorf("%d records are left", len(whole))
		}
		gone := map[int64]string{}
		for e := range s.Newest(bg, 0) {
			if e.Gone != "" {
				gone[e.ID] = e.Gone
			}
			if e.ID == 11 {
				if _, err := openImage(s, &e, 0); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the image of 11: %v", err)
				}
			}
			if e.ID == 21 {
				if f, err := openImage(s, &e, 0); err != nil {
					t.Error(err)
				} else {
					f.Close()
				}
			}
		}
		if len(gone) != 1 || gone[11] == "" {
			t.Errorf("gone %v", gone)
		}
	})
	t.Run("last", func(t *testing.T) {
		s := open(t, Options{NoSync: true, Limits: Limits{Bytes: 1 << 20}})
		image(t, s, 1, 1<<40)
		image(t, s, 2, 1)
		if whole, _ := ids(t, s); !slices.Equal(whole, upTo(2)) {
			t.Errorf("whole %v", whole)
		}
		if e, _ := find(s, 1); e.Gone != "" {
			t.Errorf("the change before the last is not kept: %s", e.Gone)
		}
	})
}

// TestRetentionUnderWay drops nothing of a change that is still under way, however much others
// record meanwhile: another Store is what another process has.
func TestRetentionUnderWay(t *testing.T) {
	inMemory(t)
	for name, limits := range map[string]Limits{"count": {Count: 1}, "bytes": {Bytes: 1 << 20}} {
		for _, other := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " of another"}[other], func(t *testing.T) {
				o := Options{Root: t.TempDir(), Dir: t.TempDir(), NoSync: true, Limits: limits}
				s := open(t, o)
				others := s
				if other {
					others = open(t, o)
				}
				c, err := s.Add(bg, &Record{Kind: "write", Bytes: 2 << 20, Steps: []Step{{Path: "a.txt", Keep: true}}})
				if err != nil {
					t.Fatal(err)
				}
				image := c.Steps[0].Image
				if err := c.Images().Mkdir(image, 0o700); err != nil {
					t.Fatal(err)
				}
				for range 3 * maxRecords {
					add(t, others, Record{})
				}
				others.sweeps.Wait()
				if _, err := c.Images().Lstat(image); err != nil {
					t.Error(err)
				}
				if err := c.End(bg, Done); err != nil {
					t.Error(err)
				}
				c.Close()
				for range 2 * maxRecords {
					add(t, others, Record{})
				}
				if e, err := find(others, c.ID); err == nil && e.Gone == "" {
					t.Error("all is kept although the change has ended")
				}
			})
		}
	}
}

func TestSweepReadOnlyTree(t *testing.T) {
	s := open(t, Options{NoSync: true})
	gone := filepath.Join(s.Path(), "gone-1")
	os.MkdirAll(gone+"/a/b", 0o700)
	os.WriteFile(gone+"/a/b/c", nil, 0o400)
	os.Chmod(gone+"/a/b", 0o500)
	os.Chmod(gone+"/a", 0)
	s.sweep(0)
	if _, err := os.Lstat(gone); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestFolder(t *testing.T) {
	s := open(t, Options{NoSync: true})
	for _, name := range []string{Output, Servers, Snapshot} {
		dir, err := s.Folder(name)
		if err != nil {
			t.Fatal(err)
		}
		dir.Close()
		if info, err := os.Stat(filepath.Join(s.Path(), name)); err != nil || info.Mode().Perm() != 0o700 {
			t.Error(info, err)
		}
	}
}

func TestNames(t *testing.T) {
	for _, n := range []Name{"", "a", "ä/b", "\xff", "a\xc3\x28/b"} {
		text, err := n.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back Name
		if err := back.UnmarshalText(text); err != nil || back != n {
			t.Errorf("%q became %q and %q, %v", n, text, back, err)
		}
	}
}

func TestBusy(t *testing.T) {
	s := open(t, Options{LockWait: 30 * time.Millisecond})
	l, err := s.Lock(bg, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Folders(bg, tree.FileID{Dev: 1, Ino: 2}, tree.FileID{Dev: 1, Ino: 3}, tree.FileID{Dev: 1, Ino: 2}); err != nil {
		t.Fatal(err)
	}
	shared, err := s.Lock(bg, false)
	if err != nil {
		t.Fatal(err)
	}
	var busy *BusyError
	if err := shared.Folders(bg, tree.FileID{Dev: 1, Ino: 3}); !errors.As(err, &busy) || busy.PID != os.Getpid() {
		t.Errorf("a folder that is locked: %v", err)
	}
	if _, err := s.Lock(bg, true); !errors.As(err, &busy) {
		t.Errorf("the root that is shared: %v", err)
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if _, err := s.Lock(ctx, true); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	l.Release()
	shared.Release()
	alone, err := s.Lock(bg, true)
	if err != nil {
		t.Fatal(err)
	}
	alone.Release()
}

// find returns the record with a number: fs.ErrNotExist if there is none.
func find(s *Store, id int64) (Entry, error) {
	for e, err := range s.Newest(bg, id+1) {
		if err != nil || e.ID == id {
			return e, err
		}
		break
	}
	return Entry{}, fs.ErrNotExist
}

// openImage opens a file that a step of a record took away.
func openImage(s *Store, e *Entry, step int) (*os.File, error) {
	images, err := s.OpenImages(e.ID)
	if err != nil {
		return nil, err
	}
	defer images.Close()
	return images.Open(cmp.Or(e.Record().Steps[step].Image, "none"), os.O_RDONLY)
}

// A record is decoded only where it may have what is looked for. One that is whole and cannot be decoded is damaged.
func TestEntry(t *testing.T) {
	entry := func(text string) Entry { return page{}.entry(line{aRecord, 7, []byte(text)}) }
	e := entry(`{"id":7,"tool":"a\"b","steps":[{"path":"a"}]}`)
	if !e.MayHave("absent") {
		t.Error("a text with a backslash is certain not to have another")
	}
	if e = entry(`{"id":7,"tool":"write","steps":[{"path":"a"}]}`); e.MayHave("absent") || !e.MayHave(`"a"`) || e.record != nil {
		t.Errorf("a text without a backslash was not searched: %+v", e)
	}
	if e.Damaged() || e.Record().Tool != "write" || e.Record().Steps[0].Path != "a" || !e.MayHave("absent") {
		t.Errorf("the record is %+v", e.Record())
	}
	for _, steps := range []string{`[{"path":"\u0000!"}]`, `[1]`} {
		if e = entry(`{"id":7,"undoes":3,"tool":"write","steps":` + steps + `}`); !e.Damaged() || e.Undoes != 0 || e.ID != 7 || e.Record().Tool != "" {
			t.Errorf("steps %s: %+v, %+v", steps, e, e.Record())
		}
	}
	if e = (page{}).entry(line{id: 7}); !e.Damaged() || e.Record().ID != 7 {
		t.Errorf("a damaged line is %+v", e)
	}
}
