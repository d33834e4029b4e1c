package state

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"textskill/testdata/needs"

	"pgregory.net/rapid"
)

// Whatever happens to the files of a store: what is lost is told, no number is given
// again, and records can be written.
func TestDamage(t *testing.T) {
	needs.SameDraws(t)
	inMemory(t)
	rapid.Check(t, func(rt *rapid.T) {
		root, dir := tempDir(rt), tempDir(rt)
		o := Options{Root: root, Dir: dir, NoSync: true, Limits: Limits{Count: -1}}
		s, err := Open(o)
		if err != nil {
			rt.Fatal(err)
		}
		n := rapid.Int64Range(1, 600).Draw(rt, "records")
		for range n {
			add(t, s, Record{})
		}
		path := s.Path()
		inUse := rapid.Bool().Draw(rt, "in use")
		if !inUse {
			s.Close()
		}
		files, _ := filepath.Glob(path + "/log/*/log")
		file := rapid.SampledFrom(files).Draw(rt, "file")
		data, err := os.ReadFile(file)
		if err != nil {
			rt.Fatal(err)
		}
		end := len(bytes.TrimRight(data, "\x00"))
		harm := rapid.SampledFrom([]string{"flip", "cut", "empty", "zero", "garbage", "remove"}).Draw(rt, "harm")
		at := rapid.IntRange(0, end-1).Draw(rt, "at")
		if harm == "cut" && at%chunk == 0 {
			at++
		}
		harmed := slices.Clone(data)
		switch harm {
		case "flip":
			harmed[at] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
		case "cut":
			harmed = harmed[:at]
		case "empty":
			harmed = nil
		case "zero":
			clear(harmed[at:min(at+4096, len(harmed))])
		case "garbage":
			r := rand.New(rand.NewPCG(1, uint64(at)))
			for i := at; i < min(at+1000, len(harmed)); i++ {
				harmed[i] = byte(r.Uint32())
			}
		}
		if harm == "remove" {
			err = os.Remove(file)
		} else {
			err = os.WriteFile(file, harmed, 0o600)
		}
		if err != nil {
			rt.Fatal(err)
		}
		if !inUse {
			if s, err = Open(o); err != nil {
				rt.Fatal(err)
			}
		}
		defer s.Close()
		// Zeros from the end of one line to the end of the last one look like lines that were
		// never written; the next number is new unless all of the last segment's end is gone.
		silent := harm == "zero" && (at == 0 || data[at-1] == '\n') && at+4096 >= end
		id := add(t, s, Record{})
		if id <= n && !(silent && !inUse) {
			rt.Fatalf("after %d records, %s at %d of %s: the number %d is given again", n, harm, at, file, id)
		}
		whole, damaged := ids(t, s)
		if silent {
			return
		}
		if whole[len(whole)-1] != id {
			rt.Fatalf("record %d is not the last of %v", id, whole)
		}
		seen := map[int64]bool{}
		for _, id := range whole {
			if seen[id] {
				rt.Fatalf("record %d is there twice", id)
			}
			seen[id] = true
		}
		if len(whole) < int(n)+1 && len(damaged) == 0 {
			rt.Fatalf("%d of %d records are whole, and nothing is told", len(whole), n+1)
		}
		if len(damaged) > 0 && len(s.Damaged()) == 0 {
			rt.Fatalf("damaged %v, and nothing is remembered", damaged)
		}
		if len(whole) < int(n)+1-maxRecords {
			rt.Fatalf("%d of %d records are whole", len(whole), n+1)
		}
	})
}

