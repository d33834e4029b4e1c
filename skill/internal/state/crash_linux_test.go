package state

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"textskill/skill/internal/workspace/tree"
	"textskill/testdata/needs"
)

// The tests here run writers in processes of their own and end them, or their file
// system, at any moment. Every content says which version of which file it is, so that what
// is there afterwards can be held against what was acknowledged.

// contentSize is that of every content: more than a page, so that it may be torn.
const contentSize = 6000

func content(file string, version int) []byte {
	line := fmt.Appendf(nil, "%s %d\n", file, version)
	return bytes.Repeat(line, contentSize/len(line)+1)[:contentSize]
}

// versionOf returns which version a content is, 0 for one that is torn.
func versionOf(file string, data []byte) int {
	_, rest, _ := bytes.Cut(data, []byte(" "))
	version := int(leadingNumber(rest))
	if !bytes.Equal(data, content(file, version)) {
		return 0
	}
	return version
}

// writer is one process that makes changes until something fails, and acknowledges each
// with a line: what, file, version, number.
type writer struct {
	s    *Store
	root string
	mu   sync.Mutex
}

func TestMain(m *testing.M) {
	if args := strings.Split(os.Getenv("STATE_TEST_WRITER"), "\n"); len(args) == 4 {
		limit, _ := strconv.ParseInt(args[3], 10, 64)
		s, err := Open(Options{Root: args[0], Dir: args[1], NoSync: args[2] == "true", Limits: Limits{Count: limit, Bytes: limit * contentSize / 2}})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		w := &writer{s: s, root: args[0]}
		for g := range 4 {
			go w.run(g)
		}
		if limit > 0 {
			go w.note()
		}
		select {}
	}
	if args := strings.Split(os.Getenv("STATE_TEST_HOLDER"), "\n"); len(args) == 2 {
		holdLocks(args)
	}
	os.Exit(needs.Run(m))
}

func (w *writer) run(g int) {
	dir, err := openFolder(w.root)
	for n := 1; err == nil; n++ {
		switch rand.IntN(4) {
		case 0:
			err = w.createAndDelete(dir, fmt.Sprintf("new-%d-%d-%d", time.Now().UnixNano(), g, n))
		case 1:
			err = w.locked(dir, fmt.Sprintf("linked-%d", rand.IntN(2)), w.inPlace)
		default:
			err = w.locked(dir, fmt.Sprintf("file-%d", rand.IntN(3)), w.replace)
		}
	}
	fmt.Println("error", err)
	os.Exit(1)
}

// note adds records of what cannot be undone, so that the log is thinned all the time.
func (w *writer) note() {
	for {
		c, err := w.s.Add(bg, &Record{Kind: "run", Note: "git ignores it", Steps: []Step{{Path: "b"}}})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		c.Close()
		if w.s.o.NoSync { // a change takes no longer than this
			time.Sleep(20 * time.Microsecond)
		}
	}
}

func (w *writer) acknowledge(what, file string, version int, id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Printf("%s %s %d %d\n", what, file, version, id)
}

func record(kind, file string, before, after int) *Record {
	r := &Record{Kind: kind, Steps: []Step{{Path: Name(file), Keep: before > 0}}}
	for _, s := range []struct {
		state   *State
		version int
	}{{&r.Steps[0].Before, before}, {&r.Steps[0].After, after}} {
		if s.version > 0 {
			*s.state = State{Kind: "file", Size: int64(s.version)}
		}
	}
	return r
}

// locked makes the next version of a file while nobody else does, and waits for its
// flush afterwards.
func (w *writer) locked(dir tree.Folder, file string, change func(tree.Folder, string, int) (*Change, error)) error {
	l, err := w.s.Lock(bg, false)
	if err != nil {
		return err
	}
	defer l.Release()
	name := tree.FileID{Dev: 1, Ino: uint64(len(file))<<8 | uint64(file[len(file)-1])}
	if err := l.Folders(bg, name); err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(w.root, file))
	if err != nil {
		return err
	}
	version := versionOf(file, data)
	if version == 0 {
		return fmt.Errorf("%s is torn", file)
	}
	c, err := change(dir, file, version)
	if err != nil {
		return err
	}
	defer c.Close()
	l.Release()
	if err := c.Flush(dir); err != nil {
		return err
	}
	w.acknowledge(c.Kind, file, version+1, c.ID)
	return nil
}

