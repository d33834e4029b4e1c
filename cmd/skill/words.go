package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"textskill/parser"
	"textskill/skill"
	"textskill/skill/dialect"
)

// A commandLine is a text command on the command line, where a word is a word: the
// second one is the path, whatever it holds, and no word is split or dropped.
type commandLine struct {
	program string         // what to type for this program
	words   []string       // from the operation on
	given   []string       // the arguments before them
	flags   *pflag.FlagSet // allowed among given, and not among the words
	tool    *dialect.Tool
	plain   bool // a -- before the operation made text of what looks like a flag

	args  map[string]string // of the operation
	input bool              // the content is what standard input holds
}

// commandLine returns the text command that words are, nil if they are a prompt: the
// first one is not an operation alone, or there is no second one. An error names the
// word that is too much, and the line that was probably meant.
func (o *options) commandLine(cmd *cobra.Command, words []string) (*commandLine, error) {
	if len(words) < 2 || o.tools != "" && o.tools != dialect.Achilles.Name {
		return nil, nil
	}
	t := dialect.Achilles.Lookup(words[0])
	if t == nil {
		return nil, nil
	}
	l := &commandLine{
		program: o.program, words: words, given: o.args[:len(o.args)-len(words)], flags: cmd.Flags(), tool: t, plain: cmd.ArgsLenAtDash() >= 0,
		args: map[string]string{"path": words[1]},
	}
	return l, l.read()
}

// joined returns words as a prompt. Where the first one is a plain word, those that hold
// blanks are put in quotes: to delete "my file.txt" is not to delete file.txt. An
// operation that is misspelt is an error then, for its text would keep the quotes.
func (o *options) joined(words []string) (string, error) {
	blank := func(w string) bool { return strings.ContainsAny(w, " \t\r\n") }
	if o.tools != "" && o.tools != dialect.Achilles.Name || len(words) < 2 || blank(words[0]) || !slices.ContainsFunc(words, blank) {
		return strings.Join(words, " "), nil
	}
	for _, t := range dialect.Achilles.Tools {
		folded := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(words[0]))
		if words[0] != t.Name && len(folded) < 20 && skill.Distance(folded, strings.ToLower(t.Name)) <= 2 {
			right := slices.Concat(o.args[:len(o.args)-len(words)], []string{t.Name}, words[1:])
			return "", fmt.Errorf("%q is not an operation; did you mean %s? type: %s", words[0], t.Name, shellLine(o.program, right))
		}
	}
	quoted := slices.Clone(words)
	for i, w := range words {
		switch {
		case !blank(w):
		case !strings.Contains(w, `"`):
			quoted[i] = `"` + w + `"`
		case !strings.Contains(w, "'"):
			quoted[i] = "'" + w + "'"
		}
	}
	return strings.Join(quoted, " "), nil
}

// read reads the words after the path.
func (l *commandLine) read() error {
	rest, flagless, verbatim := l.words[2:], l.words[1:], false
	switch dash := slices.Index(l.words, "--"); {
	case dash == 1:
		return errors.New("-- stands after the path; a file of that name is ./--")
	case dash == 2:
		rest, flagless, verbatim = l.words[3:], l.words[1:2], true
	case dash == 3 && (begins("content", rest[0]) || begins("destination", rest[0])):
		rest, flagless = slices.Concat(rest[:1], l.words[4:]), l.words[1:2]
	}
	if len(rest) > 1 && strings.EqualFold(rest[0], "options:") && (begins("content", rest[1]) || begins("destination", rest[1])) {
		rest = rest[1:]
	}
	has := func(name string) bool {
		return slices.ContainsFunc(l.tool.Params, func(p dialect.Param) bool { return p.Name == name })
	}
	switch {
	case !l.plain && slices.ContainsFunc(flagless, func(w string) bool { return l.flag(w) != nil }):
		return l.strayFlags()
	case has("content"):
		return l.content(rest, verbatim)
	case has("destination"):
		return l.destination(rest)
	case len(rest) > 0:
		return fmt.Errorf("unexpected word %q after the path; if it belongs to the path, type: %s", rest[0], l.line(strings.Join(l.words[1:], " ")))
	}
	return nil
}

