package process

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A forked process makes the calls of its plan up to the first error, tells what they returned, and
// leaves open what it tells.
func TestPlan(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPlan(unix.CLONE_FILES)
	opened, absent, instead := p.result(), p.result(), p.result()
	p.open(file, opened)
	p.open(file+"/none", absent).mayFail()
	p.open(file+"-none", absent).mayMiss = true
	p.open(file, instead).without(absent)
	p.call(unix.SYS_UNLINKAT, unix.AT_FDCWD, file, 0).when(absent)
	p.write(file, "new", false)
	p.write(file+"-none", "new", true)
	r, err := p.finish()
	if err != nil || r.fd(absent) != -1 {
		t.Fatalf("%v, %+v", err, r)
	}
	for _, fd := range []result{opened, instead} {
		var text [4]byte
		if n, err := unix.Read(r.fd(fd), text[:]); string(text[:max(n, 0)]) != "new" {
			t.Errorf("descriptor %d reads %q, %v", fd, text, err)
		}
		unix.Close(r.fd(fd))
	}
}

// At an error the process closes what it has opened, and tells which error it is.
func TestPlanFails(t *testing.T) {
	var here unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, "/", 0, unix.STATX_INO, &here); err != nil {
		t.Skip("statx is needed:", err)
	}
	for name, tt := range map[string]struct {
		add  func(p *plan)
		want error
	}{
		"missing":  {func(p *plan) { p.open("/no/such/file", 0) }, syscall.ENOENT},
		"as":       {func(p *plan) { p.open("/no/such/file", 0).fails(syscall.EAGAIN) }, syscall.EAGAIN},
		"not miss": {func(p *plan) { p.open("/dev/null/x", 0).mayMiss = true }, syscall.ENOTDIR},
		"other":    {func(p *plan) { p.is(unix.AT_FDCWD, "/proc", here) }, syscall.ESTALE},
		"number":   {func(p *plan) { p.call(unix.SYS_GETPPID).returns(0) }, syscall.ESRCH},
		"same":     {func(p *plan) { p.is(unix.AT_FDCWD, "/", here) }, nil},
		"killed":   {func(p *plan) { p.call(unix.SYS_EXIT, 0) }, errKilled},
	} {
		p := newPlan(unix.CLONE_FILES)
		fd := p.result()
		p.open("/", fd)
		tt.add(p)
		p.part = 7
		p.call(unix.SYS_CLOSE, 1<<20).mayFail()
		r, err := p.finish()
		if !errors.Is(err, tt.want) || r.part != 0 {
			t.Errorf("%s: %v in part %d, want %v", name, err, r.part, tt.want)
		}
		if opened := r.fd(fd); opened > 0 {
			_, err := unix.FcntlInt(uintptr(opened), unix.F_GETFD, 0)
			if (err == nil) != (tt.want == nil) {
				t.Errorf("%s: the descriptor that it opened: %v", name, err)
			}
			unix.Close(opened)
		}
	}
}
