package skill

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestHeadTailKeepsTheFirstAndTheLast(t *testing.T) {
	tests := []struct {
		limit  int
		writes []string
		want   string
		cut    int64
	}{
		{10, nil, "", 0},
		{10, []string{"0123456789"}, "0123456789", 0},
		{10, []string{"01", "23456", "789"}, "0123456789", 0},
		{10, []string{"0123456789a"}, "01234\n[… 1 bytes left out …]\n6789a", 1},
		{10, []string{"0", "12345678", "9abcd", "ef"}, "01234\n[… 6 bytes left out …]\nbcdef", 6},
		{1, []string{"abc"}, "a\n[… 2 bytes left out …]\n", 2},
		{12, []string{"a\nbcdefghijklmnop\nq\n"}, "a\n[… 16 bytes left out …]\nq\n", 16},
		{4, []string{"\xff\xfe\xfd\xfc\xfb"}, "\xff\xfe\n[… 1 bytes left out …]\n\xfc\xfb", 1},
	}
	for _, tt := range tests {
		e := headTail{limit: tt.limit}
		for _, w := range tt.writes {
			if n, err := io.WriteString(&e, w); n != len(w) || err != nil {
				t.Errorf("%q: %d, %v", w, n, err)
			}
		}
		if got, cut := e.bytes(); string(got) != tt.want || cut != tt.cut {
			t.Errorf("%d %q\n got %q, %d\nwant %q, %d", tt.limit, tt.writes, got, cut, tt.want, tt.cut)
		}
	}
}

// However a stream comes in pieces, what is kept is its beginning and its end and
// the count of what lies between.
func FuzzHeadTail(f *testing.F) {
	f.Add([]byte("0123456789"), uint8(4), uint8(3))
	f.Add([]byte("a\nb\nc\nd\ne\nf\n"), uint8(7), uint8(1))
	f.Add([]byte("0\n0"), uint8(2), uint8(18))
	f.Add(bytes.Repeat([]byte("long line "), 40), uint8(64), uint8(200))
	f.Fuzz(func(t *testing.T, all []byte, limit, piece uint8) {
		e := headTail{limit: max(1, int(limit))}
		for p := range slices.Chunk(all, max(1, int(piece))) {
			e.Write(p)
		}
		kept, cut := e.bytes()
		if len(all) <= e.limit {
			if !bytes.Equal(kept, all) || cut != 0 {
				t.Fatalf("%q became %q", all, kept)
			}
			return
		}
		line := fmt.Appendf(nil, "[… %d bytes left out …]\n", cut)
		head, tail, ok := bytes.Cut(kept, line)
		fits := func(head []byte) bool {
			return bytes.HasPrefix(all, head) && bytes.HasSuffix(all, tail) && cut == int64(len(all)-len(head)-len(tail))
		}
		// The last line of the head is given an end if it has none.
		if !ok || !fits(head) && !fits(bytes.TrimSuffix(head, []byte("\n"))) || cut < int64(len(all)-e.limit) {
			t.Fatalf("%q became %q, %d left out", all, kept, cut)
		}
	})
}

func TestExecOutputIsBounded(t *testing.T) {
	eachWay(t, func(t *testing.T, helper string) {
		x := newExecutor(t, Config{Helper: helper})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := mustExec(t, x, sh(`echo first; yes "a line of the flood" | head -c 100000000; echo; echo last; yes err | head -c 3000000 >&2`))
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
			t.Errorf("%d bytes were allocated for 100 MB of output", used)
		}
		total := int64(len("first\n") + 100000000 + len("\nlast\n"))
		marker := fmt.Sprintf("flood\n[… %d bytes left out …]\na line of", got.StdoutCut)
		if !bytes.HasPrefix(got.Stdout, []byte("first\na line")) || !bytes.HasSuffix(got.Stdout, []byte("\nlast\n")) || !bytes.Contains(got.Stdout, []byte(marker)) {
			t.Errorf("stdout: %.60q … %.60q", got.Stdout, got.Stdout[len(got.Stdout)-60:])
		}
		line := int64(len(fmt.Sprintf("[… %d bytes left out …]\n", got.StdoutCut)))
		if kept := int64(len(got.Stdout)) - line; kept+got.StdoutCut != total || kept > 1<<20 || kept < 1<<20-2*nearLine {
			t.Errorf("kept %d and cut %d of %d", kept, got.StdoutCut, total)
		}
		if got.StderrCut == 0 || len(got.Stderr) > 1<<20+64 {
			t.Errorf("stderr: %d bytes, %d cut", len(got.Stderr), got.StderrCut)
		}
	})
}

