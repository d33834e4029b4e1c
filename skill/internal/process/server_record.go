package process

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"textskill/skill/internal/history"
	"textskill/skill/internal/words"
)

// A serverRecord is stored in the file ID.json. The file ID.events beside it holds the
// events of the server's helper.
type serverRecord struct {
	ID      string    `json:"id"`
	Command string    `json:"command"`
	Dir     string    `json:"cwd"`
	Port    int       `json:"port"`
	Started time.Time `json:"started"`
	Helper  processID `json:"helper"`
	Net     uint64    `json:"net,omitempty"`   // the number of its [network]
	Reach   string    `json:"reach,omitempty"` // the hosts that it reaches from there
	NoTCP   bool      `json:"noTCP"`           // TCP is denied, except for listening on Port
}

// A processID identifies a process, even if its pid is reused.
type processID struct {
	Pid   int    `json:"pid"`
	Begin uint64 `json:"begin"` // start time in clock ticks since boot
}

// The suffixes of a server's files.
const (
	recordSuffix = ".json"
	eventsSuffix = ".events"
	doorSuffix   = ".sock" // the socket at which programs meet the server's helper
)

// serverID matches a server's id.
var serverID = words.Pattern(`^[a-z2-7]{6}$`)

// maxEndedServers is how many servers that have ended keep their record and log.
const maxEndedServers = 10

func serverLogName(id string) string { return "server-" + id + ".log" }

// serverLog returns the absolute path of a server's log.
func (x *Runner) serverLog(id string) string {
	return filepath.Join(x.ws.OutputDir(), serverLogName(id))
}

// save writes the record atomically.
func (r serverRecord) save(dir *os.Root) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := dir.WriteFile(r.ID+".new", append(data, '\n'), 0o600); err != nil {
		return err
	}
	return dir.Rename(r.ID+".new", r.ID+recordSuffix)
}

// readRecords returns the records in dir, the newest first. It ignores other files.
func readRecords(dir *os.Root) (list []serverRecord) {
	entries, _ := fs.ReadDir(dir.FS(), ".")
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), recordSuffix)
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

// serverState returns the state of a server, without Ready.
func (x *Runner) serverState(dir *os.Root, r serverRecord) ServerState {
	s := ServerState{ID: r.ID, Command: r.Command, Dir: r.Dir, Port: r.Port, Started: r.Started,
		Log: x.serverLog(r.ID)}
	s.Running = r.Helper.isRunning()
	started, last := readEvents(dir, r.ID)
	s.Pid = int(started.Value)
	s.Fence = fenceOf(started.More)
	s.Fence.TCP = r.NoTCP
	if s.Fence.ABI == 0 {
		s.Fence.Why = "it was started without"
	}
	if last.Kind == eventEnded {
		s.Running = false
		s.ExitCode, s.Signal = exitStatus(last)
	}
	s.Lost = !s.Running && last.Kind != eventEnded
	return s
}

// An event is a message of a helper about its command.
type event struct{ Kind, Value, More uint32 }

const (
	eventFailed  = 1 + iota // the command did not start; Value: errno. No event follows.
	eventStarted            // Value: process id; More: see [fence.launch]
	// Value: wait status; More: number of processes that could not be ended. No event follows.
	eventEnded
	eventUnfenced // the command did not start because the fence failed. No event follows.
	eventRefused  // Value: length of the name of a host that the command may not reach, which follows
	eventFull     // Value: length of the name of a directory in memory that is full, which follows
	// Value: length of the command line of a process that was ended after the command, which follows
	eventLeft
)

// readEvents returns a server's eventStarted, if any, and its last event.
func readEvents(dir *os.Root, id string) (started, last event) {
	data, _ := dir.ReadFile(id + eventsSuffix)
	for r := bytes.NewReader(data); ; {
		var e event
		if binary.Read(r, binary.LittleEndian, &e) != nil {
			return started, last
		}
		if last = e; e.Kind == eventStarted {
			started = e
		}
	}
}

// serverTemp returns a server's directory for temporary files.
func serverTemp(id string) string { return filepath.Join(os.TempDir(), "skill-server-"+id) }

func makeServerTemp(id string) (string, error) {
	if err := os.Mkdir(serverTemp(id), 0o700); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(serverTemp(id))
}

// removeRecord removes what is kept of a server.
func (x *Runner) removeRecord(dir *os.Root, id string) {
	dir.Remove(id + recordSuffix)
	dir.Remove(id + eventsSuffix)
	dir.Remove(id + doorSuffix)
	if logs, err := x.ws.State(history.Output); err == nil {
		logs.Remove(serverLogName(id))
		logs.Close()
	}
}

// forgetEnded removes the records of ended servers, except for the newest maxEndedServers.
func (x *Runner) forgetEnded(dir *os.Root) {
	ended := 0
	for _, r := range readRecords(dir) {
		if x.serverState(dir, r).Running {
			continue
		}
		os.RemoveAll(serverTemp(r.ID)) // its helper has removed it, unless it was killed
		dir.Remove(r.ID + doorSuffix)
		if ended++; ended > maxEndedServers {
			x.removeRecord(dir, r.ID)
		}
	}
}

// maxLogRead is how many bytes at the end of a log are searched for its last lines.
const maxLogRead = 256 << 10

// lastLines returns the last n lines of a server's log, and whether there are earlier ones.
func (x *Runner) lastLines(id string, n int) (text []byte, more bool) {
	data, size := x.logFrom(id, 0)
	at := len(bytes.TrimSuffix(data, []byte("\n")))
	for ; n > 0 && at >= 0; n-- {
		at = bytes.LastIndexByte(data[:at], '\n')
	}
	return data[at+1:], at >= 0 || size > maxLogRead
}

// logFrom returns the size of a server's log, and what it holds from a position on: the end of that if
// it is much, and all if the log has been trimmed since.
func (x *Runner) logFrom(id string, from int64) (data []byte, size int64) {
	logs, err := x.ws.State(history.Output)
	if err != nil {
		return nil, 0
	}
	defer logs.Close()
	f, err := logs.Open(serverLogName(id))
	if err != nil {
		return nil, 0
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, 0
	}
	size = info.Size()
	if from > size {
		from = 0
	}
	from = max(from, size-maxLogRead)
	data = make([]byte, size-from)
	got, _ := f.ReadAt(data, from)
	return data[:got], size
}
