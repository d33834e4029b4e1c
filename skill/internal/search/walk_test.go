package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"textskill/skill/internal/workspace"
	"textskill/testdata/needs"
)

// each runs a test in an empty workspace, once with openat2 and once with os.Root.
func each(t *testing.T, test func(t *testing.T, w *workspace.Workspace)) {
	t.Helper()
	needs.InMemory(t)
	for name, portable := range map[string]bool{"kernel": false, "root": true} {
		if portable || runtime.GOOS == "linux" {
			t.Run(name, func(t *testing.T) { test(t, open(t, portable)) })
		}
	}
}

func open(t testing.TB, portable bool) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Open(workspace.Options{Dir: t.TempDir(), Portable: portable})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// plant makes files ("f", "f=content"), folders ("d/") and links ("l -> target").
func plant(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		name, target, link := strings.Cut(name, " -> ")
		name, content, _ := strings.Cut(name, "=")
		abs := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(abs), 0o755)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(target, abs)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(abs, 0o755)
		default:
			err = os.WriteFile(abs, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// walked returns the sorted paths that a walk visits; folders end in /.
func walked(t *testing.T, w *workspace.Workspace, dir string, o WalkOptions) ([]string, Walked) {
	t.Helper()
	var mu sync.Mutex
	var paths []string
	sum, err := Walk(t.Context(), w, dir, o, func(_ int, e *Entry) error {
		path := e.Path()
		if want := strings.Count(path, "/") + 1; e.Depth != want {
			t.Errorf("%s is at depth %d", path, e.Depth)
		}
		if got := strings.TrimPrefix(e.Folder()+"/"+string(e.Name), "/"); got != path ||
			string(e.AppendPath(nil)) != path {
			t.Errorf("%s is %s in %s", path, e.Name, e.Folder())
		}
		if e.Type.IsDir() {
			path += "/"
		}
		mu.Lock()
		paths = append(paths, path)
		mu.Unlock()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	return paths, sum
}

func TestWalk(t *testing.T) {
	each(t, func(t *testing.T, w *workspace.Workspace) {
		plant(t, w.Dir(), "a", "d/b", "d/e/f/g", "h/", "l -> d", "up -> ..", ".git/config", "d/.git",
			".x", ".skill/journal", "d/.SKILL/x")
		for _, tt := range []struct {
			dir  string
			o    WalkOptions
			want string
		}{
			{"", WalkOptions{}, ".x a d/ d/b d/e/ d/e/f/ d/e/f/g h/ l up"},
			{"", WalkOptions{Git: true, Workers: 1},
				".git/ .git/config .x a d/ d/.git d/b d/e/ d/e/f/ d/e/f/g h/ l up"},
			{"d", WalkOptions{Workers: 3}, "b e/ e/f/ e/f/g"},
			{"l", WalkOptions{}, "b e/ e/f/ e/f/g"},
			{"d/e", WalkOptions{}, "f/ f/g"},
			{".git", WalkOptions{}, "config"},
			{"h", WalkOptions{}, ""},
		} {
			got, sum := walked(t, w, filepath.Join(w.Dir(), tt.dir), tt.o)
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%s %+v\n got %s\nwant %s", tt.dir, tt.o, strings.Join(got, " "), tt.want)
			}
			if sum.Unreadable != 0 {
				t.Errorf("%s: %+v", tt.dir, sum)
			}
		}
		for _, dir := range []string{"a", "none", "up", ".skill", "a/b"} {
			if _, err := Walk(t.Context(), w, filepath.Join(w.Dir(), dir), WalkOptions{}, nil); err == nil {
				t.Errorf("%s is walked", dir)
			}
		}
	})
}

// TestWalkAllowed walks an allowed folder, and an allowed folder that holds the workspace.
func TestWalkAllowed(t *testing.T) {
	gitHome(t)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plant(t, base, "ws/a", "more/.skill/x", "more/.gitignore=/in/b\nc", "more/in/b", "more/in/c", "more/in/d",
		"other/e", "link -> other")
	for _, portable := range []bool{false, true} {
		w, err := workspace.Open(workspace.Options{Dir: base + "/ws", Allow: []string{base + "/more"},
			Portable: portable})
		if err != nil {
			t.Fatal(err)
		}
		for dir, want := range map[string]string{"more": ".gitignore in/ in/d", "more/in": "d", "ws": "a"} {
			if got, _ := walked(t, w, base+"/"+dir, WalkOptions{Ignore: true}); strings.Join(got, " ") != want {
				t.Errorf("%s: %s, want %s", dir, got, want)
			}
		}
		for _, dir := range []string{"other", "link", "", "more/.skill", "more/../other"} {
			if _, err := Walk(t.Context(), w, base+"/"+dir, WalkOptions{}, nil); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%q: %v", dir, err)
			}
		}
		w.Close()
	}
}

// TestWalkRandom compares walks with package filepath, also for folders of several blocks.
func TestWalkRandom(t *testing.T) {
	each(t, func(t *testing.T, w *workspace.Workspace) {
		rng := rand.New(rand.NewPCG(1, 2))
		dirs := []string{""}
		for i := range 2500 {
			in := dirs[rng.IntN(len(dirs))]
			if i > 200 {
				in = dirs[rng.IntN(2)]
			}
			name := fmt.Sprintf("%s%d%s", in, i, strings.Repeat("n", rng.IntN(60)))
			if rng.IntN(3) == 0 {
				name += "/"
				dirs = append(dirs, name)
			}
			plant(t, w.Dir(), name)
		}
		var want []string
		err := filepath.WalkDir(w.Dir(), func(abs string, d fs.DirEntry, err error) error {
			rel := strings.TrimPrefix(abs, w.Dir()+"/")
			if d.IsDir() {
				rel += "/"
			}
			if abs != w.Dir() {
				want = append(want, rel)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		for workers := range 6 {
			if got, _ := walked(t, w, w.Dir(), WalkOptions{Workers: workers}); !slices.Equal(got, want) {
				t.Errorf("%d workers visit %d names of %d", workers, len(got), len(want))
			}
		}
	})
}

// TestWalkDeep walks a tree that is deeper than keptOpen, also with an early end. Afterwards no folder
// is open.
func TestWalkDeep(t *testing.T) {
	needs.InMemory(t)
	w := open(t, false)
	var want []string
	deep := ""
	for i := range 2 * keptOpen {
		deep += fmt.Sprintf("d%d/", i)
		want = append(want, deep)
		for _, name := range []string{"e", "f"} {
			plant(t, w.Dir(), deep+name)
			want = append(want, deep+name)
		}
	}
	for i := range 1500 {
		name := fmt.Sprintf("d0/many/%060d", i)
		plant(t, w.Dir(), name)
		want = append(want, name)
	}
	want = append(want, "d0/many/")
	slices.Sort(want)
	before := openFiles(t)
	if got, _ := walked(t, w, w.Dir(), WalkOptions{}); !slices.Equal(got, want) {
		t.Errorf("%d names are visited of %d", len(got), len(want))
	}
	for n := range int64(50) {
		var visits atomic.Int64
		_, err := Walk(t.Context(), w, w.Dir(), WalkOptions{}, func(int, *Entry) error {
			if visits.Add(1) > 40*n {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors are open, and before the walks %d", after, before)
	}
}

// TestWalkKeepsFewOpen walks several deep folders at a time with few descriptors.
func TestWalkKeepsFewOpen(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip(err)
	}
	const workers = 4
	each(t, func(t *testing.T, w *workspace.Workspace) {
		for top := range 6 {
			deep := fmt.Sprintf("%d/", top)
			for range keptOpen - 2 { // the folder made first is found last, and visited first
				plant(t, w.Dir(), deep+"down/", deep+"one/in/", deep+"two/in/", deep+"three/in/")
				deep += "down/"
			}
		}
		before, most := openFiles(t), atomic.Int64{}
		var visits atomic.Int64
		_, err := Walk(t.Context(), w, w.Dir(), WalkOptions{Workers: workers}, func(int, *Entry) error {
			if visits.Add(1)%4 == 0 {
				time.Sleep(50 * time.Microsecond) // lets the other workers go down too
				now := int64(openFiles(t))
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
			}
			return nil
		})
		// With os.Root each folder takes two descriptors, and so does reading it.
		if limit := int64(before + 2*(keptOpen+2*workers)); err != nil || most.Load() > limit {
			t.Errorf("%d descriptors are open, and may be %d; %v", most.Load(), limit, err)
		}
	})
}

// openFiles counts the descriptors of this process, where the system lists them.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return len(entries)
}

// TestWalkEnds ends a walk by an error of visit and by its context.
func TestWalkEnds(t *testing.T) {
	each(t, func(t *testing.T, w *workspace.Workspace) {
		for i := range 50 {
			plant(t, w.Dir(), fmt.Sprintf("d%d/in/f", i), fmt.Sprintf("skip%d/in/f", i))
		}
		own := errors.New("enough")
		for i, end := range []error{own, fs.SkipAll, own, fs.SkipAll} {
			var visits atomic.Int32
			workers := 1 + i/2*3
			_, err := Walk(t.Context(), w, w.Dir(), WalkOptions{Workers: workers}, func(int, *Entry) error {
				if visits.Add(1) == 20 {
					return end
				}
				return nil
			})
			if n := visits.Load(); n < 20 ||
				n > 20 && workers == 1 ||
				end == own && err != own ||
				end != own && err != nil {
				t.Errorf("%v: %d visits, then %v", end, n, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Walk(ctx, w, w.Dir(), WalkOptions{}, func(int, *Entry) error {
			cancel()
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		var files, folders atomic.Int32
		_, err = Walk(t.Context(), w, w.Dir(), WalkOptions{}, func(_ int, e *Entry) error {
			if strings.HasPrefix(string(e.Name), "skip") {
				return fs.SkipDir
			}
			if e.Type.IsRegular() {
				files.Add(1)
			} else {
				folders.Add(1)
			}
			return nil
		})
		if err != nil || files.Load() != 50 || folders.Load() != 100 {
			t.Errorf("%d files and %d folders, %v", files.Load(), folders.Load(), err)
		}
	})
}

// TestWalkReplacedFolders skips folders that are replaced or removed before they are read.
func TestWalkReplacedFolders(t *testing.T) {
	each(t, func(t *testing.T, w *workspace.Workspace) {
		out := t.TempDir()
		plant(t, out, "secret")
		plant(t, w.Dir(), "gone/f", "link/f", "file/f", "stays/f")
		var mu sync.Mutex
		sum, err := Walk(t.Context(), w, w.Dir(), WalkOptions{}, func(_ int, e *Entry) error {
			mu.Lock()
			defer mu.Unlock()
			abs := filepath.Join(w.Dir(), e.Path())
			switch name := string(e.Name); {
			case name == "secret":
				t.Error("the walk left the workspace")
			case name == "stays", e.Type.IsRegular():
				return nil
			case name == "link":
				return errors.Join(os.RemoveAll(abs), os.Symlink(out, abs))
			case name == "file":
				return errors.Join(os.RemoveAll(abs), os.WriteFile(abs, nil, 0o644))
			}
			return os.RemoveAll(abs)
		})
		if err != nil || sum != (Walked{Unreadable: 3}) {
			t.Errorf("%+v, %v", sum, err)
		}
	})
}

// TestWalkMovedOut goes on in an open folder that is moved out of the workspace.
func TestWalkMovedOut(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open folder cannot be moved")
	}
	each(t, func(t *testing.T, w *workspace.Workspace) {
		plant(t, w.Dir(), "d/sub/f")
		away := filepath.Join(t.TempDir(), "away")
		var seen atomic.Bool
		_, err := Walk(t.Context(), w, w.Dir(), WalkOptions{}, func(_ int, e *Entry) error {
			switch string(e.Name) {
			case "sub":
				return os.Rename(filepath.Join(w.Dir(), "d"), away)
			case "f":
				seen.Store(true)
			}
			return nil
		})
		if err != nil || !seen.Load() {
			t.Errorf("f is visited: %t, %v", seen.Load(), err)
		}
	})
}

// TestWalkReadsHeads reads the beginning of each file during its visit, and the rest of a large file after it.
func TestWalkReadsHeads(t *testing.T) {
	each(t, func(t *testing.T, w *workspace.Workspace) {
		for i := range 300 {
			plant(t, w.Dir(), fmt.Sprintf("d%d/f%d=d%d/f%d", i%7, i, i%7, i))
		}
		plant(t, w.Dir(), "d1/l -> f1", "d1/empty=")
		var kept *workspace.File
		var files atomic.Int32
		_, err := Walk(t.Context(), w, w.Dir(), WalkOptions{}, func(_ int, e *Entry) error {
			buf := make([]byte, 10)
			if string(e.Name) == "f0" {
				buf = buf[:3]
			}
			n, rest, err := e.Head(buf)
			switch name := string(e.Name); {
			case !e.Type.IsRegular():
				if err == nil {
					t.Errorf("%s is read", e.Path())
				}
				return nil
			case err != nil:
				return err
			case name == "f0":
				if kept = rest; string(buf) != "d0/" || rest == nil {
					t.Errorf("%s begins with %q, more: %t", e.Path(), buf, rest != nil)
				}
			case rest != nil, name == "empty" && n != 0, name != "empty" && string(buf[:n]) != e.Path():
				t.Errorf("%s holds %q, more: %t", e.Path(), buf[:n], rest != nil)
			}
			files.Add(1)
			return nil
		})
		if err != nil || files.Load() != 301 || kept == nil {
			t.Fatalf("%d files, %v", files.Load(), err)
		}
		defer kept.Close()
		buf := make([]byte, 10)
		if n, _ := kept.ReadAt(buf, 1); string(buf[:n]) != "0/f0" {
			t.Errorf("kept %s", buf[:n])
		}
	})
}

// TestWalkEnter visits folders that Enter refuses, and does not read them.
func TestWalkEnter(t *testing.T) {
	w := open(t, false)
	plant(t, w.Dir(), "a/b/c", "a/d", "e")
	for depth, want := range []string{"", "a/ e", "a/ a/b/ a/d e", "a/ a/b/ a/b/c a/d e"} {
		got, _ := walked(t, w, w.Dir(), WalkOptions{Enter: func(d int) bool { return d < depth }})
		if strings.Join(got, " ") != want {
			t.Errorf("depth %d: %q, want %s", depth, got, want)
		}
	}
}
