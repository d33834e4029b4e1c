//go:build !linux

package process

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"

	"textskill/skill/internal/workspace"
)

// This system has no fence, no helpers, and therefore no servers and no network for commands alone.

type terminal struct{}

func openTerminalFor([]*os.File) *terminal         { return nil }
func terminalOfServer() *terminal                  { return nil }
func (*terminal) sockets(of []*os.File) []*os.File { return of }
func (*terminal) begin()                           {}
func (*terminal) finish() []byte                   { return nil }
func (*terminal) readsKeys() bool                  { return false }
func (*terminal) close()                           {}

// canSupervise reports whether this system lets a process adopt the orphans of its
// descendants.
const canSupervise = false

func landlockABI() int           { return 0 }
func canFilter() bool            { return false }
func canView([]fenceRule) uint32 { return 0 }

// openDirHandle returns path: only Linux has names for open directories.
func openDirHandle(path string, _ workspace.FileID) (handle string, release func(), err error) {
	return path, func() {}, nil
}

// HelperMain does nothing on this system.
func HelperMain() {}

// Undumpable does nothing on this system.
func Undumpable() error { return nil }

// Helpers does nothing on this system.
type Helpers struct{ One bool }

// Close does nothing on this system.
func (p *Helpers) Close() {}

func startSupervised(_ string, _ *Helpers, spec Spec, stdin, stdout, stderr *os.File) (Running, error) {
	return startGroup(spec, stdin, stdout, stderr)
}

// awaitEnd returns false: this system cannot wait for a process without freeing its id.
func awaitEnd(int) bool { return false }

func adoptOrphans() error            { return errors.New("only Linux lets a process adopt orphans") }
func startChild(cmd *exec.Cmd) error { return cmd.Start() }
func waitChild(cmd *exec.Cmd) error  { return cmd.Wait() }

type serverHelper struct{}

func startServerHelper(string, Spec, *os.File, *os.File) (*serverHelper, error) {
	return nil, errors.ErrUnsupported
}
func lockServers(context.Context, *os.Root) (func(), error) { return nil, errors.ErrUnsupported }

func (*serverHelper) id() (processID, error)  { return processID{}, errors.ErrUnsupported }
func (*serverHelper) release(bool)            {}
func (processID) isRunning() bool             { return false }
func (processID) stop()                       {}
func exitStatus(event) (int, string)          { return 0, "" }
func listeningPid(int) int                    { return 0 }
func descendants(int) []int                   { return nil }
func processorTime([]int) int64               { return 0 }
func waits([]int) bool                        { return false }
func readsKeys(int) bool                      { return false }
func typeInto(*os.Root, string, string) error { return errors.ErrUnsupported }

func (*Runner) hints(Command, string, []fenceRule, *Executed) []string { return nil }

type network struct{}

func (*network) alone() bool { return false }
func (*network) close()      {}

type session struct{}

func (*session) close()                                          {}
func (*session) refusedNames(list []string) []string             { return list }
func (*Runner) network() *network                                { return nil }
func (*Runner) listenApart() (*network, net.Listener)            { return nil, nil }
func (*Runner) shareServer(*os.Root, *serverRecord, *Spec) error { return nil }
func (*Spec) reserve(int) error                                  { return nil }
func (*Runner) whyShared(Fence) string                           { return "" }
func (*Runner) Apart() bool                                      { return false }
func (*Runner) DialLocal(int) (net.Conn, error)                  { return nil, errors.ErrUnsupported }
