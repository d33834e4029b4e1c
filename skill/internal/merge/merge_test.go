package merge

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"textskill/testdata/needs"
)

func TestText(t *testing.T) {
	const five = "1\n2\n3\n4\n5\n"
	tests := []struct {
		base, ours, theirs, merged string
		conflicts                  []Conflict
	}{
		{five, "one\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive\n", "one\n2\n3\n4\nfive\n", nil},
		{five, "one\n2\n3\n4\n5\n", "one\n2\n3\n4\n5\n", "one\n2\n3\n4\n5\n", nil},
		{five, "one\n2\n3\n4\n5\n", "one\n2\n3\n4\nfive", "one\n2\n3\n4\nfive", nil},
		{five, "1\n2\n", "1\n2\n3\n4\n5\n6\n", "1\n2\n", []Conflict{
			{3, []byte("3\n4\n5\n"), nil, []byte("3\n4\n5\n6\n")}}},
		// Lines 1 and 2 touch; line 3 is between lines 2 and 4.
		{five, "one\n2\n3\n4\n5\n", "1\ntwo\n3\n4\n5\n", "one\n2\n3\n4\n5\n", []Conflict{
			{1, []byte("1\n2\n"), []byte("one\n2\n"), []byte("1\ntwo\n")}}},
		{five, "one\n2\n3\n4\n5\n", "1\n2\nthree\n4\n5\n", "one\n2\nthree\n4\n5\n", nil},
		{five, "0\n" + five, "zero\n" + five, "0\n" + five,
			[]Conflict{{1, nil, []byte("0\n"), []byte("zero\n")}}},
		{five, "0\n0\n1\n2\nthree\n4\n5\n", "1\n2\ntres\n4\n5\n6\n", "0\n0\n1\n2\nthree\n4\n5\n6\n",
			[]Conflict{
				{5, []byte("3\n"), []byte("three\n"), []byte("tres\n")}}},
		{"a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC\n", "A\r\nb\r\nC\n", nil},
		{"a\nb\nc", "\ufeffa\nb\nc", "a\nb\nC", "\ufeffa\nb\nC", nil},
		{"", "a", "b", "a", []Conflict{{1, nil, []byte("a"), []byte("b")}}},
		{"a", "a\n", "a\nb", "a\n", []Conflict{{1, []byte("a"), []byte("a\n"), []byte("a\nb")}}},
	}
	for _, tt := range tests {
		merged, conflicts, err := Text([]byte(tt.base), []byte(tt.ours), []byte(tt.theirs))
		if string(merged) != tt.merged || show(conflicts) != show(tt.conflicts) || err != nil {
			t.Errorf("Text(%q, %q, %q)\n got %q %s %v\nwant %q %s", tt.base, tt.ours, tt.theirs,
				merged, show(conflicts), err, tt.merged, show(tt.conflicts))
		}
	}
}

func TestTextRefuses(t *testing.T) {
	text := []byte("a\n")
	for i := range 3 {
		for _, tt := range []struct {
			bad  []byte
			want error
		}{
			{[]byte("a\x00"), ErrBinary},
			{bytes.Repeat([]byte("a"), MaxSize+1), ErrLarge},
		} {
			of := [][]byte{text, text, text}
			of[i] = tt.bad
			if _, _, err := Text(of[0], of[1], of[2]); !errors.Is(err, tt.want) {
				t.Errorf("text %d of %d bytes: %v, want %v", i, len(tt.bad), err, tt.want)
			}
		}
	}
}

func show(conflicts []Conflict) string {
	var b strings.Builder
	for _, c := range conflicts {
		fmt.Fprintf(&b, "line %d: base %q, ours %q, theirs %q\n", c.Line, c.Base, c.Ours, c.Theirs)
	}
	return b.String()
}

// laws checks the invariants of a merge.
func laws(t *testing.T, base, ours, theirs []byte) {
	t.Helper()
	must := func(b, o, th, want []byte) {
		t.Helper()
		if got, conflicts, err := Text(b, o, th); err != nil || len(conflicts) > 0 ||
			!bytes.Equal(got, want) {
			t.Fatalf("Text(%q, %q, %q) = %q %s %v, want %q", b, o, th, got, show(conflicts), err, want)
		}
	}
	must(base, base, theirs, theirs)
	must(base, ours, base, ours)
	must(base, ours, ours, ours)
	merged, conflicts, _ := Text(base, ours, theirs)
	mirrored, mirror, _ := Text(base, theirs, ours)
	if len(conflicts) == 0 && !bytes.Equal(merged, mirrored) {
		t.Fatalf("Text(%q, %q, %q) = %q, but with the sides swapped %q", base, ours, theirs, merged, mirrored)
	}
	swapped := slices.Clone(mirror)
	for i, c := range swapped {
		swapped[i].Ours, swapped[i].Theirs = c.Theirs, c.Ours
		if i < len(conflicts) {
			swapped[i].Line = conflicts[i].Line
		}
	}
	if show(swapped) != show(conflicts) {
		t.Fatalf("conflicts of %q, %q, %q:\n%s; with the sides swapped\n%s", base, ours, theirs,
			show(conflicts), show(mirror))
	}
	for _, c := range conflicts {
		lines := Split(ours)
		if c.Line < 1 || c.Line > len(lines)+1 ||
			!bytes.HasPrefix(bytes.Join(lines[c.Line-1:], nil), c.Ours) {
			t.Fatalf("Text(%q, %q, %q): line %d of ours is not %q", base, ours, theirs, c.Line, c.Ours)
		}
		if !bytes.Contains(base, c.Base) || !bytes.Contains(theirs, c.Theirs) ||
			!bytes.Contains(merged, c.Ours) {
			t.Fatalf("Text(%q, %q, %q): a conflict of no such lines: %s", base, ours, theirs,
				show([]Conflict{c}))
		}
	}
	checkChanges(t, base, ours)
}

