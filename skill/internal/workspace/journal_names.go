package workspace

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A journal is text, but a file name need not be: one that is not UTF-8 is written as if
// each of its bytes were a character.

// escapeNames returns the steps as they are written.
func escapeNames(steps []pathChange) []pathChange {
	if !slices.ContainsFunc(steps, func(s pathChange) bool { return !s.isText() }) {
		return steps
	}
	steps = slices.Clone(steps)
	for i := range steps {
		if s := &steps[i]; !s.isText() {
			s.Bytes = true
			s.eachName(func(text *string) {
				wide := make([]rune, len(*text))
				for i := range len(*text) {
					wide[i] = rune((*text)[i])
				}
				*text = string(wide)
			})
		}
	}
	return steps
}

// unescapeNames is the inverse of escapeNames.
func unescapeNames(steps []pathChange) {
	for i := range steps {
		if s := &steps[i]; s.Bytes {
			s.Bytes = false
			s.eachName(func(text *string) {
				narrow := make([]byte, 0, len(*text))
				for _, r := range *text {
					narrow = append(narrow, byte(r))
				}
				*text = string(narrow)
			})
		}
	}
}

func (s *pathChange) isText() bool {
	text := true
	s.eachName(func(t *string) { text = text && utf8.ValidString(*t) })
	return text
}

// eachName calls do with each text of the step that may hold a file name.
func (s *pathChange) eachName(do func(text *string)) {
	for _, text := range []*string{&s.Path, &s.From, &s.Before.Digest, &s.After.Digest} {
		do(text)
	}
}

// journal returns the journal of changes below a root, nil if they are not recorded.
func (w *Workspace) journal(r *root) *journal {
	if r == nil {
		return nil
	}
	for _, j := range w.journals {
		if j.root == r {
			return j
		}
	}
	for _, j := range w.journals {
		if _, ok := below(j.root.dir, r.dir); ok {
			return j
		}
	}
	return nil
}

// changeID returns the ID of a change: its number, and for an allowed folder also that.
func (w *Workspace) changeID(j *journal, id int64) string {
	if len(w.journals) > 0 && j == w.journals[0] {
		return strconv.FormatInt(id, 10)
	}
	return strconv.FormatInt(id, 10) + "@" + j.root.dir
}

// byID is the inverse of changeID; ok is false for what is not an ID of this workspace.
func (w *Workspace) byID(text string) (j *journal, id int64, ok bool) {
	number, dir, other := strings.Cut(text, "@")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id <= 0 {
		return nil, 0, false
	}
	i := slices.IndexFunc(w.journals, func(j *journal) bool { return !other || j.root.dir == filepath.Clean(dir) })
	if i < 0 {
		return nil, 0, false
	}
	return w.journals[i], id, true
}

// name returns the path of p as it is written in the journal.
func (j *journal) name(p location) string {
	if rel, ok := below(j.root.dir, p.path()); ok {
		return rel
	}
	return p.path()
}

// path is the inverse of name: it returns an absolute path.
func (j *journal) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(j.root.dir, filepath.FromSlash(name))
}
