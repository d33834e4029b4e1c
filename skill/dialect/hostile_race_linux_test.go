package dialect

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"textskill/parser"
	"textskill/skill"
	"textskill/testdata/needs"
)

// A swapper swaps a folder and a file of the workspace with links that lead outside,
// over and over. Links and files are kept in base/swap while they are away.
type swapper struct {
	*hostileRun
	stop chan struct{}
	done sync.WaitGroup
}

// swapped are the names that change, and what their links lead to.
var swapped = map[string]string{"d": "../outside", "g": "../outside/secret.txt"}

func (s *swapper) start() {
	s.do(os.MkdirAll(s.base+"/swap", 0o755))
	for name, target := range swapped {
		s.do(os.RemoveAll(s.base + "/swap/" + name))
		s.do(os.Symlink(target, s.base+"/swap/"+name))
	}
	s.stop = make(chan struct{})
	s.done.Go(func() {
		for {
			select {
			case <-s.stop:
				return
			default:
			}
			for name := range swapped {
				unix.Renameat2(unix.AT_FDCWD, s.ws+"/"+name, unix.AT_FDCWD, s.base+"/swap/"+name,
					unix.RENAME_EXCHANGE)
			}
		}
	})
}

func (s *swapper) end() {
	close(s.stop)
	s.done.Wait()
}

// mend puts back what a call has removed: a folder d with a file secret.txt, and a
// file g. It follows no link that may have come there meanwhile.
func (s *swapper) mend() {
	for _, dir := range []string{s.ws, s.base + "/swap"} {
		top, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
		s.do(err)
		for name, target := range swapped {
			var st unix.Stat_t
			if unix.Fstatat(top, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
				continue
			}
			switch {
			case dir != s.ws:
				unix.Symlinkat(target, top, name)
			case name == "d":
				unix.Mkdirat(top, name, 0o755)
			default:
				s.make(top, name)
			}
		}
		if d, err := unix.Openat(top, "d", unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0); err == nil {
			s.make(d, "secret.txt")
			unix.Close(d)
		}
		unix.Close(top)
	}
}

// make makes a file, unless it is there.
func (s *swapper) make(dir int, name string) {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o644)
	if err == nil {
		unix.Write(fd, []byte("text that may be told"))
		unix.Close(fd)
	}
}

// TestSwappedPaths calls every tool with names that lead outside at one moment and
// inside at the next.
func TestSwappedPaths(t *testing.T) {
	s := &swapper{hostileRun: newHostileRun(t)}
	answers, refused := 0, 0
	for _, d := range filled {
		for i := range d.Tools {
			tool := &d.Tools[i]
			for j := range tool.Params() {
				if p := &tool.Params()[j]; p.Path && !handed[tool.Name] {
					a, r := s.race(d, tool, p)
					answers, refused = answers+a, refused+r
				}
			}
		}
	}
	if refused == 0 || refused == answers {
		t.Errorf("%d of %d calls were refused: nothing was swapped under them", refused, answers)
	}
}

// handed are tools that hand a name to a program, which looks for itself where the
// name leads: what it may read is for the fence around it to say. Git has none.
var handed = map[string]bool{"test": true, "lint": true, "format": true, "typecheck": true,
	"git_status": true, "git_commit": true, "git_diff": true}

// raced is how long a tool is tried where no test may be skipped, else for a quarter of it.
const raced = 80 * time.Millisecond

// race calls a tool for a while, and returns how many of its answers there were, and
// how many that were failures.
func (s *swapper) race(d *Dialect, tool *Tool, p *Param) (answers, refused int) {
	s.fresh()
	s.start()
	s.mend()
	for end := time.Now().Add(raced / time.Duration(needs.Step(4))); time.Now().Before(end); {
		for _, value := range []string{"d/secret.txt", "d", "g", "d/new.txt", "d/sub/deep.txt", "d/../g"} {
			args := arguments(tool, p, quoted(value), s.url)
			reply := d.Do(s.t.Context(), s.x, &skill.Session{},
				parser.ToolCall{Name: tool.Name, Arguments: args})
			s.told(d, tool, value, reply)
			if answers++; reply.Err != nil {
				refused++
			}
			s.mend()
		}
	}
	s.end()
	now := s.snapshot(s.ws)
	if found := s.stolen(s.before, now); found != "" {
		s.t.Errorf("%s %s %s: %s holds what is outside", d.Name, tool.Name, p.Name, found)
	}
	s.do(os.RemoveAll(s.base + "/swap"))
	s.unmoved(d.Name + " " + tool.Name + " " + p.Name)
	return answers, refused
}

// told fails the test if the answer tells what is outside.
func (s *swapper) told(d *Dialect, tool *Tool, value string, reply Reply) {
	said := reply.Body
	if f, ok := reply.Result.(skill.FileRead); ok {
		said += string(f.Content)
	}
	if strings.Contains(said, secret) {
		s.t.Errorf("%s %s %s tells what is outside: %.300q", d.Name, tool.Name, value, said)
	}
}
