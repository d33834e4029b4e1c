package skill

import (
	"maps"
	"slices"
	"sync"

	"textskill/skill/internal/search"
)

// firstMatches collects matches in any order of files, and keeps the first ones by file
// and line: at most limit matches and room bytes. Between trims it holds up to twice that.
type firstMatches struct {
	limit   int
	room    int64
	maxLine int             // Grep.MaxLine
	excerpt *search.Pattern // with Grep.Excerpt

	mu    sync.Mutex
	files map[string][]Match
	count int
	bytes int64
	bound string // matches in this file and later ones are dropped; "" means none are
}

// add adds matching lines of a file, in their order. A file may take several calls.
func (f *firstMatches) add(file string, lines []search.Line) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bound != "" && file >= f.bound {
		return
	}
	kept := f.files[file]
	for _, line := range lines[:min(len(lines), f.limit-len(kept))] {
		m := Match{File: file, Line: line.Number, Offset: line.Offset, Size: len(line.Text)}
		if f.excerpt != nil {
			m.At = f.excerpt.Skip(line.Text, f.maxLine)
		}
		m.Text = string(search.Shorten(line.Text[m.At:], f.maxLine))
		kept = append(kept, m)
		f.count++
		f.bytes += m.bytes()
	}
	if f.files == nil {
		f.files = map[string][]Match{}
	}
	f.files[file] = kept
	if f.count >= 2*f.limit || f.bytes >= 2*f.room {
		f.trim()
	}
}

// trim drops the matches beyond the limits. It returns the files that are left, sorted.
func (f *firstMatches) trim() []string {
	names := slices.Sorted(maps.Keys(f.files))
	f.count, f.bytes = 0, 0
	for i, name := range names {
		kept := f.files[name]
		for j := range kept {
			size := kept[j].bytes()
			if f.count == f.limit || f.bytes+size > f.room {
				f.files[name], f.bound = kept[:j], name
				for _, later := range names[i+1:] {
					delete(f.files, later)
				}
				return names[:i+1]
			}
			f.count++
			f.bytes += size
		}
	}
	return names
}

// sorted returns the first matches by file and line.
func (f *firstMatches) sorted() []Match {
	names := f.trim()
	matches := make([]Match, 0, f.count)
	for _, name := range names {
		matches = append(matches, f.files[name]...)
	}
	return matches
}
