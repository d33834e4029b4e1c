package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"textskill/parser"
	rawjson "textskill/parser/json"
	"textskill/skill"
	"textskill/skill/dialect"
)

// A console is skill on a terminal without a command. A line is a prompt in the dialect
// that the question names, or begins with a colon and is for the console itself.
type console struct {
	*prompter
	left bool // the person has ended it
}

// converse asks for lines and answers them until the person ends it. Ctrl-C ends what a
// line has begun.
func (c *cli) converse(ctx context.Context, o *options) error {
	p, err := c.prompter(o)
	if err != nil {
		return err
	}
	defer p.x.Close()
	ctx, steps := c.interruptible(ctx)
	k := &console{prompter: p}
	edit := &lineEditor{complete: func(line string, at int) (string, []string, string) { return k.complete(ctx, line, at) }}
	fmt.Fprintf(c.stdout, "The workspace is %s. :help lists what can be typed.\n", p.x.Dir())
	for !k.left {
		text, err := edit.line(ctx, k.dialect().Name+"> ")
		switch {
		case ctx.Err() != nil || errors.Is(err, io.EOF):
			fmt.Fprintln(c.stdout)
			return nil
		case errors.Is(err, errAborted) || err == nil && text == "":
			continue
		case err != nil:
			return c.failed(err)
		}
		step, end := steps.begin(ctx)
		err = k.do(step, text)
		end()
		if errors.Is(err, errUnwritten) {
			return err
		}
		c.failed(err)
	}
	return nil
}

// dialect returns the dialect that the question names. As long as the person has named
// none, the shape of a line may say another, as it does in a pipe.
func (k *console) dialect() *dialect.Dialect {
	if d := dialect.Named(k.o.tools); d != nil {
		return d
	}
	return dialect.Achilles
}

// do carries out a line.
func (k *console) do(ctx context.Context, text string) error {
	if !strings.HasPrefix(text, ":") {
		return k.answer(ctx, text)
	}
	name, rest, _ := strings.Cut(text, " ")
	for _, command := range k.commands() {
		if command.name == name {
			return command.do(ctx, strings.TrimSpace(rest))
		}
	}
	return fmt.Errorf("%s is not a command of this prompt; :help lists them", name)
}

type consoleCommand struct {
	name, argument, doc string
	do                  func(ctx context.Context, argument string) error
}

func (k *console) commands() []consoleCommand {
	call := func(tool, argument string) func(context.Context, string) error {
		return func(ctx context.Context, value string) error {
			in := map[string]any{}
			if value != "" {
				in[argument] = value
			}
			return k.print(dialect.Undo.Do(ctx, k.x, k.s, parser.ToolCall{Name: tool, Arguments: rawjson.Encode(in)}))
		}
	}
	return []consoleCommand{
		{":tools", "[DIALECT]", "read lines in another dialect, or list the dialects", k.setTools},
		{":undo", "[ID]", "undo the last change, or one", call("undo", "id")},
		{":history", "[PATH]", "list the changes that can be undone, the newest first", call("history", "path")},
		{":diff", "ID", "show what a change did", call("diff", "id")},
		{":help", "", "list these commands and the tools of the dialect", k.help},
		{":quit", "", "end; Ctrl-D does, too", func(context.Context, string) error { k.left = true; return nil }},
	}
}

// readingLines returns the dialects that read lines.
func readingLines() []*dialect.Dialect {
	return slices.DeleteFunc(slices.Clone(dialect.All), func(d *dialect.Dialect) bool { return d.Prompt == nil })
}

func (k *console) setTools(_ context.Context, name string) error {
	d := dialect.Named(name)
	switch {
	case name == "":
		for _, d := range readingLines() {
			fmt.Fprintf(k.stdout, "  %-12s%s\n", d.Name, d.Doc)
		}
		return nil
	case d == nil || d.Prompt == nil:
		return fmt.Errorf("%s is not a dialect that reads lines; :tools lists them", name)
	}
	k.o.tools = name
	return nil
}

func (k *console) help(context.Context, string) error {
	wide := columns()
	list := func(name, doc string) { fmt.Fprintf(k.stdout, "  %-20s%s\n", name, folded(doc, 22, wide)) }
	for _, command := range k.commands() {
		list(strings.TrimSpace(command.name+" "+command.argument), command.doc)
	}
	fmt.Fprintf(k.stdout, "A line without a colon is a prompt of %s. Its tools:\n", k.dialect().Name)
	for _, t := range k.dialect().Tools {
		list(t.Name, t.Doc)
	}
	return nil
}

// folded breaks a text between words, so that with an indent it fits so many columns.
func folded(text string, indent, columns int) string {
	var b strings.Builder
	at := indent
	for i, word := range strings.Fields(text) {
		switch n := utf8.RuneCountInString(word); {
		case i > 0 && at+1+n > columns:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent + n
		case i > 0:
			b.WriteByte(' ')
			at += 1 + n
		default:
			at += n
		}
		b.WriteString(word)
	}
	return b.String()
}

// complete proposes words for the one before the cursor, which stands after so many
// characters of the line.
func (k *console) complete(ctx context.Context, line string, at int) (head string, words []string, tail string) {
	before := string([]rune(line)[:at])
	tail = line[len(before):]
	start := strings.LastIndexFunc(before, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`'"(,`, r) }) + 1
	head, word := before[:start], before[start:]
	var all []string
	command := strings.TrimSpace(head)
	switch {
	case command == ":tools":
		for _, d := range readingLines() {
			all = append(all, d.Name)
		}
	case command == ":undo" || command == ":diff":
		for _, e := range changesOf(ctx, k.x).List {
			all = append(all, e.ID)
		}
	case command != "":
		return head, k.paths(ctx, word), tail
	case strings.HasPrefix(word, ":"):
		for _, c := range k.commands() {
			all = append(all, c.name)
		}
	default:
		for _, t := range k.dialect().Tools {
			all = append(all, t.Name)
		}
	}
	words = slices.DeleteFunc(all, func(w string) bool { return !strings.HasPrefix(w, word) })
	if len(words) == 1 && command == "" && k.dialect() == dialect.Achilles && tail == "" { // its operations have a path
		words[0] += " "
	}
	return head, words, tail
}

// paths lists the files and folders whose path begins with word. Names with a blank,
// which only quotes hold together, are left out, and hidden ones unless word begins so.
func (k *console) paths(ctx context.Context, word string) (list []string) {
	dir, base := path.Split(word)
	r, err := k.x.Execute(ctx, k.s, skill.ListFolder{Path: cmp.Or(dir, "."), Limit: 1000})
	if err != nil {
		return nil
	}
	for _, e := range r.(skill.Listed).Entries {
		hidden := strings.HasPrefix(e.Name, ".") && !strings.HasPrefix(base, ".")
		if !strings.HasPrefix(e.Name, base) || hidden || strings.ContainsFunc(e.Name, unicode.IsSpace) {
			continue
		}
		name := dir + e.Name
		if e.Type.IsDir() {
			name += "/"
		}
		list = append(list, name)
	}
	return list
}

// changesOf returns the last changes, none if they cannot be read.
func changesOf(ctx context.Context, x *skill.Executor) skill.Changes {
	r, _ := x.Execute(ctx, &skill.Session{}, skill.History{Limit: 50})
	changes, _ := r.(skill.Changes)
	return changes
}
