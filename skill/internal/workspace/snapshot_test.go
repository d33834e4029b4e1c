package workspace

import (
	"encoding/binary"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func someTable() *table {
	t := newTable("sub", []entry{
		{path: "sub/a", kind: aFile, stamp: stamp{FileID{Dev: 1, Ino: 2}, 3, -4, 5, 0o644, 1, 7, 8}, digest: strings.Repeat("0a", 16)},
		{path: "sub/with attributes", kind: aFile, digest: strings.Repeat("0a", 24)},
		{path: "sub/\xff\n", kind: aLink, racy: true, digest: "../x"},
		{path: "sub/d", kind: aFolder, ignored: true},
		{path: "sub/p", kind: aSpecial},
	})
	t.stale, t.limit = 4096, 1<<20
	return t
}

// FuzzTable reads damaged tables. What is one is written as it was read.
func FuzzTable(f *testing.F) {
	data := someTable().encode()
	f.Add(data[4:])
	f.Add(newTable(".", nil).encode()[4:])
	f.Add(data[4 : len(data)-1])
	f.Add([]byte("\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, body []byte) {
		data := append(binary.LittleEndian.AppendUint32(nil, checksum(body)), body...)
		table := decodeTable(data)
		if table == nil {
			return
		}
		again := decodeTable(table.encode())
		if again == nil || !reflect.DeepEqual(table, again) {
			t.Errorf("%+v became %+v", table, again)
		}
		for _, e := range table.list {
			if !validPath(e.path) || e.kind == aFile && strings.ContainsAny(e.digest, "./") {
				t.Errorf("%+v was read", e)
			}
		}
	})
}

func TestTable(t *testing.T) {
	want := someTable()
	data := want.encode()
	if got := decodeTable(data); got == nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v became %+v", want, got)
	}
	for i := range data {
		damaged := slices.Clone(data)
		damaged[i] ^= 1
		if decodeTable(damaged) != nil {
			t.Errorf("byte %d may be any", i)
		}
	}
	hostile := newTable(".", []entry{{path: "../x", kind: aFile}})
	if decodeTable(hostile.encode()) != nil {
		t.Error("a name that leads out was read")
	}
	hostile.list[0] = entry{path: "x", kind: aFile, digest: "../../../../../../../etc/passwd/"}
	if decodeTable(hostile.encode()) != nil {
		t.Error("a content that is elsewhere was read")
	}
}

// A statFunc is a Statter.
type statFunc func() (Info, error)

func (f statFunc) Stat() (Info, error) { return f() }

// TestTooMany visits as many names as a snapshot may have, and one more, whichever worker
// it is that finds it.
func TestTooMany(t *testing.T) {
	for _, workers := range []int{1, 7, SnapshotWorkers} {
		for _, more := range []int{0, 1} {
			c := newScan(newTable(".", nil), ".", 0)
			name := []byte("f")
			for i := range MaxVisited + more {
				v := Visited{Name: name, File: statFunc(func() (Info, error) { return Info{}, nil })}
				if err := c.visit(i%workers, v); err != nil && err != fs.SkipAll {
					t.Fatal(err)
				}
			}
			if c.tooMany() != (more == 1) {
				t.Errorf("%d workers, %d names: too many is %t", workers, MaxVisited+more, more == 0)
			}
		}
	}
}

// TestFitting keeps the smaller files first, and as many as fit of those of one size.
func TestFitting(t *testing.T) {
	files := newTable(".", []entry{
		{path: "a", kind: aFile, stamp: stamp{size: 10}}, {path: "b", kind: aFile, stamp: stamp{size: 5000}},
		{path: "c", kind: aFile, stamp: stamp{size: 9000}}, {path: "d", kind: aFile, stamp: stamp{size: MaxKept + 1}},
		{path: "e", kind: aFile, ignored: true, stamp: stamp{size: 10}}, {path: "f", kind: aFile}, {path: "link", kind: aLink, stamp: stamp{size: 99}},
		{path: "c2", kind: aFile, stamp: stamp{size: 9000}},
	})
	for limit, want := range map[int64]string{1 << 20: "abcc2flink", 36 << 10: "abcc2flink", 36<<10 - 1: "abcflink", 24 << 10: "abcflink", 24<<10 - 1: "abflink", 12 << 10: "abflink", 4 << 10: "aflink", 1: "flink"} {
		fit, rest := files.fitting(limit)
		slices.SortFunc(fit, func(a, b *entry) int { return strings.Compare(a.path, b.path) })
		got := ""
		for _, e := range fit {
			got += e.path
		}
		if got != want || len(fit)+len(rest) != 6 {
			t.Errorf("of %d bytes: %s, want %s; %d others", limit, got, want, len(rest))
		}
	}
}

func TestByPath(t *testing.T) {
	want := []string{"a", "a/b", "a/b/c", "a/b-", "a/c", "a-", "a-/x", "a.b", "b"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, byPath)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
