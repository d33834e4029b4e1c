package history

import (
	"encoding/binary"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"textskill/skill/internal/workspace/tree"
)

func someIndex() *index {
	x := newIndex([]item{
		{path: "sub/a", kind: aFile, stamp: stamp{tree.FileID{Dev: 1, Ino: 2}, 3, -4, 5, 0o644, 1, 7, 8},
			digest: strings.Repeat("0a", sumLength)},
		{path: "sub/with attributes", kind: aFile, digest: strings.Repeat("0a", sumLength+8)},
		{path: "sub/\xff\n", kind: aLink, racy: true, digest: "../x"},
		{path: "sub/d", kind: aFolder, ignored: true},
		{path: "sub/.git", kind: aFolder, git: true},
		{path: "sub/p", kind: aSpecial},
	})
	x.upTo, x.limit = 12, 1<<20
	return x
}

// FuzzIndex reads damaged indexes. Encoding a decoded index gives the same bytes.
func FuzzIndex(f *testing.F) {
	data := someIndex().encode()
	f.Add(data[4:])
	f.Add(newIndex(nil).encode()[4:])
	f.Add(data[4 : len(data)-1])
	f.Fuzz(func(t *testing.T, body []byte) {
		x := decodeIndex(append(binary.LittleEndian.AppendUint32(nil, checksum(body)), body...))
		if x == nil {
			return
		}
		again := decodeIndex(x.encode())
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

func TestIndex(t *testing.T) {
	want := someIndex()
	data := want.encode()
	if got := decodeIndex(data); got == nil || !reflect.DeepEqual(got.list, want.list) || got.upTo != 12 ||
		got.limit != 1<<20 {
		t.Errorf("%+v became %+v", want, got)
	}
	for i := range data {
		damaged := slices.Clone(data)
		damaged[i] ^= 1
		if decodeIndex(damaged) != nil {
			t.Errorf("byte %d may be any", i)
		}
	}
	for _, e := range []item{{path: "../x", kind: aFile},
		{path: "x", kind: aFile, digest: "../../etc/passwd/../../../../../../../../../"}} {
		if decodeIndex(newIndex([]item{e}).encode()) != nil {
			t.Errorf("%+v was read", e)
		}
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
