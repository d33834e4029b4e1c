package llmfallback

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Destructive says what happens to a request in plain words that would delete or
// overwrite a file.
type Destructive string

// The zero Destructive is TwoKeys.
const (
	TwoKeys Destructive = "two-key" // done if the request itself says so too; else to be confirmed
	Refuse  Destructive = "refuse"  // always to be confirmed
	Allow   Destructive = "allow"   // done
)

// within returns an error unless every value of e comes from the prompt and is
// plausible. Where the model may have made a slip the error asks it again.
func within(prompt string, e Extraction) error {
	if err := fromPrompt(prompt, e.Path); err != nil {
		return err
	}
	dest := e.Destination
	if path.Dir(dest) == path.Dir(e.Path) {
		dest = path.Base(dest) // a new name in the same folder
	}
	if err := fromPrompt(prompt, dest); err != nil {
		return err
	}
	if e.Destination != "" && tidyPath(e.Destination) == tidyPath(e.Path) {
		return &answerError{kind: ErrRefused, why: "path and destination are the same"}
	}
	if e.HasContent && !occurs(prompt, e.Content, letter) {
		return &answerError{kind: ErrNotInPrompt, why: "the content does not occur in the command; copy it from there as it stands", again: true}
	}
	return nil
}

func fromPrompt(prompt, p string) error {
	switch {
	case strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return &answerError{kind: ErrRefused, why: "a path has a control character"}
	case strings.ContainsAny(p, "*?"):
		return &answerError{kind: ErrRefused, why: "a path is a pattern; one command names one file"}
	case p == "~" || strings.HasPrefix(p, "~/"):
		return &answerError{kind: ErrRefused, why: "~ is the home folder, which is not in the workspace"}
	}
	inPrompt := func(part string) bool { return occurs(prompt, part, nameByte) }
	if p == "" || p == "." || inPrompt(p) {
		return nil
	}
	for i, part := range strings.Split(path.Clean(p), "/") {
		switch {
		case part == "" && i == 0: // absolute
			first, _, _ := strings.Cut(p[1:], "/")
			if !inPrompt("/"+first) && !namesRoot(prompt) {
				return &answerError{kind: ErrNotInPrompt, why: fmt.Sprintf("path `/%s` does not occur in the command", first), again: true}
			}
		case part == ".." && !strings.Contains(prompt, ".."):
			return &answerError{kind: ErrRefused, why: "a path leads out of the folder that the command names"}
		case !inPrompt(part):
			return &answerError{kind: ErrNotInPrompt, why: fmt.Sprintf("path `%s` does not occur in the command", part), again: true}
		}
	}
	return nil
}

// namesRoot reports whether the prompt has "/" as a word.
func namesRoot(prompt string) bool {
	words, _ := split(prompt)
	return slices.ContainsFunc(words, func(w word) bool { return w.text == "/" })
}

// maxCompared bounds the bytes that are compared to find a value, because a text
// may repeat its beginning very often.
const maxCompared = 64 << 20

// occurs reports whether text has part, and not within a longer word: at each end
// of part, the bytes inside and outside must not both satisfy joins.
func occurs(text, part string, joins func(byte) bool) bool {
	if part == "" {
		return true
	}
	from := 0
	for budget := maxCompared; budget > 0; budget -= len(part) {
		n := strings.Index(text[from:], part)
		if n < 0 {
			return false
		}
		start, end := from+n, from+n+len(part)
		begins := start == 0 || !joins(text[start-1]) || !joins(part[0])
		after := strings.TrimLeft(text[end:], ".") // dots may end a sentence
		ends := after == "" || !joins(after[0]) || !joins(text[end]) || !joins(part[len(part)-1])
		if begins && ends {
			return true
		}
		from = start + 1
	}
	return false
}

func letter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c >= 0x80
}

func nameByte(c byte) bool { return letter(c) || c == '_' || c == '-' || c == '.' }

func tidyPath(p string) string { return path.Clean(p) }

// settle completes a destination that is a folder with the base name of path, as mv
// and cp do.
func settle(e *Extraction, stat func(string) (folder bool, err error)) {
	if e.Destination == "" || e.Path == "" || stat == nil {
		return
	}
	if folder, err := stat(e.Destination); err == nil && folder {
		if source, err := stat(e.Path); err != nil || !source {
			e.Destination = join(e.Destination, path.Base(tidyPath(e.Path)))
		}
	}
}

