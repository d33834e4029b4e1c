package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"textskill/parser"
	"textskill/skill"
	"textskill/skill/dialect"
)

// An argvCommand is a text command in the arguments of the program. The second argument is
// the path, whatever it holds; the others are its payload.
type argvCommand struct {
	args  map[string]string // of the operation
	input bool              // standard input is the content
}

// argvCommandOf returns the text command that words spell. It returns nil if they are a prompt: if there is one
// word, if the first word is not an operation, or if tools, the dialect of --tools, is not Achilles or "".
func argvCommandOf(cmd *cobra.Command, tools string, words []string) (*argvCommand, error) {
	if len(words) < 2 || tools != "" && tools != dialect.Achilles.Name ||
		dialect.Achilles.Lookup(words[0]) == nil {
		return nil, nil
	}
	rest, checked, literal := words[2:], words[1:], false
	switch dash := slices.Index(words, "--"); {
	case dash == 1:
		return nil, errors.New("-- comes after the path; a file of that name is ./--")
	case dash == 2:
		rest, checked, literal = words[3:], words[1:2], true
	case dash == 3 && (begins("content", rest[0]) || begins("destination", rest[0])):
		rest, checked = slices.Concat(rest[:1], words[4:]), words[1:2]
	}
	for _, w := range checked {
		if cmd.ArgsLenAtDash() < 0 && isFlag(cmd, w) {
			return nil, fmt.Errorf("flags go before the operation: %s %s %s …; "+
				"type -- before words that are text", cmd.DisplayName(), w, words[0])
		}
	}
	a := &argvCommand{args: map[string]string{"path": words[1]}}
	return a, a.read(dialect.Achilles.Lookup(words[0]), rest, literal)
}

// read reads the words after the path.
func (a *argvCommand) read(t *dialect.Tool, rest []string, literal bool) error {
	c := parser.Command{Payload: strings.Join(rest, " ")}
	has := func(name string) bool {
		return slices.ContainsFunc(t.Params(), func(p dialect.Param) bool { return p.Name == name })
	}
	switch {
	case has("content"):
		return a.content(c, rest, literal)
	case len(rest) == 0:
		return nil
	case has("destination") && len(rest) == 2 && strings.EqualFold(rest[0], "destination:"):
		a.args["destination"] = rest[1]
		return nil
	case has("destination"):
		to, ok := c.Destination()
		if ok && to != "" {
			a.args["destination"] = to
		}
		if ok {
			return nil
		}
	}
	return fmt.Errorf("unexpected %q after the path; want %s (quote a path that has spaces)", c.Payload,
		strings.TrimPrefix(t.Usage(), "usage: "))
}

// laterContent matches content: within a text that does not begin with it.
var laterContent = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\scontent\s*:`) })

// content reads the text of a write, with or without content: before it.
func (a *argvCommand) content(c parser.Command, rest []string, literal bool) error {
	text, explicit := c.Content()
	switch {
	case literal || !explicit && !laterContent().MatchString(c.Payload):
		text = c.Payload
	case !explicit:
		return fmt.Errorf("%q is between the path and content:; quote a path that has spaces", rest[0])
	case strings.EqualFold(rest[0], "content:") && len(rest) > 1: // the text keeps its spaces
		a.args["content"] = strings.Join(rest[1:], " ")
		return nil
	default:
		a.input = text == ""
	}
	if text != "" {
		a.args["content"] = text
	}
	return nil
}

// begins reports whether a word begins with a keyword and a colon.
func begins(keyword, word string) bool {
	return len(word) > len(keyword) && strings.EqualFold(word[:len(keyword)+1], keyword+":")
}

// isFlag reports whether a word is a flag of the program, with or without its value.
func isFlag(cmd *cobra.Command, word string) bool {
	name, _, _ := strings.Cut(word, "=")
	if long, ok := strings.CutPrefix(name, "--"); ok {
		return cmd.Flags().Lookup(long) != nil
	}
	return len(word) == 2 && word[0] == '-' && cmd.Flags().ShorthandLookup(word[1:]) != nil
}

// carryOut carries out a text command of the command line.
func (p *prompter) carryOut(ctx context.Context, operation string, a *argvCommand) error {
	if a.input && isSent(p.stdin) {
		text, err := p.readInput(ctx, "the content of "+a.args["path"])
		if err != nil {
			return p.failed(err)
		}
		if text != "" {
			a.args["content"] = text
		}
	}
	notes := dialect.Slips(a.args, "")
	if p.o.strict && len(notes) > 0 {
		return p.print(dialect.Refused(operation, notes))
	}
	r := dialect.Achilles.Command(ctx, p.x, p.s, operation, a.args)
	r.Notes = notes
	return p.print(r)
}

// shellLine returns a line for a POSIX shell that runs a program.
func shellLine(program string, args []string) string {
	line := program
	for _, arg := range args {
		line += " " + shellWord(arg)
	}
	return line
}

// shellWord quotes a word for a POSIX shell where that is needed.
func shellWord(word string) string { return skill.ShellWord(word) }

// joined returns words as one prompt, with quotes around words that have spaces: to delete
// "my file.txt" is not to delete file.txt. tools is the dialect that is named, or "".
func joined(words []string, tools string) string {
	spaces := func(w string) bool { return strings.ContainsAny(w, " \t\r\n") }
	quoted := slices.Clone(words)
	for i, w := range words {
		switch {
		case tools != "" && tools != dialect.Achilles.Name, len(words) < 2, spaces(words[0]), !spaces(w):
		case !strings.Contains(w, `"`):
			quoted[i] = `"` + w + `"`
		case !strings.Contains(w, "'"):
			quoted[i] = "'" + w + "'"
		}
	}
	return strings.Join(quoted, " ")
}