// laterContent matches content: within a text that does not begin with it.
var laterContent = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\scontent\s*:`) })

// content reads the words after the path of a write: a text, with or without content:
// before it. What follows a path that was not quoted would be taken for the text.
func (l *commandLine) content(rest []string, verbatim bool) error {
	joined := strings.Join(rest, " ")
	text, explicit := parser.Command{Payload: joined}.Content()
	switch {
	case verbatim || !explicit && !laterContent().MatchString(joined):
		if joined != "" {
			l.args["content"] = joined
		}
		return nil
	case !explicit:
		path, text := l.words[1], rest
		if i := slices.IndexFunc(rest, func(w string) bool { return begins("content", w) }); i >= 0 {
			path, text = strings.Join(l.words[1:2+i], " "), rest[i:]
		} else {
			text = append([]string{"content:"}, rest...)
		}
		return fmt.Errorf("%q stands between the path and content:; type: %s", rest[0], l.line(append([]string{path}, text...)...))
	case strings.EqualFold(rest[0], "content:") && len(rest) > 1:
		text = strings.Join(rest[1:], " ")
	case text == "":
		l.input = true
		return nil
	}
	l.args["content"] = text
	return nil
}

// destination reads the words after the path of a copy or a move.
func (l *commandLine) destination(rest []string) error {
	to, explicit := parser.Command{Payload: strings.Join(rest, " ")}.Destination()
	switch {
	case len(rest) == 2 && strings.EqualFold(rest[0], "destination:"):
		to = rest[1]
	case len(rest) > 1 || len(rest) == 1 && !explicit:
		i := slices.IndexFunc(rest, func(w string) bool { return begins("destination", w) })
		if i < 0 {
			i = len(rest) - 1
			to = rest[i]
		} else {
			to, _ = parser.Command{Payload: strings.Join(rest[i:], " ")}.Destination()
		}
		path := l.words[1 : 2+i]
		if last := path[i]; i > 0 && (strings.HasSuffix(last, ":") || slices.Contains([]string{"to", "into", "as"}, strings.ToLower(last))) {
			path = path[:i] // the last word was typed instead of destination:
		}
		if slices.Contains([]string{"to", "into", "as"}, strings.ToLower(to)) {
			return errors.New("missing a destination; type: " + l.line(strings.Join(path, " "), "destination:", "PATH"))
		}
		return fmt.Errorf("want destination: and one word after the path, found %q; type: %s", strings.Join(rest, " "),
			l.line(strings.Join(path, " "), "destination:", to))
	}
	if to != "" {
		l.args["destination"] = to
	}
	return nil
}

// begins reports whether a word begins with a keyword and a colon.
func begins(keyword, word string) bool {
	return len(word) > len(keyword) && strings.EqualFold(word[:len(keyword)+1], keyword+":")
}

// flag returns the flag that a word is, with its value or without; nil if it is none.
func (l *commandLine) flag(word string) *pflag.Flag {
	name, long := strings.CutPrefix(word, "--")
	name, _, _ = strings.Cut(name, "=")
	switch {
	case long:
		return l.flags.Lookup(name)
	case len(word) == 2 && word[0] == '-':
		return l.flags.ShorthandLookup(word[1:])
	}
	return nil
}

// strayFlags returns the error of flags after the operation.
func (l *commandLine) strayFlags() error {
	moved, kept, first := slices.Clone(l.given), []string{l.words[0]}, ""
	for i := 1; i < len(l.words); i++ {
		word := l.words[i]
		f := l.flag(word)
		if f == nil {
			kept = append(kept, word)
			continue
		}
		if first == "" {
			first, _, _ = strings.Cut(word, "=")
		}
		moved = append(moved, word)
		if f.NoOptDefVal == "" && !strings.Contains(word, "=") && i+1 < len(l.words) {
			i++
			moved = append(moved, l.words[i])
		}
	}
	return fmt.Errorf("the flag %s stands after the command; type: %s (or -- before words that are text)",
		first, shellLine(l.program, slices.Concat(moved, kept)))
}

// line returns the command line with other words after the operation.
func (l *commandLine) line(words ...string) string {
	return shellLine(l.program, slices.Concat(l.given, l.words[:1], words))
}

// bare matches a word that a shell takes as it is.
var bare = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w@%+=:,./-]+$`) })

// shellLine returns a line for a POSIX shell that runs a program.
func shellLine(program string, args []string) string {
	line := program
	for _, arg := range args {
		line += " " + shellWord(arg)
	}
	return line
}

// again returns a command line for the same workspace and history.
func (o *options) again(command string, words ...string) string {
	args := []string{command}
	if o.workspace != "" {
		args = append(args, "-C", o.workspace)
	}
	if o.state != "" {
		args = append(args, "--state", o.state)
	}
	return shellLine(o.program, append(args, words...))
}

// shellWord quotes a word for a POSIX shell where that is needed.
func shellWord(word string) string {
	if bare().MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// carryOut carries out a text command of the command line.
func (p *prompter) carryOut(ctx context.Context, l *commandLine) error {
	if l.input && isSent(p.stdin) {
		text, err := p.readInput(ctx, "the content of "+l.args["path"])
		if err != nil {
			return p.failed(err)
		}
		if text != "" {
			l.args["content"] = text
		}
	}
	return p.print(dialect.Achilles.Command(ctx, p.x, p.s, l.words[0], l.args))
}

// isSent reports whether r is what another program or the shell passes on: a pipe, a
// socket or a regular file.
func isSent(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return true
	}
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0)
}