func (w *writer) replace(dir tree.Folder, file string, version int) (*Change, error) {
	f, err := unnamed(w.s, dir, content(file, version+1))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := w.s.Add(bg, record("replace", file, version, version+1))
	if err != nil {
		return nil, err
	}
	return c, c.Exchange(0, f, dir, file)
}

func (w *writer) inPlace(dir tree.Folder, file string, version int) (*Change, error) {
	f, err := os.OpenFile(filepath.Join(w.root, file), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := w.s.Add(bg, record("place", file, version, version+1))
	if err != nil {
		return nil, err
	}
	if err := c.Copy(0, f, 0, contentSize); err != nil {
		return nil, err
	}
	if err := c.Flush(); err != nil {
		return nil, err
	}
	if _, err := f.WriteAt(content(file, version+1), 0); err != nil {
		return nil, err
	}
	if !w.s.o.NoSync {
		err = tree.Datasync(f)
	}
	return c, errors.Join(err, c.End(bg, Done))
}

func (w *writer) createAndDelete(dir tree.Folder, file string) error {
	f, err := unnamed(w.s, dir, content(file, 1))
	if err != nil {
		return err
	}
	defer f.Close()
	c, err := w.s.Add(bg, record("create", file, 0, 1))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := errors.Join(dir.LinkUnnamed(f, file), c.Flush(dir)); err != nil {
		return err
	}
	w.acknowledge("create", file, 1, c.ID)
	d, err := w.s.Add(bg, record("delete", file, 1, 0))
	if err != nil {
		return err
	}
	defer d.Close()
	if err := errors.Join(dir.Rename(file, d.Images(), d.Steps[0].Image, false), d.Flush(dir)); err != nil {
		return err
	}
	w.acknowledge("delete", file, 1, d.ID)
	return nil
}

// layout makes the files that writers change.
func layout(t *testing.T, root string) {
	for i := range 3 {
		name := fmt.Sprintf("file-%d", i)
		os.WriteFile(filepath.Join(root, name), content(name, 1), 0o644)
		if name = fmt.Sprintf("linked-%d", i); i < 2 {
			os.WriteFile(filepath.Join(root, name), content(name, 1), 0o644)
			os.Link(filepath.Join(root, name), filepath.Join(root, "other-"+name))
		}
	}
	d, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	unix.Syncfs(int(d.Fd()))
}

// An ack is a change that was acknowledged.
type ack struct {
	what, file string
	version    int
	id         int64
}

// runWriters runs processes for some time, kills them and returns what they acknowledged. With
// cut they may find errors from then on, and what they acknowledge is not counted: a file system
// without its disk may answer an fsync that there was nothing to do.
func runWriters(t *testing.T, processes int, root, dir string, noSync bool, limit int64, forTime time.Duration, cut func()) (acks []ack) {
	t.Helper()
	isCut := false
	var mu sync.Mutex
	var all sync.WaitGroup
	var stop []func()
	for range processes {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "STATE_TEST_WRITER="+strings.Join([]string{root, dir, strconv.FormatBool(noSync), fmt.Sprint(limit)}, "\n"))
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		stop = append(stop, func() { cmd.Process.Kill() })
		all.Go(func() {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				var a ack
				n, _ := fmt.Sscan(lines.Text(), &a.what, &a.file, &a.version, &a.id)
				mu.Lock()
				switch {
				case isCut:
				case n == 4 && a.what != "error":
					acks = append(acks, a)
				case strings.HasPrefix(lines.Text(), "error"):
					t.Error(lines.Text())
				}
				mu.Unlock()
			}
			cmd.Wait()
		})
	}
	time.Sleep(forTime)
	if cut != nil {
		mu.Lock()
		isCut = true
		mu.Unlock()
		cut()
	}
	for _, stop := range stop {
		stop()
	}
	all.Wait()
	return acks
}

