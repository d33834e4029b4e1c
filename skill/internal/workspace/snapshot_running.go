package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// runningName is a folder of the store. It has a file for each program that runs, which the process that
// runs it has locked.
const runningName = "running"

// maxRunning is the size in bytes up to which such a file is read.
const maxRunning = 1 << 20

// A running program is what such a file holds.
type running struct {
	Command, Dialect, Tool, Run string
	Step                        int
}

// Begin notes that a program called command is about to run, until end is called, for the case that this
// process is killed meanwhile. Where that cannot be noted, as on a full disk, the program may run as well.
func (w *Workspace) Begin(ctx context.Context, command string) (end func()) {
	h := w.recording()
	if h == nil {
		return func() {}
	}
	var f *os.File
	name := fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano())
	h.inRunning(func(d tree.Folder) {
		var err error
		if f, err = d.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return
		}
		r := running{Command: command, Run: runOf(ctx).Run, Step: runOf(ctx).Step}
		r.Dialect, r.Tool = labelOf(ctx)
		json.NewEncoder(f).Encode(r)
		tree.TryLock(int(f.Fd()), true)
		if again, ok := lockUnused(d, name); ok { // locks do not hold here
			again.Close()
			f.Close()
			discard(d, name)
		}
	})
	return func() {
		h.inRunning(func(d tree.Folder) { discard(d, name) })
		f.Close()
	}
}

// lockUnused opens and locks a file, unless a process has locked it.
func lockUnused(d tree.Folder, name string) (f *os.File, ok bool) {
	f, _, err := tree.RegularFile(d.OpenFile(name, os.O_RDWR, 0))
	if err != nil {
		return nil, false
	}
	if ok, err = tree.TryLock(int(f.Fd()), true); !ok || err != nil {
		f.Close()
		return nil, false
	}
	return f, true
}

// inRunning calls do with the folder of programs that run, while nobody else of this kind uses it.
func (h *history) inRunning(do func(d tree.Folder)) {
	d, err := h.folder(runningName)
	if err != nil {
		return
	}
	defer d.close()
	fd, ok := d.top.FD()
	for start := time.Now(); ok && time.Since(start) < lockTime; time.Sleep(time.Millisecond) {
		if free, err := tree.TryLock(fd, true); free || err != nil {
			do(d.top)
			return
		}
	}
}

// recordKilled records the programs during which their process was killed: it is not known what they changed.
func (w *Workspace) recordKilled(ctx context.Context) {
	h := w.recording()
	if h == nil {
		return
	}
	h.inRunning(func(d tree.Folder) {
		entries, _ := d.Entries()
		for _, e := range entries {
			f, ok := lockUnused(d, e.Name)
			if !ok {
				continue
			}
			var r running
			json.NewDecoder(io.LimitReader(f, maxRunning)).Decode(&r) // of a file that a power cut left empty, nothing is known
			by := WithRun(WithLabel(ctx, r.Dialect, r.Tool), RunStep{Run: r.Run, Step: r.Step})
			if w.RecordUnknown(by, r.Command, "it is not known what the command changed: skill was killed while it ran") == nil {
				discard(d, e.Name)
			}
			f.Close()
		}
	})
}
