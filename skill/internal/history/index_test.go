package history

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"textskill/skill/internal/workspace/tree"
)

func someIndex() *index {
	x := newIndex([]item{
		{path: "sub", kind: aFolder},
		{path: "sub/.git", kind: aFolder, git: true},
		{path: "sub/a", kind: aFile, stamp: stamp{tree.FileID{Dev: 1, Ino: 2}, 3, -4, 5, 0o644, 1, 7, 8},
			digest: strings.Repeat("0a", sumLength)},
		{path: "sub/d", kind: aFolder, ignored: true},
		{path: "sub/p", kind: aSpecial},
		{path: "sub/with attributes", kind: aFile, digest: strings.Repeat("0a", sumLength+8)},
		{path: "sub/\xff\n", kind: aLink, racy: true, digest: "../x"},
	})
	x.upTo, x.limit = 12, 1<<20
	return x
}

// content returns the content of the file of an index.
func (x *index) content() []byte {
	data, _ := x.encode()
	return data
}

// readBack reads the file of an index, and all its items; nil if it is damaged.
func readBack(data []byte) *index {
	x := decodeIndex(bytes.NewReader(data), int64(len(data)))
	if x != nil {
		x = x.folded()
	}
	if x == nil || x.lost {
		return nil
	}
	return x
}

// FuzzIndex reads damaged indexes whose checksums are right. Each index that it reads can be written and read again.
func FuzzIndex(f *testing.F) {
	data := someIndex().content()
	head := partHead + int(binary.LittleEndian.Uint32(data[4:]))
	f.Add(data[partHead:head], data[head:], []byte{})
	f.Add(newIndex(nil).content()[partHead:], []byte{}, someIndex().record()[partHead:])
	f.Add(data[partHead:head], data[head:len(data)-1], []byte{24})
	f.Fuzz(func(t *testing.T, head, items, record []byte) {
		data := append(sealPart(append(make([]byte, partHead), head...)), items...)
		if len(record) > 0 {
			data = append(data, sealPart(append(make([]byte, partHead), record...))...)
		}
		x := readBack(data)
		if x == nil {
			return
		}
		again := readBack(x.content())
		if again == nil || !reflect.DeepEqual(x.list, again.list) {
			t.Errorf("%+v became %+v", x, again)
		}
		for _, e := range x.list {
			if !validPath(e.path) || e.kind == aFile && strings.ContainsAny(e.digest, "./") {
				t.Errorf("%+v was read", e)
			}
		}
	})
}

// A damaged byte of the file loses the index; nobody reads wrong items.
func TestIndex(t *testing.T) {
	want := someIndex()
	data := want.content()
	if got := readBack(data); got == nil || !reflect.DeepEqual(got.list, want.list) || got.upTo != 12 ||
		got.limit != 1<<20 {
		t.Errorf("%+v became %+v", want, got)
	}
	want.set("sub/a", nil)
	want.set("x", &item{path: "x", kind: aFolder, digest: noAttributes})
	want.upTo = 13
	data = append(data, want.record()...)
	got := readBack(data)
	if want = want.folded(); got == nil || !reflect.DeepEqual(got.list, want.list) || got.upTo != 13 {
		t.Errorf("%+v became %+v", want, got)
	}
	for i := range data {
		damaged := slices.Clone(data)
		damaged[i] ^= 1
		if got := readBack(damaged); got != nil && got.upTo != 12 {
			t.Errorf("byte %d may be any", i)
		}
	}
	for _, e := range []item{{path: "../x", kind: aFile},
		{path: "x", kind: aFile, digest: "../../etc/passwd/../../../../../../../../../"}} {
		if readBack(newIndex([]item{e}).content()) != nil {
			t.Errorf("%+v was read", e)
		}
	}
}

