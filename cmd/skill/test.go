package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/cobra"

	"textskill/skill"
)

const testLong = `test runs golden prompt files. A golden file is a txtar archive: a comment, the files
that a temporary directory starts with, then sections in any order:

  -- flags --    command-line flags for the prompts that follow
  -- llm --      what the language model answers to the next prompt
  -- prompt --   a prompt, run in the directory
  -- want --     what the prompt prints, errors and exit code included
  -- tree --     what the directory holds at the end

$WORK stands for the directory. If PATH is a directory, all .txtar files below it run.
No model and no network is used.`

func (c *cli) testCommand(*options) *cobra.Command {
	var update bool
	var run string
	cmd := &cobra.Command{
		Use:     "test [flags] PATH…",
		Short:   "Run golden prompt files",
		Long:    testLong,
		Example: "  skill test testdata\n  skill test -update -run delete testdata",
		Args:    arguments(1, math.MaxInt, "PATH: a golden file, or a directory of golden files"),
		RunE: func(cmd *cobra.Command, paths []string) error {
			re, err := regexp.Compile(run)
			if err != nil {
				return fmt.Errorf("--run: %w", err)
			}
			files, err := goldenFiles(paths)
			if err != nil {
				return err
			}
			return c.testFiles(cmd.Context(), files, re, update)
		},
	}
	cmd.Flags().BoolVar(&update, "update", false, "write what the prompts print into the files")
	cmd.Flags().StringVar(&run, "run", "", "run only the files whose path matches the regular expression `REGEXP`")
	return cmd
}

// goFlags lets -update and -run of skill test be written with one dash too, as
// those of go test are.
func goFlags(root *cobra.Command, args []string) []string {
	if !slices.Contains(args, "test") {
		return args
	}
	if cmd, _, err := root.Find(args); err != nil || cmd.Name() != "test" {
		return args
	}
	args = slices.Clone(args)
	for i, a := range args {
		if a == "-update" || a == "-run" || strings.HasPrefix(a, "-run=") {
			args[i] = "-" + a
		}
	}
	return args
}

// goldenFiles replaces the folders among paths by the .txtar files below them.
func goldenFiles(paths []string) (files []string, err error) {
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, p)
			continue
		}
		err = filepath.WalkDir(p, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && filepath.Ext(name) == ".txtar" {
				files = append(files, name)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (c *cli) testFiles(ctx context.Context, files []string, re *regexp.Regexp, update bool) error {
	passed, failed := 0, 0
	for _, name := range files {
		if !re.MatchString(name) {
			continue
		}
		diff, err := testFile(ctx, name, update)
		if err != nil {
			diff = err.Error() + "\n"
		}
		if diff == "" {
			passed++
			continue
		}
		failed++
		fmt.Fprintf(c.stdout, "FAIL %s\n%s", name, diff)
	}
	fmt.Fprintf(c.stdout, "%d passed, %d failed\n", passed, failed)
	if failed > 0 || passed == 0 {
		return exit(exitFailed)
	}
	return nil
}

// testFile runs one golden file and returns how what it printed differs from what
// it wants, or with update writes that into the file.
func testFile(ctx context.Context, name string, update bool) (diff string, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	got, err := runGolden(ctx, txtar.Parse(data))
	if err != nil {
		return "", err
	}
	after := txtar.Format(got)
	if bytes.Equal(data, after) {
		return "", nil
	}
	if update {
		return "", os.WriteFile(name, after, 0o666)
	}
	return skill.Unified(name, name+" (got)", data, after), nil
}

// runGolden plays an archive and returns it with what was printed.
func runGolden(ctx context.Context, a *txtar.Archive) (*txtar.Archive, error) {
	dir, err := os.MkdirTemp("", "skill-test-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	g := &golden{ctx: ctx, dir: dir, out: &txtar.Archive{Comment: a.Comment}}
	for i, f := range a.Files {
		if err := g.section(f, i+1 < len(a.Files) && a.Files[i+1].Name == "want"); err != nil {
			return nil, err
		}
	}
	return g.out, nil
}

// golden is one archive being played.
type golden struct {
	ctx     context.Context
	dir     string
	out     *txtar.Archive
	flags   []string
	llm     []string // the model's next answers
	printed string   // by the last prompt
}

func (g *golden) section(f txtar.File, wanted bool) error {
	text := string(f.Data)
	switch f.Name {
	case "flags":
		g.flags = strings.Fields(g.expand(text))
	case "llm":
		g.llm = append(g.llm, strings.TrimSuffix(g.expand(text), "\n"))
	case "prompt":
		g.printed = g.run(text)
		g.keep("prompt", text)
		if !wanted {
			g.keep("want", g.printed)
		}
		return nil
	case "want":
		text = g.printed
	case "tree":
		tree, err := drawFolder(g.dir)
		if err != nil {
			return err
		}
		text = tree
	default:
		path := filepath.Join(g.dir, filepath.FromSlash(f.Name))
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
			return fmt.Errorf("%s is not a name inside the folder", f.Name)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o666); err != nil {
			return err
		}
	}
	g.keep(f.Name, text)
	return nil
}

func (g *golden) keep(name, text string) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	g.out.Files = append(g.out.Files, txtar.File{Name: name, Data: []byte(text)})
}

func (g *golden) expand(text string) string { return strings.ReplaceAll(text, "$WORK", g.dir) }

// run plays one prompt and returns what it prints, with the exit code if it is not 0.
func (g *golden) run(prompt string) string {
	var out, errs bytes.Buffer
	c := &cli{
		stdin:  strings.NewReader(strings.TrimSuffix(g.expand(prompt), "\n")),
		stdout: &out, stderr: &errs,
		getenv: func(string) string { return "" },
	}
	if len(g.llm) > 0 {
		c.agent = &scriptedAgent{replies: g.llm}
		g.llm = nil
	}
	code := c.run(g.ctx, append([]string{"-C", g.dir}, g.flags...))
	text := out.String() + errs.String()
	if code != 0 {
		text += fmt.Sprintf("[exit %d]\n", code)
	}
	return strings.ReplaceAll(text, g.dir, "$WORK")
}

// drawFolder lists what is in a folder: a name and a quoted content per line.
func drawFolder(dir string) (string, error) {
	var lines []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		if skill.Hidden(d.Name()) {
			return filepath.SkipDir
		}
		line, err := filepath.Rel(dir, name)
		line = filepath.ToSlash(line)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			line += "/"
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			line += " -> " + target
		default:
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %q", data)
		}
		lines = append(lines, line+"\n")
		return nil
	})
	slices.Sort(lines)
	return strings.ReplaceAll(strings.Join(lines, ""), dir, "$WORK"), err
}
