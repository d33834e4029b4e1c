package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/tools/txtar"

	"textskill/skill/agent"
)

// A golden file holds at most this many files and bytes of a workspace.
const (
	recordedFiles = 200
	recordedBytes = 1 << 20
)

// A recording is a golden file that is made from what is played now.
type recording struct {
	name    string
	dir     string // the workspace
	given   *pflag.FlagSet
	archive txtar.Archive

	mu    sync.Mutex
	heard bytes.Buffer // lines of an MCP client
}

// newRecording begins a golden file with the files of a workspace and the flags of a command line
// that the file may set.
func (c *cli) newRecording(name, dir string, given *pflag.FlagSet) (*recording, error) {
	if _, err := os.Lstat(name); err == nil {
		return nil, fmt.Errorf("%s is there already; give another name, or remove it", name)
	}
	r := &recording{name: name, given: given}
	r.archive.Comment = []byte("Which rule does this show?\n")
	if dir != "" {
		r.dir = realDir(dir)
		files, err := filesToRecord(r.dir)
		if err != nil {
			return nil, err
		}
		if files == nil {
			c.sayf("%s holds more than %d files or 1 MB, so %s has none of them; add the files that it needs",
				r.dir, recordedFiles, name)
		}
		r.archive.Files = files
	}
	r.addFlags(c.testCommand(nil).Flags())
	return r, nil
}

// addFlags adds the flags of the command line that a golden file may set, or skill test has.
func (r *recording) addFlags(own *pflag.FlagSet) {
	var flags []string
	r.given.Visit(func(f *pflag.Flag) {
		_, known := goldenFlags[f.Name]
		if f.Name == "json" || f.Name == "record" || !known && own.Lookup(f.Name) == nil {
			return
		}
		values := []string{f.Value.String()}
		if list, many := f.Value.(pflag.SliceValue); many {
			values = list.GetSlice()
		}
		for _, value := range values {
			flags = append(flags, "--"+f.Name+"="+strings.ReplaceAll(value, " ", "")) // 30days is 30 days
		}
	})
	if len(flags) > 0 {
		r.add("flags", strings.Join(flags, " ")+"\n")
	}
}

// add adds a section. The workspace is $WORK in it.
func (r *recording) add(section, text string) {
	if r.dir != "" {
		text = strings.ReplaceAll(text, r.dir, "$WORK")
	}
	r.archive.Files = append(r.archive.Files, txtar.File{Name: section, Data: []byte(text)})
}

// errTooMany ends a search for files to record.
var errTooMany = errors.New("too many files")

// filesToRecord returns the texts in a directory that are not hidden, nil if they are too many.
func filesToRecord(dir string) ([]txtar.File, error) {
	files, sum, folder := []txtar.File{}, 0, os.DirFS(dir)
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		hidden := name != "." && strings.HasPrefix(path.Base(name), ".")
		switch {
		case err != nil:
			return err
		case d.IsDir() && (hidden || name == "perstack/runs"):
			return fs.SkipDir
		case hidden || !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if sum += int(info.Size()); sum > recordedBytes || len(files) == recordedFiles {
			return errTooMany
		}
		data, err := fs.ReadFile(folder, name)
		if err == nil && !bytes.ContainsRune(data, 0) && len(txtar.Parse(data).Files) == 0 {
			files = append(files, txtar.File{Name: nameInGolden(name), Data: data})
		}
		return err
	})
	if errors.Is(err, errTooMany) {
		return nil, nil
	}
	return files, err
}

// nameInGolden returns the name of a file in a golden file, where some names mean a section.
func nameInGolden(name string) string {
	if mistyped(name) != "" {
		return "./" + name
	}
	return name
}

// Write keeps what a client sends.
func (r *recording) Write(data []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.heard.Write(data)
}

// session adds what the client has sent.
func (r *recording) session() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add("mcp", r.heard.String())
}

// A recordedModel records the answers of a model.
type recordedModel struct {
	agent.Model
	r *recording
}

// model returns the model, whose answers are recorded.
func (r *recording) model(m agent.Model) agent.Model {
	own := recordedModel{m, r}
	if l, ok := m.(agent.Learner); ok {
		return struct {
			recordedModel
			agent.Learner
		}{own, l}
	}
	return own
}

