package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"textskill/internal/usage"
	"textskill/skill"
	"textskill/skill/dialect"
)

const rootLong = `skill carries out what an AI agent asks of one folder, in a sandbox, and can undo it.

Usage:  skill [flags] OPERATION PATH [TEXT]
        skill [flags] < PROMPT        (an operation, JSON tool calls or plain words)

Operations:
  skill readFile a.txt
  skill writeFile notes/a.txt content: hi
  skill appendFile notes/a.txt content: more
  skill deleteFile a.txt
  skill listDirectory .
  skill createDirectory drafts
  skill copyFile a.txt destination: b.txt
  skill moveFile a.txt destination: b.txt
  skill fileExists a.txt

Other prompts:
  skill --tools stack "read(path: 'a.txt')"
  skill please create a folder called drafts

Rules read plain words, then a model if OPENAI_BASE_URL and SKILL_MODEL name one.
`

const rootEnd = `
"skill help COMMAND" describes a command, "skill help flags" lists the flags.
Exit code: 0 success, 1 failure, 2 wrong usage, 3 confirmation needed, 4 a partial undo.
`

const rootExample = `  skill writeFile notes/a.txt content: hi
  echo 'listDirectory .' | skill --json
  git diff | skill writeFile changes.patch content:
  skill please create a folder called drafts
  skill --dry-run deleteFile a.txt
  skill --lines < commands.txt
  skill --tools stack "grep(path: '.', pattern: 'TODO', context: 2)"`

// The groups of subcommands, in the order of README.md.
var groups = []*cobra.Group{{ID: "prompts", Title: "Prompts:"}, {ID: "runs", Title: "Runs:"},
	{ID: "undo", Title: "Undo:"}, {ID: "hosts", Title: "Other agents:"}, {ID: "workspace", Title: "Workspace:"}}

// packagedName is the program's name in packages: Debian's procps has another program
// skill, which ends processes, so no help or error may say to type that.
const packagedName = "textskill"

// nameOf returns what people type for the program that was started by a name or a path: the name
// if PATH finds this very file by it, else the path.
func nameOf(started string) string {
	name := strings.TrimSuffix(filepath.Base(started), ".exe")
	self, err := os.Executable()
	if err != nil {
		return name
	}
	switch {
	case sameFile(onPath(name, os.Getenv("PATH")), self):
		return name
	case started == packagedName: // a launcher, such as npm's, called it so
		return name
	case filepath.Base(started) == started: // its parent called it so
		return shellWord(self)
	}
	return shellWord(started)
}

// onPath returns the program that PATH finds by a name, "" for none.
func onPath(name, path string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		info, err := os.Stat(file)
		if err == nil && info.Mode().IsRegular() && (info.Mode()&0o111 != 0 || runtime.GOOS == "windows") {
			return file
		}
	}
	return ""
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// program returns what people type for the program.
func (c *console) program() string { return cmp.Or(c.name, "skill") }

// shortName returns the name of the program without its folder.
func (c *console) shortName() string {
	return strings.TrimSuffix(filepath.Base(strings.Trim(c.program(), `'"`)), ".exe")
}

// say writes an error or a notice on standard error.
func (c *console) say(words ...any) {
	fmt.Fprint(c.stderr, c.shortName(), ": ", usage.Bounded(fmt.Sprintln(words...)))
}

func (c *console) sayf(format string, args ...any) { c.say(fmt.Sprintf(format, args...)) }

// renamed returns a text of help with the name that the program was started by.
func (c *console) renamed(text string) string {
	if c.name == "" {
		return text
	}
	return strings.NewReplacer(`"skill `, `"`+c.name+" ", "  skill ", "  "+c.name+" ", "| skill", "| "+c.name,
		"; skill", "; "+c.name).Replace(text)
}

// rename applies renamed to all texts of a command.
func (c *console) rename(cmd *cobra.Command) *cobra.Command {
	if c.name == "" {
		return cmd
	}
	cmd.Short, cmd.Long, cmd.Example = c.renamed(cmd.Short), c.renamed(cmd.Long), c.renamed(cmd.Example)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = c.renamed(f.Usage) })
	return cmd
}

