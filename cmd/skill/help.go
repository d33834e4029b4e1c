package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"textskill/cmd/internal/usage"
	"textskill/skill/dialect"
)

const rootLong = `skill carries out what an agent asks of a workspace directory, and nowhere else.

A command is words on the command line, or a prompt on standard input. On the command
line the second word is the path, whatever it holds, and what is left over is an error;
"--" makes text of the words after it, and "content:" at the end reads a pipe. A prompt
whose first word is one of the nine operations is a text command; one that is JSON is a
message with tool calls of OpenAI, Anthropic, Gemini or Ollama, and is answered as that
provider's next request holds it; anything else goes to the fallback.
With --tools stack a prompt is a model's text with calls like read(path: 'a.txt').

The exit code is 0 for success, 1 for a failure or where something named is not there,
2 for a command line that is wrong wherever it is typed, 3 for a change to be confirmed.`

const rootExample = `  skill writeFile notes/a.txt content: hi
  echo 'listDirectory .' | skill --json
  skill copyFile 'my notes.txt' destination: b.txt
  git diff | skill writeFile changes.patch content:
  skill please create a folder called drafts
  echo '{"tool_calls":[{"id":"1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.txt\"}"}}]}' | skill
  skill --dry-run deleteFile a.txt
  skill --lines < commands.txt
  skill --tools stack "grep(path: '.', pattern: 'TODO', context: 2)"`

// rootFlags are the flags that the help of the program shows.
var rootFlags = []string{"workspace", "allow", "read-only", "dry-run", "no-journal", "fence", "network", "fallback",
	"tools", "wire", "lines", "json", "verbose", "version"}

// packagedName is what packages call the program, because Debian's procps has another skill,
// which ends processes by their names: no help or error may say to type that.
const packagedName = "textskill"

// nameOf returns packagedName if the program was started as that, else "".
func nameOf(started string) string {
	if strings.TrimSuffix(filepath.Base(started), ".exe") == packagedName {
		return packagedName
	}
	return ""
}

// program returns what people type for the program.
func (c *cli) program() string { return cmp.Or(c.name, "skill") }

// say writes a line of what is wrong, or what goes on.
func (c *cli) say(words ...any) {
	fmt.Fprint(c.stderr, c.program(), ": ", usage.Bounded(fmt.Sprintln(words...)))
}

func (c *cli) sayf(format string, args ...any) { c.say(fmt.Sprintf(format, args...)) }

// toType returns a writer of the texts of help, which are all ours, in which what is to be typed
// begins with the name that the program was started by.
func (c *cli) toType(w io.Writer) io.Writer {
	if c.name == "" {
		return w
	}
	return renaming{w, c.name, sync.OnceValue(c.typedName)}
}

// typedName returns the pattern of the name in texts, with what comes before and
// after it.
func (c *cli) typedName() *regexp.Regexp {
	words := []string{`\\?-`, `\[`, `<`, `COMMAND`, `help\b`, `completion\b`, `please\b`, `with\b`, `again\b`}
	for _, sub := range c.subcommands() {
		words = append(words, sub.name+`\b`)
	}
	for _, t := range dialect.Achilles.Tools {
		words = append(words, t.Name+`\b`)
	}
	return regexp.MustCompile(`(?m)(^|[\s"'(])skill( (?:` + strings.Join(words, "|") + `)|$)|^skill(:)`)
}

type renaming struct {
	io.Writer
	name  string
	typed func() *regexp.Regexp // compiled when the first text is written
}