// audit compares a store and its root with what was acknowledged, and mends what was torn in
// place. It returns how many changes are there whose records are not, as a power cut may leave
// them.
func audit(t *testing.T, s *Store, acks []ack) (unrecorded int) {
	t.Helper()
	records := map[int64]Entry{}
	images := map[string]string{} // "file version" of each image
	oldest := int64(0)
	for e, err := range s.Newest(bg, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := records[e.ID]; twice {
			t.Errorf("record %d is there twice: %+v and %+v", e.ID, other, e)
		}
		records[e.ID], oldest = e, e.ID
	}
	paths, _ := filepath.Glob(s.Path() + "/log/*/images/*")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, _, _ := strings.Cut(string(data), " ")
		if v := versionOf(file, data); v > 0 {
			images[filepath.Base(path)] = fmt.Sprint(file, " ", v)
		}
	}
	kept := func(file string, version int) bool {
		for _, one := range images {
			if one == fmt.Sprint(file, " ", version) {
				return true
			}
		}
		return false
	}
	last := map[string]ack{}
	for _, a := range acks {
		if l := last[a.file]; a.version > l.version || a.what == "delete" {
			last[a.file] = a
		}
		if a.id < oldest {
			continue // dropped
		}
		e, ok := records[a.id]
		if !ok || e.Damaged() || e.Record().Kind != a.what || string(e.Record().Steps[0].Path) != a.file {
			t.Errorf("acknowledged %v: the record is %+v", a, e)
			continue
		}
		if a.what == "place" && e.End != Done {
			t.Errorf("acknowledged %v: the end is %q", a, e.End)
		}
		if before := int(e.Record().Steps[0].Before.Size); before > 0 && images[e.Record().Steps[0].Image] != fmt.Sprint(a.file, " ", before) {
			t.Errorf("acknowledged %v: its image holds %q", a, images[e.Record().Steps[0].Image])
		}
	}
	for file, a := range last {
		data, err := os.ReadFile(filepath.Join(s.Place().Root, file))
		version := versionOf(file, data)
		recorded := func(what string, version int) bool {
			for _, e := range records {
				if !e.Damaged() && e.Record().Kind == what && string(e.Record().Steps[0].Path) == file && (int(e.Record().Steps[0].After.Size) == version) {
					return true
				}
			}
			return false
		}
		switch {
		case a.what == "delete":
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s was deleted, and is there: %v", file, err)
			}
		case a.what == "create":
			if errors.Is(err, fs.ErrNotExist) && (a.id < oldest || kept(file, 1)) { // its delete was not acknowledged
				if a.id >= oldest && !recorded("delete", 0) {
					unrecorded++
				}
			} else if version != 1 {
				t.Errorf("%s is version %d, %v", file, version, err)
			}
		case a.what == "place" && version == 0:
			if !kept(file, a.version) {
				t.Errorf("%s is torn, and version %d is not kept", file, a.version)
			}
		case version < a.version:
			t.Errorf("%s is version %d, and %d was acknowledged; %v, %d bytes %.20q", file, version, a.version, err, len(data), data)
		case version > a.version:
			if !kept(file, version-1) {
				t.Errorf("%s is version %d, and the one before is not kept", file, version)
			}
			if !recorded(a.what, version) {
				unrecorded++
			}
		}
	}
	for _, file := range []string{"linked-0", "linked-1"} { // as an undo of what was under way
		path := filepath.Join(s.Place().Root, file)
		if data, err := os.ReadFile(path); err != nil || versionOf(file, data) > 0 {
			continue
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteAt(content(file, max(1, last[file].version)), 0)
			err = errors.Join(err, f.Sync(), f.Close())
		}
		if err != nil {
			t.Error(err)
		}
	}
	return unrecorded
}

// Processes are killed in the middle of changes, time and again. Nothing that they
// acknowledged is lost, no number is given twice, and the others go on.
func TestKill(t *testing.T) {
	inMemory(t)
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	root, dir := t.TempDir(), t.TempDir()
	layout(t, root)
	var acks []ack
	for range rounds {
		acks = append(acks, runWriters(t, 3, root, dir, true, 400, time.Duration(30+rand.IntN(100))*time.Millisecond, nil)...)
		s := open(t, Options{Root: root, Dir: dir, NoSync: true, Limits: Limits{Count: 400}})
		if n := audit(t, s, acks); n > 0 {
			t.Errorf("%d changes have no record", n)
		}
		if d := s.Damaged(); len(d) > 0 {
			t.Errorf("damaged: %v", d)
		}
		s.Close()
	}
	slices.SortFunc(acks, func(a, b ack) int { return int(a.id - b.id) })
	for i := range acks[1:] {
		if acks[i].id == acks[i+1].id {
			t.Errorf("the number %d was given twice: %v and %v", acks[i].id, acks[i], acks[i+1])
		}
	}
	t.Logf("%d changes acknowledged in %d rounds", len(acks), rounds)
}