// helpCommand is skill help: of the program, of a command, of an operation, or of all flags.
func (c *console) helpCommand(subjects []subject) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND | flags]",
		Short:   "Show help for a command, or for all flags",
		Example: "  skill help mcp\n  skill help flags",

		DisableFlagsInUseLine: true,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (words []cobra.Completion,
			_ cobra.ShellCompDirective) {
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
				return c.printFlags(subjects)
			}
			if t := dialect.Achilles.Lookup(strings.Join(args, " ")); t != nil {
				_, err := fmt.Fprintf(c.stdout, "%s\n\n%s\n", t.Doc, t.Usage())
				return err
			}
			topic, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				word := strings.Join(args, " ")
				if use := c.useInstead(word); use != "" {
					return fmt.Errorf("%q is not a command; %s", word, use)
				}
				return unknownCommand(cmd.Root(), word)
			}
			topic.SetContext(cmd.Context())
			return topic.Help()
		},
	}
}

// otherwise says what to use for what other programs call a command and this one has not.
var otherwise = []struct{ words, use string }{
	{"publish unpublish tag status",
		"there is no registry: share the file perstack.toml, which holds the experts"},
	{"install", "experts need no installation: PROGRAM run EXPERT QUERY; to install packages: PROGRAM exec -- npm install"},
	{"update upgrade", "this program does not update itself: install a later one as you installed this one"},
	{"login logout auth", "there is no account: the model's key is OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY"},
	{"chat ask prompt agent",
		"to work with a model: PROGRAM start EXPERT; PROGRAM init writes an expert to begin with"},
	{"serve server", "to serve tools to an agent: PROGRAM mcp; to look at runs and changes: PROGRAM web"},
	{"find grep rg search", "to search what files hold: PROGRAM exec -- grep -rn TEXT ."},
	{"git npm npx node python python3 pip go make cargo bash sh curl",
		"to run a command of yours: PROGRAM exec -- COMMAND"},
	{"redo", "to redo, take back the undo: PROGRAM undo ID; PROGRAM history lists the IDs"},
	{"rewind rollback revert checkpoint checkpoints",
		"PROGRAM history lists changes, PROGRAM undo takes them back, PROGRAM restore brings back one file"},
	{"uninstall", "PROGRAM setup HOST --remove takes it out of a host's configuration"},
}

// useInstead returns what to use for a word of another program, "" for none.
func (c *console) useInstead(word string) string {
	for _, o := range otherwise {
		if slices.Contains(strings.Fields(o.words), strings.ToLower(word)) {
			return strings.ReplaceAll(o.use, "PROGRAM", c.program())
		}
	}
	return ""
}

// unknownCommand returns the error for a word that is not a command, with a similar one.
func unknownCommand(root *cobra.Command, word string) error {
	if near := similar(root, word); near != "" {
		return fmt.Errorf("%q is not a command; did you mean %s?", word, near)
	}
	return fmt.Errorf("%q is not a command", word)
}

// printHelp prints the short help of the program.
func (c *cli) printHelp(root *cobra.Command, set *configuration) {
	c.addCommands(root, set)
	w := root.OutOrStdout()
	fmt.Fprint(w, root.Long)
	for _, g := range groups {
		fmt.Fprintf(w, "\n%s\n", g.Title)
		for _, sub := range root.Commands() {
			if sub.GroupID == g.ID {
				fmt.Fprintf(w, "  %-11s %s\n", sub.Name(), sub.Short)
			}
		}
	}
	fmt.Fprint(w, c.renamed(rootEnd))
}

// printFlags lists the flags of a text command, by subject.
func (c *console) printFlags(subjects []subject) error {
	var errs []error
	for _, s := range subjects {
		s.flags.VisitAll(func(f *pflag.Flag) { f.Usage = c.renamed(f.Usage) })
		_, err := fmt.Fprintf(c.stdout, "%s:\n%s\n", s.title, s.flags.FlagUsages())
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// similar returns the subcommand whose name a word begins or resembles, "" if no
// subcommand does.
func similar(root *cobra.Command, word string) string {
	const shortest, longest = 3, 16 // letters
	if len(word) < shortest || len(word) > longest || strings.ContainsAny(word, " \t\r\n") {
		return ""
	}
	word = strings.ToLower(word)
	best, least := "", longest
	for _, sub := range root.Commands() {
		name := sub.Name()
		if strings.HasPrefix(name, word) {
			return name
		}
		if d := skill.Distance(word, name); d <= len(name)/3 && d < least {
			best, least = name, d
		}
	}
	return best
}
