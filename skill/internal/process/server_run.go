package process

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"textskill/skill/internal/history"
	"textskill/skill/internal/refusal"
	"textskill/skill/internal/workspace"
)

// pollInterval is how often the state of a starting server is read.
const pollInterval = 20 * time.Millisecond

// settles is how long a server without a port runs on after its first output: a mistyped command prints, and ends.
const settles = 100 * time.Millisecond

// StartServer starts a server and waits until it listens, ends, or a.Wait is over. A
// relative a.Dir starts at base. A server that does not become ready is a
// [*NotServingError].
func (x *Runner) StartServer(ctx context.Context, base string, a ServerCommand) (ServerState, error) {
	if err := cmp.Or(x.checkCommands(), a.check()); err != nil {
		return ServerState{}, err
	}
	if x.cfg.Helper == "" || !canSupervise {
		return ServerState{}, errors.New("servers in the background are supported only on Linux, where a helper process supervises them")
	}
	wd, err := x.OpenDir(base, a.Dir)
	if err != nil {
		return ServerState{}, err
	}
	defer wd.Close()
	dir, err := x.ws.State(history.Servers)
	if err != nil {
		return ServerState{}, err
	}
	defer dir.Close()
	release, err := lockServers(ctx, dir)
	if err != nil {
		return ServerState{}, err
	}
	defer release()
	if a.Port != 0 {
		if err := x.portFree(ctx, dir, a.Port); err != nil {
			return ServerState{}, err
		}
	}
	x.forgetEnded(dir)
	id := strings.ToLower(rand.Text()[:6])
	fence, set, err := x.fenceFor(a.Port, func() (string, error) { return makeServerTemp(id) })
	if err != nil {
		return ServerState{}, err
	}
	shown := x.WithoutSecrets(a.Command)
	r := serverRecord{ID: id, Command: shown, Dir: wd.Path, Port: a.Port, Started: time.Now(),
		NoTCP: fence.on && x.Fence().TCP}
	sh := "/bin/sh"
	if a.Shell {
		sh = shell()
	}
	set = slices.Concat(set, unattended)
	if a.TTY {
		set = append(set, "TERM=xterm")
	}
	spec := Spec{Path: sh, Args: []string{sh, "-c", a.Command}, Env: x.Environment(set, wd.Path),
		Dir: wd.Handle, fence: fence, server: true, reach: x.reach(), secrets: x.secretValues()}
	if a.TTY {
		spec.terminal = terminalOfServer()
	}
	spec.fence.guardGit(x, x.gitPaths(ctx))
	if err := x.shareServer(dir, &r, &spec); err != nil {
		return ServerState{}, err
	}
	defer spec.extras.close()
	if err := x.launchServer(dir, &r, spec); err != nil {
		return ServerState{}, err
	}
	release() // from now on the record marks the port as taken

	// If this fails, undo says nothing of the server.
	x.ws.RecordServer(context.WithoutCancel(ctx), shown)
	return x.awaitServer(ctx, dir, r, a)
}

// portFree fails if something listens on the port, or a server will.
func (x *Runner) portFree(ctx context.Context, dir *os.Root, port int) error {
	for _, r := range readRecords(dir) {
		if s := x.serverState(dir, r); r.Port == port && s.Running {
			how := "is being started"
			if s.Pid != 0 {
				how = fmt.Sprintf("runs as process %d", s.Pid)
			}
			return fmt.Errorf("port %d is that of server %s, which %s; stop it first", port, r.ID, how)
		}
	}
	if listens(ctx, port) {
		if pid := listeningPid(port); pid != 0 {
			return fmt.Errorf("port %d is taken by process %d", port, pid)
		}
		return fmt.Errorf("port %d is taken", port)
	}
	return nil
}