// The power fails in the middle of changes, half of the times with little that is kept: the
// disk takes nothing from one moment to the next, and is mounted again. STATE_TEST_CUTS says
// how often; the default is 20 times for ext4 alone.
func TestPowerCut(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	needs.EachDisk(t, 1, "STATE_TEST_CUTS", func(t *testing.T, cuts int, disks []*needs.Disk) {
		disk := disks[0]
		root, dir := disk.Dir+"/ws", disk.Dir+"/state"
		os.Mkdir(root, 0o755)
		layout(t, root)
		var acks []ack
		unrecorded, damaged := 0, 0
		for cut := range cuts {
			limit := int64(-1)
			if cut >= cuts/2 {
				limit = 300
			}
			acks = append(acks, runWriters(t, 2, root, dir, false, limit, time.Duration(20+rand.IntN(200))*time.Millisecond, disk.Cut)...)
			disk.Remount()
			s, err := Open(Options{Root: root, Dir: dir, Limits: Limits{Count: -1}})
			if err != nil {
				t.Fatalf("cut %d: %v", cut, err)
			}
			unrecorded = audit(t, s, acks)
			damaged = len(s.Damaged())
			for _, id := range s.Damaged() {
				if !slices.Contains(tornLines(t, s), id) {
					t.Errorf("%d counts as damaged, and no line of it is there", id)
				}
			}
			s.Close()
			if t.Failed() {
				t.Fatalf("cut %d", cut)
			}
		}
		t.Logf("%d changes acknowledged in %d cuts; %d others are there without a record, %d records damaged", len(acks), cuts, unrecorded, damaged)
	})
}

// tornLines returns the numbers of the lines that are damaged, but not of those that are
// missing.
func tornLines(t *testing.T, s *Store) (ids []int64) {
	t.Helper()
	list, err := segments(s.dir.Load())
	if err != nil {
		t.Fatal(err)
	}
	for _, first := range list {
		data, err := os.ReadFile(filepath.Join(s.Path(), logsName, segmentName(first), "log"))
		if err != nil {
			t.Fatal(err)
		}
		g := &segment{first: first, last: first - 1}
		g.take(data, nil)
		ids = append(ids, g.damaged...)
	}
	return ids
}

// A full disk refuses the change, and names what helps. Nothing is half written.
func TestFullDisk(t *testing.T) {
	m := mounted(t, "none", "tmpfs", 0, "size=2m")
	root := t.TempDir()
	s := open(t, Options{Root: root, Dir: m + "/state", Program: "skill", NoSync: true, Limits: Limits{Count: -1}})
	n := int64(0)
	var err error
	for ; n < 100_000; n++ {
		r := benchRecord()
		var c *Change
		if c, err = s.Add(bg, &r); err != nil {
			break
		}
		c.Close()
	}
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "skill gc") || !strings.Contains(err.Error(), "--no-journal") {
		t.Fatalf("after %d records: %v", n, err)
	}
	whole, damaged := ids(t, s)
	if !slices.Equal(whole, upTo(n)) || damaged != nil {
		t.Errorf("%d of %d records are whole, damaged %v", len(whole), n, damaged)
	}
	os.RemoveAll(s.Path() + "/log/0000000000000001")
	if id := add(t, s, Record{}); id != n+1 {
		t.Errorf("with room again the number is %d after %d", id, n)
	}
}

// TestFullDiskThinned thins the log where there is no room for what is to replace it: nothing is
// lost or left behind, and with room it is done.
func TestFullDiskThinned(t *testing.T) {
	dir := mounted(t, "none", "tmpfs", 0, "size=4m")
	o := Options{Root: t.TempDir(), Dir: dir + "/state", NoSync: true, Limits: Limits{Count: -1}}
	s := open(t, o)
	want := 0
	for i := range 5 * maxRecords {
		if i%20 == 0 {
			image(t, s, int64(i+1), 1)
			want++
		} else {
			note(t, s, i)
		}
	}
	s.Close()
	o.Limits.Count = 100
	s = open(t, o)
	filler := dir + "/filler"
	f, err := os.Create(filler)
	for chunk := make([]byte, 4<<10); err == nil; {
		_, err = f.Write(chunk)
	}
	f.Close()
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	check := func(thinned bool) {
		t.Helper()
		if err := s.GC(bg); err != nil {
			t.Error(err)
		}
		changes, notes, _ := changesAndNotes(t, s)
		if len(changes) != want || (notes < 3*maxRecords) != thinned {
			t.Errorf("there are %d changes of %d, and %d notes", len(changes), want, notes)
		}
		if left, _ := filepath.Glob(s.Path() + "/log/*/*.*"); left != nil {
			t.Errorf("there is %s", left)
		}
	}
	check(false)
	os.Remove(filler)
	check(true)
}
