package workspace

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"textskill/testdata/needs"
)

// version is the n-th content of a file in the stream: a repeated letter; its length depends on the letter.
func version(n int) string {
	return strings.Repeat(string(rune('a'+n%26)), 5000*(n%26+1))
}

func isVersion(data []byte) bool {
	return len(data) > 0 && string(data) == version(int(data[0]-'a'))
}

// stream makes changes until it is killed. It reports when it begins.
func stream(t testing.TB, args []string) {
	w, err := Open(Options{Dir: args[0], Portable: args[1] == "true", NoSync: args[2] == "true"})
	if err != nil {
		t.Fatal(err)
	}
	dir := args[0]
	os.Stdout.WriteString("begun\n")
	for n := 0; ; n++ {
		must(t, Change{Applied: true},
			failed(w.WriteFile(bg, filepath.Join(dir, "d/f"), []byte(version(n)), WriteOptions{})))
		must(t, Change{Applied: true},
			failed(w.EditFile(bg, filepath.Join(dir, "d/g"), WriteOptions{}, swap("a", "a"))))
		must(t, Change{Applied: true},
			failed(w.Copy(bg, filepath.Join(dir, "tree"), filepath.Join(dir, "d/tree"),
				CopyOptions{Tree: true})))
		must(t, Change{Applied: true},
			failed(w.Move(bg, filepath.Join(dir, "d/g"), filepath.Join(dir, "e/g"), MoveOptions{})))
		must(t, Change{Applied: true},
			failed(w.WriteFile(bg, filepath.Join(dir, "f"), []byte(version(n)), WriteOptions{})))
		must(t, Change{Applied: true},
			failed(w.Move(bg, filepath.Join(dir, "e/g"), filepath.Join(dir, "d/g"), MoveOptions{})))
		must(t, Change{Applied: true},
			failed(w.Remove(bg, filepath.Join(dir, "d/tree"), RemoveOptions{Tree: true})))
	}
}

// begun waits until a child has reported that it begins, and has then written the given number of dots.
type begun struct {
	dots int
	out  bytes.Buffer
	said chan struct{}
	over bool
}

func (b *begun) Write(p []byte) (int, error) {
	b.out.Write(p)
	_, after, found := bytes.Cut(b.out.Bytes(), []byte("begun\n"))
	if found && len(after) >= b.dots && !b.over {
		b.over = true
		close(b.said)
	}
	return len(p), nil
}

// A process is killed in the middle of a stream of changes, 200 times over both
// backends: files and trees are whole, and nothing is left after the next change.
func TestKilled(t *testing.T) {
	needs.InMemory(t)
	each(t, func(t *testing.T, s *site) {
		s.layout("d/", "e/", "f="+version(0), "d/f="+version(0), "d/g="+version(0))
		for n := range 20 {
			s.layout(fmt.Sprintf("tree/%d/%d=x", n%4, n))
		}
		var left int
		for round := range 100 / needs.Step(3) {
			killOne(t, s, round)
			left += s.checkAfterKill(t)
			if t.Failed() {
				t.Fatalf("after %d rounds", round)
			}
		}
		t.Logf("%d left-overs were cleared away", left)
	})
}

func killOne(t *testing.T, s *site, round int) {
	t.Helper()
	b := &begun{said: make(chan struct{})}
	c := childCommand("stream", os.Geteuid(), s.dir, fmt.Sprint(s.portable), fmt.Sprint(round%4 > 0))
	c.Stdout, c.Stderr = b, b
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-b.said:
	case <-time.After(time.Minute):
		t.Error("it does not begin")
	}
	time.Sleep(rand.N(4 * time.Millisecond))
	if err := c.Process.Kill(); err != nil {
		t.Error(err)
	}
	c.Wait()
	if strings.Contains(b.out.String(), "FAIL") {
		t.Errorf("%s", b.out.String())
	}
}

// checkAfterKill returns how many files were left over. It restores all files.
func (s *site) checkAfterKill(t *testing.T) (left int) {
	t.Helper()
	for _, name := range []string{"f", "d/f"} {
		if data, err := os.ReadFile(s.p(name)); err != nil || !isVersion(data) {
			t.Errorf("%s is torn: %d bytes, %.10q, %v", name, len(data), data, err)
		}
	}
	data, err := os.ReadFile(s.p("d/g"))
	if err != nil {
		data, err = os.ReadFile(s.p("e/g"))
	}
	if err != nil || !isVersion(data) {
		t.Errorf("g is torn: %d bytes, %v", len(data), err)
	}
	if exists(s.p("d/tree")) {
		for n := range 20 {
			s.has(fmt.Sprintf("d/tree/%d/%d", n%4, n), "x")
		}
	}
	w := s.open(Options{NoSync: true})
	for _, dir := range []string{"", "d/", "e/"} {
		if exists(s.p(dir + tempName)) {
			left++
		}
		c, err := w.WriteFile(bg, s.p(dir+"next"), []byte("x"), WriteOptions{})
		must(t, c, err)
		s.lacks(dir + tempName)
	}
	w.Move(bg, s.p("e/g"), s.p("d/g"), MoveOptions{})
	w.Remove(bg, s.p("d/tree"), RemoveOptions{Tree: true})
	w.Close()
	return left
}