func TestExecMaxOutput(t *testing.T) {
	x := newExecutor(t, Config{})
	got := mustExec(t, x, Exec{Command: "seq", Args: []string{"1000"}, MaxOutput: 20})
	if string(got.Stdout) != "1\n2\n3\n4\n5\n[… 3874 bytes left out …]\n999\n1000\n" || got.StdoutCut != 3874 {
		t.Errorf("%q, %d", got.Stdout, got.StdoutCut)
	}
}

// What another process holds open cannot be waited for.
func TestExecAnswersThoughAPipeIsHeldOpen(t *testing.T) {
	eachWay(t, func(t *testing.T, helper string) {
		x := newExecutor(t, Config{Helper: helper})
		for _, script := range []string{"sleep 20 & printf x", "setsid sleep 20 & sleep 0.1; printf x"} {
			got := mustExec(t, x, sh(script))
			if string(got.Stdout) != "x" || got.ExitCode != 0 || got.Elapsed > drainTime+10*time.Second {
				t.Errorf("%s: %+v", script, got)
			}
		}
	})
}

// The oldest logs go when there is no room for a new one, and other files stay.
func TestOldLogsGo(t *testing.T) {
	dir, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	add := func(name string, size int64, age time.Duration) {
		f, err := dir.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Truncate(size)
		f.Close()
		at := time.Now().Add(-age)
		dir.Chtimes(name, at, at)
	}
	names := func() (list []string) {
		entries, _ := fs.ReadDir(dir.FS(), ".")
		for _, e := range entries {
			list = append(list, strings.TrimSuffix(e.Name(), logEnd))
		}
		return list
	}
	for i, name := range []string{"d", "c", "b", "a"} {
		add(name+logEnd, 60<<20, time.Duration(i)*time.Hour)
	}
	add("server-x.log", 200<<20, 100*time.Hour)
	pruneLogs(dir)
	if got := names(); !slices.Equal(got, []string{"b", "c", "d", "server-x.log"}) {
		t.Errorf("too much: %q are left", got)
	}
	for i := range maxLogCount {
		add(fmt.Sprint("n", i, logEnd), 1, time.Minute)
	}
	pruneLogs(dir)
	if got := names(); len(got) != maxLogCount || slices.Contains(got, "c") || !slices.Contains(got, "d") {
		t.Errorf("too many: %d are left", len(got))
	}
}

// Where no file can be made the command runs all the same.
func TestExecLogsWhereItCan(t *testing.T) {
	x := newExecutor(t, Config{})
	long := Exec{Command: "sh", Args: []string{"-c", "seq 1000"}, MaxOutput: 100, Log: true}
	got := mustExec(t, x, long)
	if data, err := os.ReadFile(got.Log); err != nil || len(data) != 3893 || got.LogCut != 0 || got.StdoutCut == 0 {
		t.Errorf("%s: %d bytes, %v", got.Log, len(data), err)
	}
	if err := os.RemoveAll(x.Dir() + "/.skill"); err != nil {
		t.Fatal(err)
	}
	writeFile(t, x.Dir()+"/.skill", "", 0o644)
	if got := mustExec(t, x, long); got.Log != "" || got.StdoutCut == 0 || got.ExitCode != 0 {
		t.Errorf("%+v", got)
	}
	if got := mustExec(t, x, Exec{Command: "sh", Args: []string{"-c", "echo a; echo b >&2"}, Log: true}); got.Log != "" {
		t.Errorf("a log of nothing: %+v", got)
	}
}
