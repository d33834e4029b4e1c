package dialect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"textskill/parser"
	"textskill/parser/rawjson"
	"textskill/skill"
)

// plainMessage formats a file system error without the name of its system call.
func plainMessage(err error) string {
	var pe *fs.PathError
	var le *os.LinkError
	text := err.Error()
	switch {
	case errors.Is(err, syscall.EBUSY):
		return "the workspace itself stays; name something in it"
	case errors.As(err, &pe) && pe.Error() == text:
		return pe.Path + ": " + pe.Err.Error()
	case errors.As(err, &le) && le.Error() == text:
		return le.Old + " to " + le.New + ": " + le.Err.Error()
	}
	return text
}

// Nearest returns the tool that an unknown name may mean, or nil: a tool with a similar name, or one
// whose name begins with the unknown one, or is the beginning of it.
func Nearest(name string, list ...*Dialect) (best *Tool) {
	name = strings.ToLower(name[:min(len(name), 32)]) // no tool has a longer name
	least := min(4, (len(name)+1)/2)
	for _, d := range list {
		for i := range d.Tools {
			own := strings.ToLower(d.Tools[i].Name)
			n := skill.Distance(name, own)
			switch {
			case len(name) > 2 && strings.HasPrefix(own, name):
				n = 0
			case strings.HasPrefix(name, own):
				n = min(n, 2)
			case d.Tools[i].Effect == Destroys && (n > 2 || name == "" || name[0] != own[0]):
				continue // a harmless word must not lead there
			}
			if n < least {
				best, least = &d.Tools[i], n
			}
		}
	}
	return best
}

// unknown says that the dialect has no tool of the name, and what to try.
func (in *call) unknown() string {
	if best := Nearest(in.sent, in.dialect); best != nil {
		return fmt.Sprintf("there is no tool %s; is it %s?", in.sent, best.Name)
	}
	return fmt.Sprintf("there is no tool %s; \"%s tools --tools %s\" lists them", in.sent, in.x.Program(),
		in.dialect.Name)
}

// whole returns s as it is written to a file or used in its name, where half of a
// surrogate pair cannot be.
func whole(s string) string { return rawjson.ReplaceHalves(s) }

// wellFormed replaces what is not UTF-8 in s, as node and Python do.
func wellFormed(s string) string { return rawjson.WellFormed(s) }

// units is the length of s as JavaScript counts it, in UTF-16 units.
func units(s string) (n int) {
	for i := range len(s) {
		if s[i]&0xc0 != 0x80 {
			n++
		}
		if s[i] >= 0xf0 {
			n++
		}
	}
	return n
}

// isBlank reports whether nothing is left of s after JavaScript's trim.
func isBlank(s string) bool { return strings.TrimFunc(s, parser.IsSpace) == "" }

// counted returns a number of things.
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// each returns what of makes of each element of a list.
func each[T, U any](list []T, of func(T) U) []U {
	made := make([]U, len(list))
	for i, element := range list {
		made[i] = of(element)
	}
	return made
}

// nearest suggests the operation that a prompt may mean, by its first word.
func (in *call) nearest(prompt string) string {
	if use := in.dialect.Meaning(in.x, prompt); use != "" {
		return use
	}
	if best := Nearest(in.sent, in.dialect); best != nil {
		return "did you mean " + best.Name + "? " + best.Usage()
	}
	return "the operations are " +
		strings.Join(each(in.dialect.Tools, func(t Tool) string { return t.Name }), ", ")
}

// Usage returns the usage line of a text command, or "" for a nil Tool.
func (t *Tool) Usage() string {
	if t == nil {
		return ""
	}
	line := "usage: " + t.Name + " PATH"
	for _, p := range t.Params()[1:] {
		line += " " + p.Name + ": " + map[string]string{"content": "TEXT", "destination": "PATH"}[p.Name]
	}
	return line
}
