package process

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"textskill/skill/internal/words"
	"textskill/skill/internal/workspace"
)

// serverRecord is what is kept of a server, in a file of its own. Beside it is a
// file with the events of its helper.
type serverRecord struct {
	ID      string    `json:"id"`
	Command string    `json:"command"`
	Dir     string    `json:"cwd"`
	Port    int       `json:"port"`
	Started time.Time `json:"started"`
	Helper  process   `json:"helper"`
	NoTCP   bool      `json:"noTCP"` // it was denied, but for listening on Port
}

// process is a process, told from those that had its number before.
type process struct {
	Pid   int    `json:"pid"`
	Begin uint64 `json:"begin"` // when it began, in ticks since the system did
}

// The names of a server's files.
const (
	recordEnd = ".json"
	eventsEnd = ".events"
)

// serverID is what an id looks like, as a file names it.
var serverID = words.Pattern(`^[a-z2-7]{6}$`)

// keptServers is how many servers are remembered that have ended.
const keptServers = 10

func serverLogName(id string) string { return "server-" + id + ".log" }

// serverLog is where a server's log is, absolute.
func (x *Runner) serverLog(id string) string {
	return filepath.Join(x.ws.Dir(), filepath.FromSlash(workspace.OutputDir), serverLogName(id))
}

// save writes the record down whole.
func (r serverRecord) save(dir *os.Root) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := dir.WriteFile(r.ID+".new", append(data, '\n'), 0o600); err != nil {
		return err
	}
	return dir.Rename(r.ID+".new", r.ID+recordEnd)
}

// servers reads the records in a folder, the newest first. What is no record is
// passed over.
func servers(dir *os.Root) (list []serverRecord) {
	entries, _ := fs.ReadDir(dir.FS(), ".")
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), recordEnd)
		if !ok || !serverID().MatchString(id) || !e.Type().IsRegular() {
			continue
		}
		var r serverRecord
		data, err := dir.ReadFile(e.Name())
		if err == nil && json.Unmarshal(data, &r) == nil {
			r.ID = id
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b serverRecord) int { return b.Started.Compare(a.Started) })
	return list
}

// state tells how a server is, but for whether it listens.
func (x *Runner) state(dir *os.Root, r serverRecord) ServerState {
	s := ServerState{ID: r.ID, Command: r.Command, Dir: r.Dir, Port: r.Port, Started: r.Started, Log: x.serverLog(r.ID)}
	s.Running = r.Helper.helps()
	started, last := events(dir, r.ID)
	s.Pid = int(started.Value)
	s.Fence = Fence{ABI: int(started.More &^ heldSockets), TCP: r.NoTCP, UDP: started.More&heldSockets != 0}
	if s.Fence.ABI == 0 {
		s.Fence.Why = "it was started without"
	}
	if last.Kind == eventEnded {
		s.Running = false
		s.ExitCode, s.Signal = howEnded(last)
	}
	s.Lost = !s.Running && last.Kind != eventEnded
	return s
}

// events returns the event of a server's start and the last one.
func events(dir *os.Root, id string) (started, last event) {
	data, _ := dir.ReadFile(id + eventsEnd)
	for b := bytes.NewReader(data); ; {
		var e event
		if binary.Read(b, binary.LittleEndian, &e) != nil {
			return started, last
		}
		if last = e; e.Kind == eventStarted {
			started = e
		}
	}
}

// serverTemp is where a server has its temporary files.
func serverTemp(id string) string { return filepath.Join(os.TempDir(), "skill-server-"+id) }

func makeServerTemp(id string) (string, error) {
	if err := os.Mkdir(serverTemp(id), 0o700); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(serverTemp(id))
}

// forget removes what is kept of a server.
func (x *Runner) forget(dir *os.Root, id string) {
	dir.Remove(id + recordEnd)
	dir.Remove(id + eventsEnd)
	if logs, err := x.ws.State(path.Base(workspace.OutputDir)); err == nil {
		logs.Remove(serverLogName(id))
		logs.Close()
	}
}

// forgetOld keeps the newest of those that have ended.
func (x *Runner) forgetOld(dir *os.Root) {
	ended := 0
	for _, r := range servers(dir) {
		if r.Helper.helps() {
			continue
		}
		os.Remove(serverTemp(r.ID))
		if ended++; ended > keptServers {
			x.forget(dir, r.ID)
		}
	}
}

// maxLogRead is how much of the end of a log is looked at, in bytes.
const maxLogRead = 256 << 10

// lastLines returns the last lines of a server's log.
func (x *Runner) lastLines(id string, n int) (text []byte, more bool) {
	logs, err := x.ws.State(path.Base(workspace.OutputDir))
	if err != nil {
		return nil, false
	}
	defer logs.Close()
	f, err := logs.Open(serverLogName(id))
	if err != nil {
		return nil, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	from := max(0, info.Size()-maxLogRead)
	data := make([]byte, min(info.Size(), maxLogRead))
	got, _ := f.ReadAt(data, from)
	data = data[:got]
	at := len(bytes.TrimSuffix(data, []byte("\n")))
	for ; n > 0 && at >= 0; n-- {
		at = bytes.LastIndexByte(data[:at], '\n')
	}
	return data[at+1:], at >= 0 || from > 0
}