// confirm returns a [*ConfirmError] if e deletes or overwrites, unless two keys are
// turned: the operation that was read, and a request that says it plainly for that
// one path.
func confirm(prompt string, e Extraction, mode Destructive, stat func(string) (folder bool, err error)) error {
	reason := ""
	switch target := e.target(); {
	case mode == Allow || target == "":
		return nil
	case e.Operation == "deleteFile":
		reason = "a request in plain words deletes nothing"
		if mode != Refuse {
			reason = whyNotDelete(prompt, e.Path)
		}
	case taken(target, stat):
		reason = target + " exists, and a request in plain words overwrites nothing"
		if mode != Refuse {
			reason = whyNotOverwrite(prompt, target)
		}
	}
	if reason == "" {
		return nil
	}
	return &ConfirmError{Operation: e.Operation, Command: e.Command(), Reason: reason}
}

// target returns the path that e deletes or writes a file to, "" if it does neither.
func (e Extraction) target() string {
	switch e.Operation {
	case "deleteFile", "writeFile":
		return e.Path
	case "copyFile", "moveFile":
		return e.Destination
	}
	return ""
}

// taken reports whether p exists and is not a folder. Without stat it says yes.
func taken(p string, stat func(string) (folder bool, err error)) bool {
	if stat == nil {
		return true
	}
	folder, err := stat(p)
	return err == nil && !folder
}

// whyNotDelete returns why the request is not plain enough to delete target, "" if
// it is.
func whyNotDelete(prompt, target string) string {
	m := mask(prompt)
	words, whole := split(m.wire)
	asked, paths := false, []string{}
	for i, w := range words {
		switch {
		case deleting()[w.lower], w.lower == "rid" && i > 0 && words[i-1].lower == "get":
			asked = true
		case w.kind == quoted || w.kind == plain && (fileShaped(w.text) || slashed(w.text) || strings.ContainsAny(w.text, "*$")):
			paths = append(paths, tidyPath(w.text))
		case universal()[w.lower]:
			return "the request says " + w.text
		case conditional()[w.lower]:
			return "the request has a condition: " + w.text
		case denies(words, i):
			return "the request has a negation: " + w.text
		case (verbs()[w.lower] || verbs()[verbForm(w.lower)]) && !(i > 0 && articles()[words[i-1].lower]):
			return "the request asks for more than deleting: " + w.text
		}
	}
	switch {
	case !asked:
		return "the request does not say to delete " + target
	case len(m.texts) > 0 || !whole:
		return "the request says more than its first line shows"
	case len(paths) != 1 || paths[0] != tidyPath(target):
		return "the request does not name " + target + " and nothing else"
	}
	return ""
}

func whyNotOverwrite(prompt, target string) string {
	words, _ := split(mask(prompt).wire)
	said := false
	for i, w := range words {
		if w.kind != plain {
			continue
		}
		if denies(words, i) || conditional()[w.lower] && !followed(words, i, "it", "one", "needed", "necessary", "the") {
			said = false
			break
		}
		said = said || replacing()[w.lower]
	}
	if said {
		return ""
	}
	return target + " exists, and the request does not say to overwrite it"
}

// denies reports whether word i is a negation, except in "don't need it" and "no
// longer used", which say why a file can be deleted.
func denies(words []word, i int) bool {
	w := words[i].lower
	if w != "not" && w != "never" && w != "no" && w != "without" && w != "cannot" && !strings.HasSuffix(w, "n't") {
		return false
	}
	return !followed(words, i, "need", "needed", "want", "use", "used", "longer", "necessary", "required")
}

func followed(words []word, i int, next ...string) bool {
	return i+1 < len(words) && slices.Contains(next, words[i+1].lower)
}

var (
	deleting = wordSet(`delete deletes deleted deleting remove removes removed removing erase erases erased erasing
rm del unlink trash discard deletefile delete_file delete-file removefile remove_file`)
	replacing   = wordSet(`overwrite overwrites overwriting replace replaces replacing`)
	articles    = wordSet(`a an the this that my our`) // what follows is a noun
	universal   = wordSet(`all every each everything any both anything whole entire files folders directories recursively recursive`)
	conditional = wordSet(`if unless when whenever except until once otherwise provided assuming but instead ignore`)
)