func (r renaming) Write(text []byte) (int, error) {
	if _, err := r.Writer.Write(r.typed().ReplaceAll(text, []byte("${1}"+r.name+"${2}${3}"))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// helpCommand is skill help: of the program, of a command, or of all shared flags.
func (c *cli) helpCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND | flags]",
		Short:   "Show help for a command, or for all flags",
		Example: "  skill help mcp\n  skill help flags",

		DisableFlagsInUseLine: true,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
			if len(args) == 0 {
				words = append(words, "flags")
				for _, sub := range cmd.Root().Commands() {
					if sub.IsAvailableCommand() {
						words = append(words, cobra.CompletionWithDesc(sub.Name(), sub.Short))
					}
				}
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Equal(args, []string{"flags"}) {
				w := c.toType(c.stdout)
				fmt.Fprint(w, "A command obeys the flags that its help lists, and refuses the others. Flags stand\nbefore the first word of a command or prompt, and before or after a command like mcp.\n")
				o.printFlags(w, func(*pflag.Flag) bool { return true })
				return nil
			}
			if t := dialect.Achilles.Lookup(strings.Join(args, " ")); t != nil {
				_, err := fmt.Fprintf(c.stdout, "%s\n\n%s\n", t.Doc, t.Usage())
				return err
			}
			topic, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(cmd.Root(), strings.Join(args, " "))
			}
			topic.SetContext(cmd.Context())
			return topic.Help()
		},
	}
}

// unknownCommand suggests what a word could mean that is not a command.
func unknownCommand(root *cobra.Command, word string) error {
	if near := similar(root, word); near != "" {
		return fmt.Errorf("%q is not a command; did you mean %s?", word, near)
	}
	return fmt.Errorf("%q is not a command", word)
}

// printHelp says what cmd does, and how it is used. It uses none of cobra's templates:
// text/template calls methods by name, with which the linker keeps every exported
// method (27.2 MB, not 23.8 MB, and a start of a text command takes 7 % more).
func (c *cli) printHelp(cmd *cobra.Command, o *options) {
	w := c.toType(cmd.OutOrStdout())
	fmt.Fprintln(w, strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short+".")))
	fmt.Fprintf(w, "\nUsage:\n  %s\n", cmd.UseLine())
	if !cmd.HasParent() {
		c.addCommands(cmd, o)
		fmt.Fprint(w, "  skill [flags] < PROMPT\n")
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	printCommands(w, cmd)
	if !cmd.HasParent() {
		dozen := pflag.NewFlagSet("", pflag.ContinueOnError)
		dozen.SortFlags = false
		for _, name := range rootFlags {
			dozen.AddFlag(cmd.Flags().Lookup(name))
		}
		fmt.Fprintf(w, "\nFlags:\n%s", dozen.FlagUsages())
		fmt.Fprint(w, "\n\"skill help flags\" lists all flags, \"skill help COMMAND\" describes a command.\n")
		return
	}
	if own := o.ownFlags(cmd); own.HasFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s", own.FlagUsages())
	}
	o.printFlags(w, func(f *pflag.Flag) bool { return cmd.Flags().Lookup(f.Name) == f })
}

func printCommands(out io.Writer, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	fmt.Fprint(out, "\nCommands:\n")
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(w, "  %s\t%s\n", sub.Name(), sub.Short)
		}
	}
	w.Flush()
}

// printFlags lists the shared flags that wanted accepts, by subject.
func (o *options) printFlags(w io.Writer, wanted func(*pflag.Flag) bool) {
	for _, g := range o.groups {
		some := pflag.NewFlagSet(g.name, pflag.ContinueOnError)
		some.SortFlags = false
		g.flags.VisitAll(func(f *pflag.Flag) {
			if wanted(f) {
				some.AddFlag(f)
			}
		})
		if some.HasFlags() {
			fmt.Fprintf(w, "\n%s:\n%s", g.title, some.FlagUsages())
		}
	}
}

// ownFlags returns the flags of cmd that it does not share.
func (o *options) ownFlags(cmd *cobra.Command) *pflag.FlagSet {
	own := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	own.SortFlags = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		shared := slices.ContainsFunc(o.groups, func(g flagGroup) bool { return g.flags.Lookup(f.Name) == f })
		if !shared && f.Name != "help" {
			own.AddFlag(f)
		}
	})
	return own
}
