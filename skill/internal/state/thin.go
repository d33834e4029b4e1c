package state

import (
	"fmt"
	"slices"
	"strings"
)

// thin drops the records that do not count as changes from the segments of list, but for as
// many of the last ones as changes are kept.
func (s *Store) thin(list []int64) {
	limit := s.o.Limits.Count
	notes := s.cur.last - s.cur.first + 1 - s.cur.counts
	for _, first := range slices.Backward(list) {
		sz := s.sizeOf(first)
		notes += sz.Notes
		if limit > 0 && notes-sz.Notes >= limit && sz.Notes > 0 && !s.underWay(first) {
			s.dropNotes(first, first == list[0])
		}
	}
}

// dropNotes writes the log of a sealed segment again without the records that do not count as
// changes, or drops the segment if it has no others and is not the oldest, see [Store.First].
// Nothing of a damaged one is dropped. The new log is flushed also where nothing else is: the
// changes in the old one may have been.
func (s *Store) dropNotes(first int64, oldest bool) {
	dir, sz := s.dir.Load(), s.sizeOf(first)
	g, err := openSegment(dir, first, true)
	if err != nil {
		return
	}
	defer g.close()
	var text []byte
	dropped, kept := map[int64]bool{}, false
	err = g.read(func(l line) {
		if l.kind == aRecord && noted(l.text) {
			dropped[l.id] = true
			return
		}
		kept = kept || l.kind == aRecord
		if l.kind != aMark || !dropped[l.id] {
			text = fmt.Appendf(text, "%08x %s\n", checksum(l.text), l.text)
		}
	})
	info, serr := g.log.Stat()
	if err != nil || serr != nil || g.seal == 0 || len(g.damaged) > 0 {
		return
	}
	if !kept && !oldest {
		s.drop(first)
		return
	}
	names, _ := namesIn(dir, g.path)
	for _, name := range names {
		if strings.ContainsRune(name, '.') { // of a process that was killed here
			dir.Remove(g.path + "/" + name)
		}
	}
	if writeFile(dir, g.path+"/log", text, info.ModTime(), true) != nil { // the time is for the limit of age
		return
	}
	sz.Notes = 0
	s.remember(first, sz)
	writeJSON(dir, g.path+"/"+sizesName, sz, false)
}
