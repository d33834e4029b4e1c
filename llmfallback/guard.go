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
	if e.Destination != "" && path.Clean(e.Destination) == path.Clean(e.Path) {
		return fmt.Errorf("%w: path and destination are the same", ErrRefused)
	}
	if e.HasContent && !occurs(prompt, e.Content, letter) {
		return fmt.Errorf("%w: the content does not occur in the command; copy it from there as it stands", ErrNotInPrompt)
	}
	return nil
}

func fromPrompt(prompt, p string) error {
	switch {
	case strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%w: a path has a control character", ErrRefused)
	case strings.ContainsAny(p, "*?"):
		return fmt.Errorf("%w: a path is a pattern; one command names one file", ErrRefused)
	case p == "~" || strings.HasPrefix(p, "~/"):
		return fmt.Errorf("%w: ~ is the home folder, which is not in the workspace", ErrRefused)
	}
	inPrompt := func(part string) bool { return occurs(prompt, part, nameByte) }
	isRoot := func(w word) bool { return w.text == "/" }
	if p == "" || p == "." || inPrompt(p) {
		return nil
	}
	for i, part := range strings.Split(path.Clean(p), "/") {
		switch {
		case part == "" && i == 0: // absolute
			first, _, _ := strings.Cut(p[1:], "/")
			if !inPrompt("/"+first) && !slices.ContainsFunc(split(prompt).list, isRoot) {
				return fmt.Errorf("%w: path `/%s` does not occur in the command", ErrNotInPrompt, first)
			}
		case part == ".." && !strings.Contains(prompt, ".."):
			return fmt.Errorf("%w: a path leads out of the folder that the command names", ErrRefused)
		case !inPrompt(part):
			return fmt.Errorf("%w: path `%s` does not occur in the command", ErrNotInPrompt, part)
		}
	}
	return nil
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

// settle completes a destination that is a folder with the base name of path, as mv
// and cp do.
func settle(e *Extraction, stat func(string) (folder bool, err error)) {
	if e.Destination == "" || e.Path == "" || stat == nil {
		return
	}
	if folder, err := stat(e.Destination); err == nil && folder {
		if source, err := stat(e.Path); err != nil || !source {
			e.Destination = join(e.Destination, path.Base(path.Clean(e.Path)))
		}
	}
}

// confirm reports a [*ConfirmError] when e changes something and the prompt
// does not ask for just that: the same operation, of the same path, to the same
// destination, with the same text. What is overwritten must be said to be.
func confirm(prompt string, e Extraction, mode Destructive, stat func(string) (folder bool, err error)) error {
	if mode == Allow || e.harmless() {
		return nil
	}
	asked, why := Guard(prompt, e, stat)
	target := e.target()
	over := target != "" && e.Operation != "deleteFile" && taken(target, stat)
	switch {
	case e.Operation == "deleteFile" && mode == Refuse:
		why = "a request in plain words deletes nothing"
	case over && mode == Refuse:
		why = target + " exists, and a request in plain words overwrites nothing"
	case why != "":
	case over && !asked.Overwrites:
		why = target + " exists, and the request does not say to overwrite it"
	}
	if why == "" {
		return nil
	}
	return &ConfirmError{Operation: e.Operation, Command: e.Command(), Reason: why}
}

func (e Extraction) harmless() bool {
	return e.Operation == "readFile" || e.Operation == "listDirectory" || e.Operation == "fileExists"
}

// Guard reads the prompt and returns why it does not ask for e, "" when it
// does. Words that the reader does not know are skipped, because a model may know
// them, except in a request to delete. A negation, a condition, a question, a
// quotation or reported speech asks for nothing.
func Guard(prompt string, e Extraction, stat func(string) (folder bool, err error)) (asked Reading, why string) {
	asked = Read(prompt)
	if !asked.Answered && e.Operation != "deleteFile" {
		r := newReader(prompt)
		r.loose = true
		if loose := r.read(); loose.Answered {
			asked = loose
		}
	}
	said := asked.Extraction
	settle(&said, stat)
	switch {
	case !asked.Answered && asked.Why != "":
		return asked, "the request does not clearly ask for that: " + asked.Why
	case !asked.Answered:
		return asked, "the request does not ask for that"
	case !said.means(e):
		return asked, "the request asks for something else: " + said.short()
	}
	return asked, ""
}

// means reports whether e is what was said. A destination may be the folder or
// the file in it, and white space or a final dot of a text makes no difference.
func (said Extraction) means(e Extraction) bool {
	dest, at := path.Clean(e.Destination), path.Clean(said.Destination)
	name := "/" + path.Base(path.Clean(said.Path))
	return said.Operation == e.Operation && path.Clean(said.Path) == path.Clean(e.Path) && said.HasContent == e.HasContent &&
		(dest == at || dest+name == at || dest == at+name) && bareText(said.Content) == bareText(e.Content)
}

func bareText(s string) string { return strings.TrimSuffix(strings.TrimSpace(s), ".") }

// short is the command that does e, without a long text.
func (e Extraction) short() string {
	command := e.Command()
	if line, _, more := strings.Cut(command, "\n"); more || len(line) > 80 {
		return strings.ToValidUTF8(line[:min(len(line), 80)], "") + " …"
	}
	return command
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