func tempDir(t *rapid.T) string {
	dir, err := os.MkdirTemp("", "state-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// The other files of a store may be lost or full of anything.
func TestDamagedOtherFiles(t *testing.T) {
	inMemory(t)
	for _, name := range []string{"lock", "root.json", "damaged", "locks", "log/0000000000000001/sizes", "log/0000000000000001/images", "log/0000000000000101/images", "log/new", "import", "gone-x"} {
		for _, content := range []string{"", "{\"path\":3", "remove"} {
			root, dir := t.TempDir(), t.TempDir()
			o := Options{Root: root, Dir: dir, NoSync: true}
			s := open(t, o)
			for range 300 {
				add(t, s, Record{})
			}
			s.Close()
			file := filepath.Join(s.Path(), name)
			os.RemoveAll(file)
			if content != "remove" {
				os.WriteFile(file, []byte(content), 0o600)
			}
			s, err := Open(o)
			if err != nil {
				if name == "locks" || name == "log/0000000000000101/images" { // a file where a folder must be
					continue
				}
				t.Errorf("%s is %q: %v", name, content, err)
				continue
			}
			r := Record{Kind: "write"}
			c, err := s.Add(bg, &r)
			if err == nil {
				c.Close()
				if c.ID <= 300 {
					t.Errorf("%s is %q: the number %d is given again", name, content, c.ID)
				}
			} else if !errors.Is(err, fs.ErrExist) && content == "remove" {
				t.Errorf("%s is %q: %v", name, content, err)
			}
			s.Close()
		}
	}
}

// A line that is cut off by a kill is damaged; those after it are whole.
func TestTornTail(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	o := Options{Root: root, Dir: dir, NoSync: true}
	s := open(t, o)
	for range 3 {
		add(t, s, Record{})
	}
	g := s.cur
	if _, err := g.log.WriteAt([]byte(`12345678 {"id":4,"t":"2026`), g.end); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Store{s, open(t, o)} {
		add(t, s, Record{})
	}
	whole, damaged := ids(t, s)
	if !slices.Equal(whole, []int64{1, 2, 3, 257, 258}) || !slices.Equal(damaged, []int64{4}) || !slices.Equal(s.Damaged(), []int64{4}) {
		t.Errorf("whole %v, damaged %v, remembered %v", whole, damaged, s.Damaged())
	}
}

// A kill leaves whole pages of a write: no line that fits in a page lies on two.
func TestLinesInPages(t *testing.T) {
	s := open(t, Options{Root: t.TempDir(), Dir: t.TempDir(), NoSync: true})
	for n := range 200 {
		add(t, s, Record{Note: strings.Repeat("x", n*37%5000)})
	}
	data, err := os.ReadFile(s.Path() + "/log/0000000000000001/log")
	if err != nil {
		t.Fatal(err)
	}
	at, records := 0, 0
	for text := range bytes.Lines(bytes.TrimRight(data, "\x00")) {
		if last := at + len(text) - 1; at/4096 != last/4096 && len(text) <= 4096 {
			t.Errorf("%.40q is from %d to %d", text, at, last)
		}
		if at += len(text); len(text) > 1 {
			records++
		}
	}
	if whole, damaged := ids(t, s); len(whole) != 200 || len(damaged) > 0 || records != 200 {
		t.Errorf("%d lines, whole %v, damaged %v", records, whole, damaged)
	}
}

// A number whose record a power cut took is not given again while its image is there.
func TestImageWithoutRecord(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	o := Options{Root: root, Dir: dir, NoSync: true}
	s := open(t, o)
	add(t, s, Record{})
	os.WriteFile(s.Path()+"/log/0000000000000001/images/7", nil, 0o600)
	s.Close()
	s = open(t, o)
	if id := add(t, s, Record{}); id != 8 {
		t.Errorf("the number %d follows the image 7", id)
	}
	r, err := Inspect(bg, o)
	if err != nil || len(r.NoRecord) != 1 || !slices.Equal(r.NoImage, []int64{1, 8}) {
		t.Errorf("%+v, %v", r, err)
	}
}

// FuzzLog reads any bytes as a log: what is written after it is read again, under a
// number that was not used.
func FuzzLog(f *testing.F) {
	var lines []byte
	for _, v := range []any{
		Record{ID: 1, Kind: "write", Steps: []Step{{Path: "a/b", After: State{Kind: "file", Sum: "00"}, Image: "1"}}},
		mark{Of: 1, End: Done},
		Record{ID: 2, Kind: "move", Undoes: 1, Next: 1, Steps: []Step{{Path: "a\xff", From: "b"}}},
		mark{Seal: 3, Lost: []int64{2}},
	} {
		line, err := encode(v)
		if err != nil {
			f.Fatal(err)
		}
		lines = append(lines, line...)
		f.Add(slices.Clone(lines))
		f.Add(slices.Clone(lines[:len(lines)-len(line)/2]))
		f.Add(slices.Clone(lines[:len(lines)-1])) // whole but for its newline
		f.Add(line[sumLength:])
	}
	f.Add([]byte(`{"seal":3,"lost":[7]}`))
	seal, err := encode(mark{Seal: 3, Lost: []int64{2}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(slices.Concat([]byte("x\nx\nx\n"), seal, []byte(`\`)))
	read := func(data []byte) (g *segment, ids []int64) {
		g = &segment{first: 1}
		g.take(data, func(l line) {
			if l.kind == aRecord {
				ids = append(ids, page{}.entry(l).ID)
			}
		})
		return g, append(ids, g.damaged...)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !bytes.ContainsAny(data, "\n") { // a text with a sum that is right is read
			data = append(fmt.Appendf(nil, "%08x ", checksum(data)), slices.Concat(data, []byte{'\n'})...)
		}
		g, ids := read(data)
		id, _ := g.next()
		if id <= slices.Max(append(ids, 0)) {
			t.Errorf("%d comes after %v", id, ids)
		}
		next, err := encode(Record{ID: id, Kind: "write"})
		if err != nil {
			t.Fatal(err)
		}
		if g.torn {
			next = append([]byte("\n"), next...)
		}
		after, more := read(slices.Concat(bytes.TrimRight(data, "\x00"), next))
		if after.last != id || len(more) != len(ids)+1 || !slices.Contains(more, id) || slices.Contains(after.damaged, id) {
			t.Errorf("%d after %v: %v, damaged %v", id, ids, more, after.damaged)
		}
	})
}
