package history

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// contents returns n different contents by their names: an empty one, one of the largest size, and others.
func contents(n int) map[string][]byte {
	all := map[string][]byte{SumOf(nil): {}}
	all[SumOf(make([]byte, maxPacked))] = make([]byte, maxPacked)
	for i := 0; len(all) < n; i++ {
		data := bytes.Repeat(fmt.Appendf(nil, "%d ", i), 1+rand.IntN(400))
		all[SumOf(data)] = data
	}
	return all
}

// packed saves contents in a pack.
func (d *packFolder) packed(t testing.TB, all map[string][]byte) {
	t.Helper()
	p := newPacker(d)
	for name, data := range all {
		if err := p.add(name, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.finish(nil, true); err != nil {
		t.Fatal(err)
	}
}

// holds fails the test unless a folder finds exactly the contents of want among all.
func (d *packFolder) holds(t testing.TB, all, want map[string][]byte) {
	t.Helper()
	for name := range all {
		found, in := d.find(name)
		data, wanted := want[name]
		if wanted != (in != nil) || !bytes.Equal(found, data) {
			t.Fatalf("%s: found %d bytes: %v; wanted: %v", name, len(found), in != nil, wanted)
		}
	}
}

func packSizes(t testing.TB, s *Store) (names []string, sum int64) {
	t.Helper()
	names, err := filepath.Glob(s.Path() + "/packs/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	return names, sum
}

// Dropped contents are gone for every process, also for one that has the packs open, and their room becomes free.
func TestPacks(t *testing.T) {
	for _, portable := range []bool{false, true} {
		t.Run(fmt.Sprintf("portable=%v", portable), func(t *testing.T) {
			o := Options{Root: t.TempDir(), Dir: t.TempDir(), Portable: portable}
			s, other := open(t, o), open(t, o)
			d := s.blobs.packs
			all := contents(2000)
			d.holds(t, all, nil)
			d.packed(t, all)
			other.blobs.packs.holds(t, all, all)
			d.holds(t, all, all)
			_, before := packSizes(t, s)

			kept := map[string][]byte{}
			for name, data := range all {
				if len(kept) < 100 {
					kept[name] = data
				} else {
					s.blobs.drop(map[string]bool{name: true})
				}
			}
			other.blobs.packs.holds(t, all, kept)
			if err := d.tidy(true); err != nil {
				t.Fatal(err)
			}
			for _, s := range []*Store{s, other, open(t, o)} {
				s.blobs.packs.holds(t, all, kept)
			}
			if names, after := packSizes(t, s); after > before/4 || len(names) != 1 {
				t.Errorf("after the drop %q take %d bytes of %d", names, after, before)
			}
			other.blobs.packs.packed(t, all) // dropped contents come back
			d.holds(t, all, all)
			for name := range all {
				other.blobs.drop(map[string]bool{name: true})
			}
			if err := other.blobs.packs.tidy(true); err != nil {
				t.Fatal(err)
			}
			d.holds(t, all, nil)
			if names, _ := packSizes(t, s); len(names) > 0 {
				t.Errorf("left: %q", names)
			}
		})
	}
}

// Many small packs are joined, and contents of more than packSize bytes become several packs.
func TestPacksAreJoinedAndSplit(t *testing.T) {
	s := open(t, Options{Root: t.TempDir(), Dir: t.TempDir(), NoSync: true})
	d := s.blobs.packs
	all := map[string][]byte{}
	for i := range manyPacks + 2 {
		data := fmt.Append(nil, i)
		all[SumOf(data)] = data
		d.packed(t, map[string][]byte{SumOf(data): data})
	}
	if err := d.tidy(false); err != nil {
		t.Fatal(err)
	}
	if names, _ := packSizes(t, s); len(names) != 1 {
		t.Errorf("joined: %q", names)
	}
	d.holds(t, all, all)
	large := map[string][]byte{}
	for i := range 2*packSize/maxPacked - 1 {
		data := bytes.Repeat(fmt.Appendf(nil, "%8d", i), maxPacked/8)
		large[SumOf(data)] = data
	}
	d.packed(t, large)
	if names, _ := packSizes(t, s); len(names) != 3 {
		t.Errorf("split: %q", names)
	}
	d.holds(t, large, large)
}

// Damage takes the contents that it hits, and never makes a wrong one. The report names the pack.
func TestDamagedPacks(t *testing.T) {
	root, seed := t.TempDir(), rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	files, err := tree.Open(root, false)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	for range 150 {
		o := Options{Root: root, Tree: files, Dir: t.TempDir(), NoSync: true}
		s := open(t, o)
		all := contents(50)
		s.blobs.packs.packed(t, all)
		names, size := packSizes(t, s)
		file, err := os.OpenFile(names[0], os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		at, what, lost := r.Int64N(size), "a bit", 2 // the last content may be empty
		switch r.IntN(4) {
		case 0:
			what, lost = "its end", len(all)
			err = file.Truncate(at)
		case 1:
			what, lost = "zeros behind", len(all)
			err = file.Truncate(size + 100)
		default:
			b := make([]byte, 1)
			file.ReadAt(b, at)
			_, err = file.WriteAt([]byte{b[0] ^ 1<<r.IntN(8)}, at)
		}
		if file.Close(); err != nil {
			t.Fatal(err)
		}
		if end := size - packFoot - packFan - int64(len(all))*packEntry; at >= end {
			lost = len(all)
		}
		fresh := open(t, o)
		missing := 0
		for name, want := range all {
			switch data, in := fresh.blobs.packs.find(name); {
			case in == nil:
				missing++
			case !bytes.Equal(data, want):
				t.Fatalf("%s at %d of %d: %s holds something else", what, at, size, name)
			}
		}
		report, err := Inspect(t.Context(), o)
		dropped := missing == 1 && lost == len(all) && len(report.Packs) == 0 // the bit said so
		if err != nil || missing > lost || missing > 0 && !dropped && len(report.Packs) != 1 {
			t.Errorf("%s at %d of %d: %d lost of at most %d, %v, %v", what, at, size, missing, lost, report.Packs, err)
		}
		fresh.blobs.packs.packed(t, all)
		fresh.blobs.packs.holds(t, all, all)
	}
}

// A look that fails, or whose process is killed, leaves no pack. A sweep drops only what nobody needs for an hour.
func TestUnfinishedPacks(t *testing.T) {
	s := open(t, Options{Root: t.TempDir(), Dir: t.TempDir(), NoSync: true})
	d := s.blobs.packs
	all, failed := contents(100), errors.New("failed")
	p := newPacker(d)
	for name, data := range all {
		p.add(name, data)
	}
	if err := p.finish(failed, false); err != failed {
		t.Error(err)
	}
	d.holds(t, all, nil)
	d.packed(t, all)
	hour := time.Now().Add(-draftAge - time.Minute)
	for name, then := range map[string]time.Time{"young": time.Now(), "old": hour} {
		name = s.Path() + "/packs/" + name + draftName
		os.WriteFile(name, nil, 0o600)
		os.Chtimes(name, then, then)
	}
	d.sweep(nil)
	d.holds(t, all, all)
	names, _ := packSizes(t, s)
	if len(names) != 2 || !strings.HasSuffix(names[0]+names[1], "young"+draftName) {
		t.Errorf("left: %q", names)
	}
	old := fmt.Sprintf("%s/packs/%x-old%s", s.Path(), hour.Unix(), packNamed)
	if err := os.Rename(names[0], old); err != nil {
		t.Fatal(err)
	}
	needed, want := map[string]bool{}, map[string][]byte{}
	for name, data := range all {
		if len(want) < 10 {
			needed[name], want[name] = true, data
		}
	}
	d.sweep(needed)
	d.holds(t, all, want)
}

// Processes pack, drop, tidy and read at the same time.
func TestPacksOfSeveral(t *testing.T) {
	o := Options{Root: t.TempDir(), Dir: t.TempDir(), NoSync: true}
	s := open(t, o)
	kept := contents(300)
	s.blobs.packs.packed(t, kept)
	var all sync.WaitGroup
	for range 3 {
		d := open(t, o).blobs.packs
		all.Go(func() {
			for range 20 {
				data := []byte(fmt.Sprint(rand.Uint64()))
				d.packed(t, map[string][]byte{SumOf(data): data})
				d.holds(t, kept, kept)
				d.drop(map[string]bool{SumOf(data): true})
				if err := d.tidy(false); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	s.blobs.packs.holds(t, kept, kept)
}
