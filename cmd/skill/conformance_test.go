package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A conformanceRow is one recorded run of an original program. The fields after
// Setup differ between the files; see the two tests.
type conformanceRow struct {
	ID    string
	Setup []fixture
	After []fixture

	Prompt    json.RawMessage // achilles
	LLM       json.RawMessage
	LLMCalls  []struct{ Prompt string } `json:"llm_calls"`
	Error     *string
	ErrorCode string `json:"error_code"`
	Tags      []string

	Via       string // filesystem
	Plan      json.RawMessage
	Raw       *string
	Final     *string
	Unordered bool

	Result *string
}

// A fixture is one file, folder or link, before or after a run.
type fixture struct {
	Path        string   `json:"path"`
	PathB64     string   `json:"path_b64,omitempty"`
	Content     *string  `json:"content,omitempty"`
	ContentB64  string   `json:"content_b64,omitempty"`
	Dir         bool     `json:"dir,omitempty"`
	Link        string   `json:"link,omitempty"`
	Mode        string   `json:"mode,omitempty"`
	MTime       *float64 `json:"mtime,omitempty"`
	RootDeleted bool     `json:"root_deleted,omitempty"`
}

// A divergence is a row that is answered differently on purpose: by which rule,
// and what is answered and left instead. Result and error are compared as
// strictly as a row's; nil After means that the row's own tree holds.
type divergence struct {
	File   string    `json:"file"`
	ID     string    `json:"id"`
	Rule   string    `json:"rule"`
	Result *string   `json:"result"`
	Error  *string   `json:"error"`
	After  []fixture `json:"after"`
	Note   string    `json:"note,omitempty"`
}

const conformanceDir = "../../testdata/conformance/"

func readRows[T any](t *testing.T, name string) (rows []T) {
	t.Helper()
	data, err := os.ReadFile(conformanceDir + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var row T
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%s: %v in %s", name, err, line)
		}
		rows = append(rows, row)
	}
	return rows
}

func divergences(t *testing.T, file string) map[string]divergence {
	t.Helper()
	byID := map[string]divergence{}
	for _, d := range readRows[divergence](t, "divergences.jsonl") {
		if d.File == file {
			byID[d.ID] = d
		}
	}
	return byID
}

func (f fixture) name(t *testing.T) string {
	if f.PathB64 == "" {
		return f.Path
	}
	return string(decode64(t, f.PathB64))
}

func (f fixture) bytes(t *testing.T) []byte {
	if f.Content != nil {
		return []byte(*f.Content)
	}
	return decode64(t, f.ContentB64)
}

func decode64(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// build makes the files of a row in dir.
func build(t *testing.T, dir string, files []fixture) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files {
		name := filepath.Join(dir, f.name(t))
		must(os.MkdirAll(filepath.Dir(name), 0o755))
		switch {
		case f.Dir:
			must(os.MkdirAll(name, 0o755))
		case f.Link != "":
			must(os.Symlink(strings.ReplaceAll(f.Link, "${ROOT}", dir), name))
		default:
			must(os.WriteFile(name, f.bytes(t), 0o644))
		}
		if f.Mode != "" {
			must(os.Chmod(name, parseMode(t, f.Mode)))
		}
	}
	for _, f := range files {
		if f.MTime != nil {
			sec, frac := math.Modf(*f.MTime)
			at := time.Unix(int64(sec), int64(frac*1e9))
			must(os.Chtimes(filepath.Join(dir, f.name(t)), at, at))
		}
	}
}

func parseMode(t *testing.T, s string) fs.FileMode {
	t.Helper()
	var m uint32
	if _, err := fmt.Sscanf(s, "%o", &m); err != nil {
		t.Fatal(err)
	}
	return fs.FileMode(m)
}

// snapshot describes what is in dir, a sorted line for each file.
func snapshot(t *testing.T, dir string) []string {
	t.Helper()
	var files []fixture
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		if d.Name() == ".skill" || rel == "perstack" {
			return filepath.SkipDir
		}
		f := fixture{Path: rel}
		switch {
		case d.IsDir():
			f.Dir = true
		case d.Type() == fs.ModeSymlink:
			f.Link, err = os.Readlink(name)
		default:
			var data []byte
			data, err = os.ReadFile(name)
			text := string(data)
			f.Content = &text
		}
		if info, ierr := d.Info(); ierr == nil {
			f.Mode = fmt.Sprintf("%03o", info.Mode().Perm())
		}
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return treeLines(t, files, dir)
}

// treeLines describes files, a sorted line for each. The mode that a row leaves out is
// that of a new file.
func treeLines(t *testing.T, files []fixture, dir string) []string {
	lines := []string{}
	for _, f := range files {
		mode, what := "644", ""
		switch {
		case f.Link != "":
			mode, what = "", "-> "+strings.ReplaceAll(f.Link, "${ROOT}", dir)
		case f.Dir:
			mode, what = "755", "dir"
		default:
			what = strconv.Quote(string(f.bytes(t)))
		}
		if f.Mode != "" && f.Link == "" {
			mode = strings.TrimLeft(f.Mode, "0")
		}
		lines = append(lines, fmt.Sprintf("%q %s %s", f.name(t), mode, what))
	}
	slices.Sort(lines)
	return lines
}

// treeFaults compares what a row left.
func treeFaults(got, want []string) []string {
	if slices.Equal(got, want) {
		return nil
	}
	return []string{fmt.Sprintf("tree\n got %s\nwant %s", strings.Join(got, "\n     "),
		strings.Join(want, "\n     "))}
}

// play runs one command line and returns what it prints.
func play(t *testing.T, c *cli, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	c.stdin, c.stdout, c.stderr = strings.NewReader(stdin), &out, &errs
	if c.getenv == nil {
		c.getenv = func(string) string { return "" }
	}
	code = c.run(t.Context(), args)
	return out.String(), errs.String(), code
}

// differs says where an answer is not the wanted one.
func differs[T comparable](what string, got, want T) []string {
	if got == want {
		return nil
	}
	return []string{fmt.Sprintf("%s\n got %#v\nwant %#v", what, got, want)}
}
