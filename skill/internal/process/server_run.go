package process

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"textskill/skill/internal/refusal"
	"textskill/skill/internal/workspace"
)

// lookAgain is the time between two looks at a server that starts.
const lookAgain = 20 * time.Millisecond

// StartServer starts a server, in a folder that starts at base where it is relative.
// Errors are [*PortTakenError], [*NotServingError] or those of [Runner.Exec].
func (x *Runner) StartServer(ctx context.Context, base string, a ServerCommand) (ServerState, error) {
	if err := cmp.Or(x.MayAct("running a program"), a.check()); err != nil {
		return ServerState{}, err
	}
	if x.cfg.Helper == "" || !canHelp {
		return ServerState{}, errors.New("a server in the background needs a process that watches it, which this program has only on Linux")
	}
	wd, err := x.OpenDir(base, a.Dir)
	if err != nil {
		return ServerState{}, err
	}
	defer wd.Close()
	dir, err := x.ws.State("servers")
	if err != nil {
		return ServerState{}, err
	}
	defer dir.Close()
	release := lockServers(ctx, dir)
	defer release()
	if err := x.portFree(ctx, dir, a.Port); err != nil {
		return ServerState{}, err
	}
	x.forgetOld(dir)
	id := strings.ToLower(rand.Text()[:6])
	fence, set, err := x.fenceFor(a.Port, func() (string, error) { return makeServerTemp(id) })
	if err != nil {
		return ServerState{}, err
	}
	r := serverRecord{ID: id, Command: a.Command, Dir: wd.Path, Port: a.Port, Started: time.Now(), NoTCP: fence.on && x.Fence().TCP}
	o := Spec{Path: "/bin/sh", Args: []string{"/bin/sh", "-c", a.Command}, Env: x.Environment(slices.Concat(set, unattended), wd.Path), Dir: wd.Handle, fence: fence, stay: true}
	if err := x.launchServer(dir, &r, o); err != nil {
		return ServerState{}, err
	}
	release() // others see by the record that the port is taken
	return x.awaitServer(ctx, dir, r, a)
}

// portFree fails if something listens on the port, or a server is to.
func (x *Runner) portFree(ctx context.Context, dir *os.Root, port int) error {
	for _, r := range servers(dir) {
		if s := x.state(dir, r); r.Port == port && s.Running {
			return &PortTakenError{port, s.Pid, r.ID}
		}
	}
	if listens(ctx, port) {
		return &PortTakenError{port, listener(port), ""}
	}
	return nil
}

// launchServer starts the helper with its files and writes the record down before
// the helper is told what to do.
func (x *Runner) launchServer(dir *os.Root, r *serverRecord, o Spec) error {
	logs, err := x.ws.State(path.Base(workspace.OutputDir))
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
	news, err := dir.OpenFile(r.ID+eventsEnd, flags, 0o600)
	if err != nil {
		return err
	}
	defer news.Close()
	helper, err := startStaying(x.cfg.Helper, o, news, log)
	if err == nil {
		r.Helper, err = helper.process()
		err = cmp.Or(err, r.save(dir))
		helper.release(err == nil)
	}
	if err != nil {
		x.forget(dir, r.ID)
	}
	return err
}

// awaitServer waits until a server listens, has ended, or has had its time.
func (x *Runner) awaitServer(ctx context.Context, dir *os.Root, r serverRecord, a ServerCommand) (ServerState, error) {
	wait := cmp.Or(a.Wait, time.Second)
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for end := time.Now().Add(wait); ; {
		s := x.state(dir, r)
		switch _, last := events(dir, r.ID); last.Kind {
		case eventFailed:
			x.forget(dir, r.ID)
			return ServerState{}, &SpawnError{Command: "/bin/sh", Err: errnoOf(last)}
		case eventUnfenced:
			x.forget(dir, r.ID)
			return ServerState{}, unfenced("Landlock could not be used")
		}
		switch {
		case !s.Running:
			os.Remove(serverTemp(r.ID))
			text, _ := x.lastLines(r.ID, 20)
			return ServerState{}, &NotServingError{s, 0, text}
		case s.Pid != 0 && listens(ctx, a.Port):
			s.Ready = true
			return s, nil
		case ctx.Err() != nil:
			x.endServer(dir, r)
			return ServerState{}, context.Cause(ctx)
		case s.Pid == 0 || time.Now().Before(end):
		case a.MustBe:
			text, _ := x.lastLines(r.ID, 20)
			return ServerState{}, &NotServingError{x.endServer(dir, r), wait, text}
		default:
			return s, nil
		}
		workspace.Report(ctx, 0, 0, "waiting for port "+strconv.Itoa(a.Port))
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// endServer ends a server and tells how it is then.
func (x *Runner) endServer(dir *os.Root, r serverRecord) ServerState {
	s := x.state(dir, r)
	if s.Running {
		r.Helper.end(s.Pid)
		os.Remove(serverTemp(r.ID)) // which its helper has emptied
		s = x.state(dir, r)
	}
	return s
}

// named returns the folder of the records, and those of a name. The caller closes
// the folder.
func (x *Runner) named(n ServerName) (dir *os.Root, list []serverRecord, err error) {
	if err := x.MayAct("looking after servers"); err != nil {
		return nil, nil, err
	}
	if dir, err = x.ws.State("servers"); err != nil {
		return nil, nil, err
	}
	for _, r := range servers(dir) {
		if (n.ID == "" || n.ID == r.ID) && (n.Port == 0 || n.Port == r.Port) {
			list = append(list, r)
		}
	}
	return dir, list, nil
}

// one is named for the newest server of a name, one that runs before others.
func (x *Runner) one(n ServerName) (*os.Root, serverRecord, error) {
	if n == (ServerName{}) {
		return nil, serverRecord{}, &refusal.ArgError{Arg: "id", Reason: "or port has to say which server is meant"}
	}
	dir, list, err := x.named(n)
	if err != nil {
		return nil, serverRecord{}, err
	}
	for _, r := range list {
		if r.Helper.helps() {
			return dir, r, nil
		}
	}
	if len(list) == 0 {
		dir.Close()
		return nil, serverRecord{}, &NoServerError{n}
	}
	return dir, list[0], nil
}

// Servers finds the servers of a name that were started in this workspace.
func (x *Runner) Servers(ctx context.Context, name ServerName) (Servers, error) {
	dir, list, err := x.named(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	all := make(Servers, len(list))
	for i, r := range list {
		all[i] = x.state(dir, r)
		all[i].Ready = all[i].Running && listens(ctx, r.Port)
	}
	return all, nil
}

// ServerLog reads the last lines of what a server printed; 0 lines means 50.
func (x *Runner) ServerLog(ctx context.Context, name ServerName, lines int) (ServerLog, error) {
	dir, r, err := x.one(name)
	if err != nil {
		return ServerLog{}, err
	}
	defer dir.Close()
	text, more := x.lastLines(r.ID, cmp.Or(lines, 50))
	s := x.state(dir, r)
	s.Ready = s.Running && listens(ctx, r.Port)
	return ServerLog{s, text, more}, nil
}

// StopServer ends a server and all that it started: by SIGTERM, and five seconds
// later by force.
func (x *Runner) StopServer(name ServerName) (ServerState, error) {
	dir, r, err := x.one(name)
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