// An index that is read block by block has the items that a whole one has.
func TestIndexByBlocks(t *testing.T) {
	var list []item
	for i := range 40 {
		folder := fmt.Sprintf("d%d", i%7)
		list = append(list, item{path: folder, kind: aFolder})
		for j := range i * 3 {
			list = append(list, item{path: fmt.Sprintf("%s/s-%d/%d.txt", folder, i, j), kind: aFile, stamp: stamp{size: int64(i * j)}},
				item{path: fmt.Sprintf("%s/s%d", folder, j), kind: aLink, digest: "x"})
		}
	}
	slices.SortFunc(list, itemsByFolder)
	list = slices.CompactFunc(list, func(a, b item) bool { return a.path == b.path })
	whole := newIndex(list)
	data := whole.content()
	for _, e := range list {
		x := decodeIndex(bytes.NewReader(data), int64(len(data)))
		got := x.find(e.path)
		if got == nil || *got != e || x.lost || len(x.file.read) > 9 {
			t.Fatalf("%s is %+v, with %d of %d blocks", e.path, got, len(x.file.read), len(x.file.blocks))
		}
		if one := whole.find(e.path); one == nil || *one != e {
			t.Fatalf("%s is %+v", e.path, one)
		}
		for _, other := range []string{e.path + "0", e.path + "/x", e.path[:len(e.path)-1] + "!"} {
			if got, want := x.find(other), whole.find(other); (got == nil) != (want == nil) {
				t.Fatalf("%s is %+v, not %+v", other, got, want)
			}
		}
	}
}

// A process that was killed while it wrote a record leaves a part of it; the next record replaces that part.
func TestIndexOfKilledWriter(t *testing.T) {
	s := open(t, Options{Root: t.TempDir(), Dir: t.TempDir()})
	tx, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.End()
	s.index = newIndex(nil)
	for _, name := range []string{"a", "b", "c"} {
		s.index.set(name, &item{path: name, kind: aFolder})
		if err := s.saveIndex(); err != nil {
			t.Fatal(err)
		}
		f, err := s.dir.Load().OpenFile(indexName, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Write(s.index.record()[:partHead+1])
		f.Close()
	}
	x := s.readIndex()
	if x.lost || x.find("a") == nil || x.find("b") == nil || x.find("c") == nil || x.find("d") != nil {
		t.Errorf("read %+v", x)
	}
}

// logOf opens a log that holds data.
func logOf(t *testing.T, data []byte) (*logFile, error) {
	dir, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	if err := dir.WriteFile(logName, data, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := openLog(dir, false, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	return l, l.read(true)
}

func someLog(t testing.TB) []byte {
	var data []byte
	for _, v := range []any{
		header{Version: logVersion}, &Op{ID: 1, Kind: "write", Deltas: []Delta{{Path: "a"}}},
		&Op{ID: 2, Undoes: 1, Kind: KindUndo},
		&Op{ID: 3, Void: true}, &Op{ID: 4, Kind: "write"},
	} {
		line, err := seal(v)
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, line...)
	}
	return data
}

// FuzzLog reads damaged logs. Afterwards an op can be added and read.
func FuzzLog(f *testing.F) {
	data := someLog(f)
	f.Add(data)
	f.Add(data[:len(data)-5])
	f.Add([]byte("00000000 {}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := logOf(t, data)
		if err != nil {
			return
		}
		op := &Op{ID: l.last() + 1, Kind: "write"}
		if err := l.add(op); err != nil {
			t.Fatal(err)
		}
		at, ok := l.find(op.ID)
		if read := l.op(at); !ok || read == nil || read.Kind != "write" {
			t.Errorf("op %d is %+v", op.ID, read)
		}
	})
}

// A damaged byte of a log costs the op of its line, or two ops if it is the line end.
func TestDamagedLog(t *testing.T) {
	data := someLog(t)
	for i := range data {
		damaged := slices.Clone(data)
		damaged[i] ^= 4
		l, err := logOf(t, damaged)
		if err != nil {
			t.Errorf("byte %d: %v", i, err)
			continue
		}
		good := 0
		for _, at := range l.lines {
			if l.op(at) != nil {
				good++
			}
		}
		if good < 1 || l.last() < 2 {
			t.Errorf("byte %d: %d ops can be read, the last is %d", i, good, l.last())
		}
	}
}

// A log of a newer version is refused with an explanation.
func TestNewerVersion(t *testing.T) {
	line, err := seal(header{Version: logVersion + 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := logOf(t, line); err == nil || !strings.Contains(err.Error(), "install the newer skill") {
		t.Error(err)
	}
}
