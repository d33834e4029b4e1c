package workspace

import (
	"slices"
	"unicode/utf8"
)

// A journal is text, and a name need not be: one that is no UTF-8 is written as if
// each of its bytes were a character.

// asWritten returns the steps as they are to be written.
func asWritten(steps []step) []step {
	if !slices.ContainsFunc(steps, func(s step) bool { return !s.isText() }) {
		return steps
	}
	steps = slices.Clone(steps)
	for i := range steps {
		if s := &steps[i]; !s.isText() {
			s.Bytes = true
			s.each(func(text *string) {
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

// asRead undoes asWritten.
func asRead(steps []step) {
	for i := range steps {
		if s := &steps[i]; s.Bytes {
			s.Bytes = false
			s.each(func(text *string) {
				narrow := make([]byte, 0, len(*text))
				for _, r := range *text {
					narrow = append(narrow, byte(r))
				}
				*text = string(narrow)
			})
		}
	}
}

func (s *step) isText() bool {
	text := true
	s.each(func(t *string) { text = text && utf8.ValidString(*t) })
	return text
}

// each calls do with what comes from names.
func (s *step) each(do func(text *string)) {
	for _, text := range []*string{&s.Path, &s.From, &s.Before.Print, &s.After.Print} {
		do(text)
	}
}