// Next implements [agent.Model].
func (m recordedModel) Next(ctx context.Context, r agent.Request) (agent.Answer, error) {
	a, err := m.Model.Next(ctx, r)
	if err != nil {
		return a, err
	}
	text := ""
	if a.Text != "" {
		text = strings.TrimSuffix(a.Text, "\n") + "\n"
	}
	for _, call := range a.Calls {
		var line bytes.Buffer
		if json.Compact(&line, []byte(call.Arguments)) != nil {
			line.Reset()
			line.WriteString("{}")
		}
		text += call.Name + " " + line.String() + "\n"
	}
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	m.r.add("llm", text)
	return a, nil
}

// finish writes the golden file, plays it, and writes what it printed. It masks the words that
// two plays print differently.
func (c *cli) finish(ctx context.Context, r *recording) error {
	if !r.hasTree() {
		r.add("tree", "")
	}
	for _, section := range r.archive.Files {
		if begun := txtar.Parse(section.Data).Files; len(begun) > 0 {
			return fmt.Errorf("%s is not written: a golden file cannot hold the line \"-- %s --\" of a %s, because "+
				"a file begins with it; record the call as JSON, where a line break is \\n",
				r.name, begun[0].Name, section.Name)
		}
	}
	f, err := os.OpenFile(r.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already; give another name, or remove it", r.name)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(txtar.Format(&r.archive))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer stop()
	g := goldenRunner{helper: c.helper, given: r.given}
	first, err := g.play(ctx, &r.archive)
	if err != nil {
		return fmt.Errorf("%s is written, and cannot be played: %w", r.name, err)
	}
	second, err := g.play(ctx, &r.archive)
	if err != nil {
		return err
	}
	if masks := masksOf(string(txtar.Format(first)), string(txtar.Format(second))); len(masks) > 0 {
		masked := txtar.File{Name: "mask", Data: []byte(strings.Join(masks, "\n") + "\n")}
		r.archive.Files = slices.Insert(r.archive.Files, 0, masked)
		if first, err = g.play(ctx, &r.archive); err != nil {
			return err
		}
	}
	c.sayf("wrote %s; \"%s test %[1]s\" plays it", r.name, c.program())
	return os.WriteFile(r.name, txtar.Format(first), 0o666)
}

func (r *recording) hasTree() bool {
	return slices.ContainsFunc(r.archive.Files, func(f txtar.File) bool { return f.Name == "tree" })
}

// varying matches what may stand at a place that no two plays print alike.
const varying = `[\w.+-]*`

// masksOf returns regular expressions for what differs between two texts. Each expression matches the
// up to 24 characters before a word on its line, and then any word.
func masksOf(a, b string) (masks []string) {
	word := regexp.MustCompile(`[\w.+-]*$`)
	for range 50 {
		same := 0
		for same < min(len(a), len(b)) && a[same] == b[same] {
			same++
		}
		if same == len(a) || same == len(b) {
			return masks
		}
		begin := word.FindStringIndex(a[:same])[0]
		from := max(begin-24, strings.LastIndexByte(a[:begin], '\n')+1)
		mask := "(?<keep>" + regexp.QuoteMeta(a[from:begin]) + ")" + varying
		if begin == from {
			mask = "(?m)^" + varying
		}
		masks = append(masks, mask)
		re := regexp.MustCompile(mask)
		a, b = applyMask(re, a), applyMask(re, b)
	}
	return masks
}

// recordPrompts is skill test --record.
func (c *cli) recordPrompts(cmd *cobra.Command, name string, prompts []string) error {
	r, err := c.newRecording(name, "", cmd.Flags())
	if err != nil {
		return err
	}
	for _, prompt := range prompts {
		r.add("prompt", prompt+"\n")
	}
	return c.finish(cmd.Context(), r)
}

// recordRun begins to record a run: the file of its experts, and what the model answers from now on.
func (c *cli) recordRun(cmd *cobra.Command, r *runOptions, cfg *agent.Config) (*recording, error) {
	if r.continued() {
		return nil, errors.New("--record is of a new run; a golden file has no run to continue")
	}
	made, err := c.newRecording(r.record, cfg.Executor.Dir(), cmd.Flags())
	if err != nil {
		return nil, err
	}
	_, file, err := r.project(c.program())
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	has := func(f txtar.File) bool { return f.Name == "perstack.toml" }
	made.archive.Files = append(slices.DeleteFunc(made.archive.Files, has),
		txtar.File{Name: "perstack.toml", Data: data})
	cfg.Model = made.model(cfg.Model)
	return made, nil
}