// launchServer starts the helper, writes the record, and only then lets the helper start
// the server: no server runs without a record.
func (x *Runner) launchServer(dir *os.Root, r *serverRecord, spec Spec) error {
	logs, err := x.ws.State(history.Output)
	if err != nil {
		return err
	}
	defer logs.Close()
	const flags = os.O_CREATE | os.O_EXCL | os.O_RDWR | os.O_APPEND
	log, err := logs.OpenFile(serverLogName(r.ID), flags, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	events, err := dir.OpenFile(r.ID+eventsSuffix, flags, 0o600)
	if err != nil {
		return err
	}
	defer events.Close()
	helper, err := startServerHelper(x.cfg.Helper, spec, events, log)
	if err == nil {
		r.Helper, err = helper.id()
		err = cmp.Or(err, r.save(dir))
		helper.release(err == nil)
	}
	if err != nil {
		x.removeRecord(dir, r.ID)
	}
	return err
}

// awaitServer waits until a server listens, has ended, or a.Wait is over. A server without a port is also awaited
// no longer than until it prints.
func (x *Runner) awaitServer(ctx context.Context, dir *os.Root, r serverRecord,
	a ServerCommand) (ServerState, error) {
	wait := cmp.Or(a.Wait, time.Second)
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	awaited := "port " + strconv.Itoa(a.Port)
	if a.Port == 0 {
		awaited = "its first output"
	}
	shown := a.Port != 0
	for left := patient(wait); ; {
		s := x.serverState(dir, r)
		switch {
		case s.Pid == 0: // the command has not begun
			left = patient(wait)
		case !shown && x.shows(s):
			shown, left = true, patient(min(left.left, settles))
		}
		over := left.over()
		switch _, last := readEvents(dir, r.ID); last.Kind {
		case eventFailed:
			x.removeRecord(dir, r.ID)
			return ServerState{}, &SpawnError{Command: "/bin/sh", Err: syscall.Errno(last.Value)}
		case eventUnfenced:
			x.removeRecord(dir, r.ID)
			return ServerState{}, fenceUnavailable("Landlock could not be used")
		}
		switch {
		case !s.Running:
			os.Remove(serverTemp(r.ID))
			text, _ := x.lastLines(r.ID, 20)
			return ServerState{}, &NotServingError{s, 0, text}
		case s.Pid != 0 && a.Port != 0 && listens(ctx, a.Port):
			s.Ready = true
			return s, nil
		case ctx.Err() != nil:
			x.endServer(dir, r)
			return ServerState{}, context.Cause(ctx)
		case s.Pid == 0 || !over:
		case a.MustListen && a.Port != 0:
			s = x.endServer(dir, r)
			text, _ := x.lastLines(r.ID, 20)
			return ServerState{}, &NotServingError{s, wait, text}
		default:
			return s, nil
		}
		workspace.Report(ctx, 0, 0, "waiting for "+awaited)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// shows reports whether a server has printed something, listens at a port, or watches files.
func (x *Runner) shows(s ServerState) bool {
	_, printed := x.logFrom(s.ID, 0)
	return printed > 0 || waits(append(descendants(s.Pid), s.Pid))
}

// endServer stops a server if it runs, and returns its state afterwards.
func (x *Runner) endServer(dir *os.Root, r serverRecord) ServerState {
	s := x.serverState(dir, r)
	if s.Running {
		r.Helper.stop()
		os.Remove(serverTemp(r.ID)) // its helper has emptied it
		s = x.serverState(dir, r)
	}
	return s
}

// findServers returns the directory of the records, which the caller closes, and the
// records that match n, the newest first.
func (x *Runner) findServers(n ServerName) (dir *os.Root, list []serverRecord, err error) {
	if err := x.CheckAllowed("access to servers"); err != nil {
		return nil, nil, err
	}
	if dir, err = x.ws.State(history.Servers); err != nil {
		return nil, nil, err
	}
	for _, r := range readRecords(dir) {
		if (n.ID == "" || n.ID == r.ID) && (n.Port == 0 || n.Port == r.Port) {
			list = append(list, r)
		}
	}
	return dir, list, nil
}

// findServer is findServers for one record: the newest that runs, or else the newest.
func (x *Runner) findServer(n ServerName) (*os.Root, serverRecord, error) {
	if n == (ServerName{}) {
		return nil, serverRecord{},
			&refusal.ArgError{Arg: "id", Reason: "or port has to say which server is meant"}
	}
	dir, list, err := x.findServers(n)
	if err != nil {
		return nil, serverRecord{}, err
	}
	for _, r := range list {
		if r.Helper.isRunning() {
			return dir, r, nil
		}
	}
	if len(list) == 0 {
		dir.Close()
		return nil, serverRecord{}, fmt.Errorf("%w %s", ErrNoServer, n)
	}
	return dir, list[0], nil
}

// Servers lists the servers that match name and were started in this workspace.
func (x *Runner) Servers(ctx context.Context, name ServerName) (Servers, error) {
	dir, list, err := x.findServers(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	all := make(Servers, len(list))
	for i, r := range list {
		all[i] = x.liveState(ctx, dir, r)
	}
	return all, nil
}

// ServerLog returns the last lines of a server's output; 0 lines means 50.
func (x *Runner) ServerLog(ctx context.Context, name ServerName, lines int) (ServerLog, error) {
	dir, r, err := x.findServer(name)
	if err != nil {
		return ServerLog{}, err
	}
	defer dir.Close()
	text, more := x.lastLines(r.ID, cmp.Or(lines, 50))
	return ServerLog{x.liveState(ctx, dir, r), text, more}, nil
}

func (x *Runner) liveState(ctx context.Context, dir *os.Root, r serverRecord) ServerState {
	s := x.serverState(dir, r)
	s.Ready = s.Running && r.Port != 0 && listens(ctx, r.Port)
	return s
}

// An Input is typed into a server.
type Input struct {
	ServerName
	Text string // may hold control characters: \x03 for Ctrl-C, \x04 for the end in a terminal
	// return once the server has printed this; "" means once it prints nothing for a moment
	Wait  string
	Limit time.Duration // 0 means 10 seconds
}

// quietFor is how long a server prints nothing when it has answered.
const quietFor = 300 * time.Millisecond

// Type types into a server, and returns what it prints from then on.
func (x *Runner) Type(ctx context.Context, in Input) (ServerLog, error) {
	dir, r, err := x.findServer(in.ServerName)
	if err != nil {
		return ServerLog{}, err
	}
	defer dir.Close()
	_, from := x.logFrom(r.ID, 0)
	if in.Text != "" {
		if err := typeInto(dir, r.ID, in.Text); err != nil {
			return ServerLog{}, err
		}
	}
	var text []byte
	limit, quiet := patient(cmp.Or(in.Limit, 10*time.Second)), patient(quietFor)
	for {
		over, still := limit.over(), quiet.over()
		if now, _ := x.logFrom(r.ID, from); len(now) != len(text) {
			text, quiet, still = now, patient(quietFor), false
		}
		s := x.serverState(dir, r)
		found := in.Wait != "" && bytes.Contains(text, []byte(in.Wait))
		if found || over || !s.Running ||
			in.Wait == "" && still {
			return ServerLog{ServerState: s, Text: bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))}, nil
		}
		select {
		case <-ctx.Done():
			return ServerLog{}, context.Cause(ctx)
		case <-time.After(pollInterval):
		}
	}
}

// StopServer ends a server and all that it started: with SIGTERM, and after 5 s with
// SIGKILL.
func (x *Runner) StopServer(name ServerName) (ServerState, error) {
	dir, r, err := x.findServer(name)
	if err != nil {
		return ServerState{}, err
	}
	defer dir.Close()
	s := x.endServer(dir, r)
	if s.Running {
		return ServerState{}, errors.New(s.Message() + ", and could not be ended")
	}
	return s, nil
}