// checkChanges fails the test unless the changes lead from one text to the other.
func checkChanges(t *testing.T, old, new []byte) {
	t.Helper()
	a, b := Split(old), Split(new)
	var got []byte
	at, newAt := 0, 0
	for i, c := range Changes(a, b) {
		if c.From < at || i > 0 && c.From == at ||
			c.From-at != c.NewFrom-newAt || c.From == c.To &&
			c.NewFrom == c.NewTo {
			t.Fatalf("changes of %q to %q: %+v", old, new, Changes(a, b))
		}
		got = add(add(got, a[at:c.From]), b[c.NewFrom:c.NewTo])
		at, newAt = c.To, c.NewTo
	}
	if got = add(got, a[at:]); !bytes.Equal(got, new) {
		t.Fatalf("changes of %q to %q: %+v lead to %q", old, new, Changes(a, b), got)
	}
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte("1\n2\n3\n"), []byte("one\n2\n3\n"), []byte("1\n2\nthree"))
	f.Add([]byte("a\r\nb"), []byte("a\nb"), []byte("\ufeffa\r\nb\r\n"))
	f.Add([]byte("a\na\na\n"), []byte("a\na\n"), []byte("a\na\na\na\n"))
	f.Add([]byte(""), []byte("\n\n"), []byte("x"))
	f.Fuzz(func(t *testing.T, base, ours, theirs []byte) {
		if bytes.IndexByte(slices.Concat(base, ours, theirs), 0) < 0 {
			laws(t, base, ours, theirs)
		}
	})
}

// edited returns a text with a few lines changed.
func edited(r *rand.Rand, lines []string, fresh func() string) []string {
	lines = slices.Clone(lines)
	for range r.IntN(5) {
		from := r.IntN(len(lines) + 1)
		to := min(len(lines), from+r.IntN(3))
		var with []string
		for range r.IntN(3) {
			with = append(with, fresh())
		}
		lines = slices.Replace(lines, from, to, with...)
	}
	return lines
}

// randomTexts returns a base and two edits of it. The fewer words there are, the more lines
// are equal.
func randomTexts(r *rand.Rand, words int) (texts [3][]byte) {
	word := func() string { return fmt.Sprintf("%d\n", r.IntN(words)) }
	var base []string
	for range r.IntN(24) {
		base = append(base, word())
	}
	for i, lines := range [][]string{base, edited(r, base, word), edited(r, base, word)} {
		texts[i] = []byte(strings.Join(lines, ""))
		if r.IntN(8) == 0 {
			texts[i] = bytes.TrimSuffix(texts[i], []byte("\n"))
		}
	}
	return texts
}

func TestLawsOfRandomTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		texts := randomTexts(r, []int{2, 5, 20, 1 << 30}[r.IntN(4)])
		laws(t, texts[0], texts[1], texts[2])
	}
}

// Texts of distinct lines merge as in git. Equal lines let git and us place the same edit
// differently, so a few results differ.
func TestTextAsGitMergeFile(t *testing.T) {
	needs.Program(t, "git")
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(3, 4))
	differ := 0
	for range 400 {
		words := []int{4, 1 << 30}[r.IntN(2)]
		texts := randomTexts(r, words)
		args := []string{"merge-file", "-p", "-q"}
		for i, name := range []string{"ours", "base", "theirs"} {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, texts[[]int{1, 0, 2}[i]], 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, path)
		}
		want, err := exec.Command("git", args...).Output()
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() < 0 || exit.ExitCode() > 127) {
			t.Fatal(err)
		}
		got, conflicts, _ := Text(texts[0], texts[1], texts[2])
		if (err == nil) == (len(conflicts) == 0) && (err != nil || bytes.Equal(got, want)) {
			continue
		}
		if differ++; words > 4 || differ > 4 {
			t.Errorf("Text(%q, %q, %q)\n got %q %s\nwant %q %v", texts[0], texts[1], texts[2], got,
				show(conflicts), want, err)
		}
	}
	t.Logf("%d of 400 texts differ", differ)
}

// Texts with many equal lines at different places merge in seconds.
func TestTextOfLargeTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	text := func(words, size int) []byte {
		var b []byte
		for len(b) < size-20 {
			b = fmt.Appendf(b, "%d\n", r.IntN(words))
		}
		return b
	}
	for _, words := range []int{2, 1000} {
		base, ours, theirs := text(words, 1<<20), text(words, 1<<20), text(words, 1<<20)
		start := time.Now()
		if _, _, err := Text(base, ours, theirs); err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		t.Logf("%d words: %v", words, took)
		if took > time.Minute {
			t.Errorf("%d words: %v", words, took)
		}
	}
}

func BenchmarkChanges(b *testing.B) {
	var old, new []byte
	for i := range 2000 {
		old = fmt.Appendf(old, "line %d of a file with some text\n", i)
		if i%100 != 50 {
			new = fmt.Appendf(new, "line %d of a file with some text\n", i)
		}
	}
	b.SetBytes(int64(len(old)))
	b.ReportAllocs()
	for b.Loop() {
		Changes(Split(old), Split(new))
	}
}
