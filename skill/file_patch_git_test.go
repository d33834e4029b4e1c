package skill

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// often is how often a test with random cases plays one: in all runs a few times, and all where
// SKILL_TEST_ALL is set.
func often(few, all int) int {
	if os.Getenv("SKILL_TEST_ALL") != "" {
		return all
	}
	return few
}

// apart says where a patch is applied by one of git apply and this program only, and why. A patch
// besides never changes the line ends of a file: all files of a tree have the same.
var apart = []struct {
	refused string // by which of them
	words   string // of what this program says: its error, or a note
	why     string
}{
	{"git", `was applied at line`,
		"git wants a hunk with little context at the start or the end of the file"},
	{"git", `^$`, "git wants a hunk with little context at the start or the end of the file"},
}

// TestPatchAsGitApply makes patches by git of random changes to random trees, and applies them to
// these and to trees that somebody else has changed besides. Where git applies one too, the result
// is the same; elsewhere it holds all lines of both.
func TestPatchAsGitApply(t *testing.T) {
	needs.Program(t, "git")
	p := patchPlay{t: t, rng: rand.New(rand.NewPCG(5, 6)), repo: t.TempDir()}
	p.git("init", "-q")
	p.git("config", "core.autocrlf", "false")
	for i := range often(20, 300) {
		p.round(i)
	}
	t.Logf("%v", p.seen)
}

type patchPlay struct {
	t     *testing.T
	rng   *rand.Rand
	repo  string
	lines int
	end   string
	seen  [4]int // both applied, only git, only this program, none
}

func (p *patchPlay) git(args ...string) string {
	p.t.Helper()
	c := exec.Command("git", args...)
	c.Dir = p.repo
	out, err := c.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %s: %v\n%s", args, err, out)
	}
	return string(out)
}

// round plays one patch.
func (p *patchPlay) round(i int) {
	before := map[string]string{}
	p.end = []string{"\n", "\r\n"}[i/2%4/3]
	for n := range 1 + p.rng.IntN(4) {
		before[[]string{"a", "b", "d/c", "d/e"}[n]] = p.text()
	}
	after := maps.Clone(before)
	for range 1 + p.rng.IntN(3) {
		p.change(after)
	}
	now := maps.Clone(before)
	if i%2 == 1 {
		names := slices.Sorted(maps.Keys(now))
		name := names[p.rng.IntN(len(names))]
		now[name] = p.edited(now[name])
	}
	p.lay(before)
	p.git("add", "-A")
	tree := strings.TrimSpace(p.git("write-tree"))
	p.lay(after)
	p.git("add", "-A")
	diff := p.git("diff-index", "--cached", "-p", "-M", "--no-color", tree)
	if diff == "" {
		return
	}
	got, r, err := patched(p.t, now, diff, false)
	p.lay(now)
	c := exec.Command("git", "apply", "--whitespace=nowarn", "-")
	c.Dir, c.Stdin = p.repo, strings.NewReader(diff)
	said, refused := c.CombinedOutput()
	want := p.held()
	bad := func(format string, args ...any) {
		p.t.Helper()
		p.t.Errorf("round %d: %s\nthe patch\n%s\nof %q\nhere: %v %q\n %q\ngit: %v %s\n %q", i,
			fmt.Sprintf(format, args...), diff, now, err, r.Notes, got, refused, said, want)
	}
	switch {
	case err == nil && refused == nil:
		if p.seen[0]++; !maps.Equal(got, want) {
			bad("the results differ")
		}
	case i%2 == 0:
		bad("a patch does not fit what it was made of")
	case err != nil && refused != nil:
		p.seen[3]++
	case err != nil:
		if p.seen[1]++; !known("here", err.Error()) {
			bad("refused here only")
		}
	default:
		if p.seen[2]++; !known("git", strings.Join(r.Notes, "; ")) {
			bad("refused by git only")
		}
		p.keeps(before, after, now, got, bad)
	}
}

// known reports whether a difference is one of those that are meant.
func known(refused, words string) bool {
	for _, a := range apart {
		if a.refused == refused && regexp.MustCompile(a.words).MatchString(words) {
			return true
		}
	}
	return false
}

// keeps fails unless got has each new line of after, and each of now, once.
func (p *patchPlay) keeps(before, after, now, got map[string]string, bad func(string, ...any)) {
	all := func(files map[string]string) string { return strings.Join(slices.Collect(maps.Values(files)), "\n") }
	for line := range strings.FieldsFuncSeq(all(after)+"\n"+all(now),
		func(r rune) bool { return r == '\n' || r == '\r' }) {
		isNew := strings.HasPrefix(line, "new ") && !strings.Contains(all(before), line)
		if isNew && strings.Count(all(got), line) != 1 {
			bad("%q is there %d times", line, strings.Count(all(got), line))
		}
	}
}

// line returns a line that is the only one of its text, or one of a few.
func (p *patchPlay) line() string {
	if p.lines++; p.rng.IntN(2) == 0 {
		return fmt.Sprintf("new %d.", p.lines)
	}
	return []string{"", "}", "  return x", "\treturn x", "end", "x = 1 "}[p.rng.IntN(6)]
}

func (p *patchPlay) text() string {
	lines := make([]string, 1+p.rng.IntN(30))
	for i := range lines {
		lines[i] = p.line()
	}
	text := strings.Join(lines, p.end)
	if p.rng.IntN(4) > 0 {
		text += p.end
	}
	return text
}

// edited returns a text with some lines replaced, put in or taken away.
func (p *patchPlay) edited(text string) string {
	lines := strings.Split(text, p.end)
	for range 1 + p.rng.IntN(3) {
		at := p.rng.IntN(len(lines))
		with := make([]string, p.rng.IntN(3))
		for i := range with {
			with[i] = p.line()
		}
		lines = slices.Replace(lines, at, min(len(lines), at+p.rng.IntN(3)), with...)
		if len(lines) == 0 {
			lines = []string{p.line(), ""}
		}
	}
	return strings.Join(lines, p.end)
}

// change edits, adds, removes or renames a file.
func (p *patchPlay) change(files map[string]string) {
	names := slices.Sorted(maps.Keys(files))
	name := names[p.rng.IntN(len(names))]
	switch p.rng.IntN(8) {
	case 0:
		files[fmt.Sprintf("n/%d", p.rng.IntN(100))] = p.text()
	case 1:
		if len(files) > 1 {
			delete(files, name)
		}
	case 2:
		text := files[name]
		delete(files, name)
		files[name+"x"] = text
	default:
		files[name] = p.edited(files[name])
	}
}

// lay makes the repository hold files.
func (p *patchPlay) lay(files map[string]string) {
	for name := range p.held() {
		if err := os.Remove(filepath.Join(p.repo, name)); err != nil {
			p.t.Fatal(err)
		}
	}
	for name, text := range files {
		at := filepath.Join(p.repo, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
}

// held returns the files of the repository.
func (p *patchPlay) held() map[string]string {
	files := map[string]string{}
	out, err := exec.Command("git", "-C", p.repo, "ls-files", "-z", "-o", "-c").Output()
	if err != nil {
		p.t.Fatal(err)
	}
	for name := range bytes.SplitSeq(out, []byte{0}) {
		if data, err := os.ReadFile(filepath.Join(p.repo, string(name))); err == nil && len(name) > 0 {
			files[string(name)] = string(data)
		}
	}
	return files
}
