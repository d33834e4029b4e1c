//go:build linux || darwin

package workspace

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"textskill/testdata/needs"
)

func TestUnified(t *testing.T) {
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for _, c := range []struct{ before, after, want string }{
		{"a\n", "a\n", ""},
		{"", "", ""},
		{"a\n", "b\n", "@@ -1 +1 @@\n-a\n+b\n"},
		{"a\n", "a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"},
		{"a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"a", "ab", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+ab\n\\ No newline at end of file\n"},
		{"", "a\n", "@@ -0,0 +1 @@\n+a\n"},
		{"a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		{"a\r\n", "a\n", "@@ -1 +1 @@\n-a\r\n+a\n"},
		{"\xff\n", "\xfe\n", "@@ -1 +1 @@\n-\xff\n+\xfe\n"},
		{ten, strings.Replace(ten, "5", "five", 1), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		{ten, "0\n" + ten, "@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n"},
		{ten, ten + "11", "@@ -8,3 +8,4 @@\n 8\n 9\n 10\n+11\n\\ No newline at end of file\n"},
		{ten, ten[2:16] + "9\n", "@@ -1,4 +1,3 @@\n-1\n 2\n 3\n 4\n@@ -7,4 +6,3 @@\n 7\n 8\n 9\n-10\n"},
		{ten, strings.NewReplacer("3\n", "", "10\n", "").Replace(ten),
			"@@ -1,10 +1,8 @@\n 1\n 2\n-3\n 4\n 5\n 6\n 7\n 8\n 9\n-10\n"},
		{"a\x00", "b", "Binary file: 2 bytes before, 1 after\n"},
		{strings.Repeat("x\n", 1<<19) + "x", "b", "Large file: 1048577 bytes before, 1 after\n"},
	} {
		got := Unified("old name", "new name", []byte(c.before), []byte(c.after))
		want := c.want
		if want != "" {
			want = "--- old name\n+++ new name\n" + want
		}
		if got != want {
			t.Errorf("%.60q to %.60q:\n%s; want\n%s", c.before, c.after, got, want)
		}
	}
	if got := Unified("f", "f", nil, []byte{}); got != "--- /dev/null\n+++ f\n" {
		t.Errorf("a new empty file:\n%s", got)
	}
	if got := Unified("f", "f", []byte("a"), nil); got != "--- f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n" {
		t.Errorf("a file that goes:\n%s", got)
	}
	if got := Unified("a\n+++ b", "é ü", []byte("x"), []byte("y")); !strings.HasPrefix(got, "--- \"a\\n+++ b\"\n+++ é ü\n@@") {
		t.Errorf("a name of two lines:\n%s", got)
	}
}

// checkDiff fails the test unless the diff of two versions leads from one to the other.
func checkDiff(t *testing.T, before, after []byte, diff string) {
	t.Helper()
	if bytes.Equal(before, after) {
		if diff != "" {
			t.Errorf("a diff of what is equal:\n%s", diff)
		}
		return
	}
	if _, rest, _ := strings.Cut(diff, "+++"); strings.Contains(rest, "\nBinary file") ||
		strings.Contains(rest, "\nLarge file") || strings.Contains(rest, "\nLong line") {
		return
	}
	if got, err := apply(before, diff); err != nil || !bytes.Equal(got, after) {
		t.Errorf("%v: the diff of\n%.2000q\nand\n%.2000q leads to\n%.2000q\n%.3000s", err, before,
			after, got, diff)
	}
}

func FuzzUnified(f *testing.F) {
	f.Add([]byte("a\nb\nc\n"), []byte("a\nB\nc"))
	f.Add([]byte(""), []byte("\n\n"))
	f.Add([]byte("\xff\r\n\r"), []byte("\\ No newline at end of file\n"))
	f.Add([]byte("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), []byte("1\n3\n4\n5\n6\n7\n8\n9\n9\n"))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		before, after = append([]byte{}, before...), append([]byte{}, after...)
		if isBinary(before) || isBinary(after) {
			return
		}
		checkDiff(t, before, after, Unified("f", "f", before, after))
	})
}

func FuzzSpliceDiff(f *testing.F) {
	f.Add([]byte("a\nb\nc\n"), 2, 1, []byte("B"), 1)
	f.Add([]byte("line\n"), 16000, 7, []byte("x\ny"), 9000)
	f.Add([]byte("line\n"), 45000, 0, []byte(""), 9000)
	f.Add([]byte("x"), 20000, 1, []byte("y"), 40000)
	f.Add([]byte("long long line without an end"), 30000, 5, []byte("\n"), 2000)
	f.Fuzz(func(t *testing.T, unit []byte, offset, old int, text []byte, times int) {
		before := bytes.Repeat(unit, min(max(times, 0), 1<<16/(len(unit)+1)))
		if isBinary(before) || isBinary(text) {
			return
		}
		offset = min(max(offset, 0), len(before))
		old = min(max(old, 0), len(before)-offset)
		after := append(append(append([]byte{}, before[:offset]...), text...), before[offset+old:]...)
		diff, err := spliceDiff("f", bytes.NewReader(before), int64(len(before)),
			Splice{int64(offset), int64(old), text})
		if err != nil {
			t.Fatal(err)
		}
		checkDiff(t, append([]byte{}, before...), after, diff)
	})
}

// More different lines than the diff has runes to represent them.
func TestUnifiedOfManyLines(t *testing.T) {
	var before, after bytes.Buffer
	for n := range 90_000 {
		fmt.Fprintf(&before, "%d\n", n)
		if n%1000 != 7 {
			fmt.Fprintf(&after, "%d\n", n+n/70_000)
		}
	}
	start := time.Now()
	checkDiff(t, before.Bytes(), after.Bytes(), Unified("f", "f", before.Bytes(), after.Bytes()))
	if d := time.Since(start); d > time.Minute {
		t.Errorf("it took %v", d)
	}
}

// randomVersions returns two texts with common lines.
func randomVersions(r *rand.Rand) (before, after []byte) {
	lines := []string{"a\n", "b\n", "\n", "c\r\n", "\t x\n", "+a\n", "-b\n", "\\ No\n", "@@ -1 +1 @@\n"}
	for range r.IntN(60) {
		line := lines[r.IntN(len(lines))]
		if r.IntN(8) > 0 {
			before = append(before, line...)
		}
		if r.IntN(8) > 0 {
			after = append(after, line...)
		}
	}
	for _, text := range []*[]byte{&before, &after} {
		if r.IntN(3) == 0 {
			*text = bytes.TrimSuffix(*text, []byte("\n"))
		}
	}
	return append([]byte{}, before...), append([]byte{}, after...)
}

// patch and git apply our diffs.
func TestPatchAgrees(t *testing.T) {
	programs := map[string][]string{"patch": {"patch", "-s", "--binary", "f", "diff"},
		"git": {"git", "apply", "--whitespace=nowarn", "diff"}}
	for name, command := range programs {
		t.Run(name, func(t *testing.T) {
			needs.Program(t, name)
			r := rand.New(rand.NewPCG(1, 2))
			for range 40 {
				before, after := randomVersions(r)
				diff := Unified("a/f", "b/f", before, after)
				if got, err := apply(before, diff); diff != "" && (err != nil || !bytes.Equal(got, after)) {
					t.Fatalf("%v\n%s", err, diff)
				}
				if diff == "" || len(before) == 0 || len(after) == 0 {
					continue // programs make and remove files then
				}
				dir := t.TempDir()
				for file, data := range map[string][]byte{"f": before, "diff": []byte(diff)} {
					if err := os.WriteFile(dir+"/"+file, data, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				cmd := exec.CommandContext(ctx, command[0], command[1:]...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+dir,
					"GIT_DIR=/nonexistent")
				out, err := cmd.CombinedOutput()
				cancel()
				if got, rerr := os.ReadFile(dir + "/f"); err != nil || rerr != nil ||
					!bytes.Equal(got, after) {
					t.Errorf("%v\n%s\n%s\nleads from %q to %q, not %q", err, out, diff, before, got, after)
				}
			}
		})
	}
}
