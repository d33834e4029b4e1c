package process

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A helperProcess is a helper that waits for its command.
type helperProcess struct {
	cmd     *exec.Cmd
	channel *os.File    // a socket; closing it, also by the end of this process, makes the helper stop
	next    *time.Timer // makes another helper ready; nil if none is kept ready
}

func startHelper(path string) (*helperProcess, error) {
	if isHelper() {
		return nil, errors.New("this process was started as a helper and does not call HelperMain")
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	unix.SetNonblock(ends[0], true)
	channel, theirs := os.NewFile(uintptr(ends[0]), "helper"), os.NewFile(uintptr(ends[1]), "helper")
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		channel.Close()
		return nil, err
	}
	defer null.Close()
	places := make([]*os.File, maxFiles) // so that nothing else takes these numbers
	for i := range places {
		places[i] = null
	}
	cmd := &exec.Cmd{
		Path: path, Args: []string{helperName}, Env: []string{}, Stdin: theirs, ExtraFiles: places,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // not reached by the terminal's signals
	}
	if err := startChild(cmd); err != nil {
		channel.Close()
		return nil, fmt.Errorf("helper: %w", err)
	}
	return &helperProcess{cmd: cmd, channel: channel}, nil
}

// run makes the helper run spec, which writes to stdout and stderr and reads stdin. The
// helper writes its events to report.
func (h *helperProcess) run(spec Spec, report, stdin, stdout, stderr *os.File) error {
	dir, err := unix.Open(spec.Dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "chdir", Path: spec.Dir, Err: err}
	}
	defer unix.Close(dir)
	fds := []int{dir}
	for _, f := range append([]*os.File{reportFD - 3: report, stdoutFD - 3: stdout, stderrFD - 3: stderr,
		stdinFD - 3: stdin}, spec.Files...) {
		fds = append(fds, int(f.Fd()))
	}
	network, share, window, relay := spec.extraFiles()
	fds = slices.Concat(fds, network, share, window, relay)
	data := spec.encode()
	if _, err := h.send(data[:4], fds); err != nil {
		return err
	}
	h.channel.Write(data[4:]) // an error shows by its lack of events
	return nil
}

// send sends the first bytes of a Spec or a question, with descriptors.
func (h *helperProcess) send(data []byte, fds []int) (raw syscall.RawConn, err error) {
	if raw, err = h.channel.SyscallConn(); err != nil {
		return nil, err
	}
	controlErr := raw.Control(func(fd uintptr) {
		err = unix.Sendmsg(int(fd), data, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL)
	})
	return raw, errors.Join(controlErr, err)
}

// end makes a helper stop, and waits for that.
func (h *helperProcess) end() {
	h.running(nil)
	h.channel.Write([]byte{0}) // else it takes this for the end of its parent, and waits for that
	h.channel.Close()
	waitChild(h.cmd)
}

// running notes what makes another helper ready while this one runs a command, nil for the
// command's end.
func (h *helperProcess) running(next *time.Timer) {
	if h.next != nil {
		h.next.Stop()
	}
	h.next = next
}

// receiveFiles moves the files that come with the first bytes of a Spec to their places,
// enters its directory, and returns those bytes. The error is [io.EOF] if none comes. It is called
// in the helper.
func receiveFiles() (size [4]byte, err error) {
	n, fds, err := receive(0, size[:], 1+maxFiles, unix.MSG_WAITALL)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil || n != len(size) || len(fds) == 0 {
		return size, cmp.Or(err, errors.New("no spec came"))
	}
	err = unix.Fchdir(fds[0])
	unix.Close(fds[0])
	for i, fd := range fds[1:] {
		err = errors.Join(err, unix.Dup3(fd, reportFD+i, unix.O_CLOEXEC))
		unix.Close(fd)
	}
	return size, err
}

// Helpers keeps a helper ready for the next command, from the first command on: to start
// one takes some milliseconds. That is the helper of a command that has ended, or a new one
// once a command has taken a while. The zero Helpers is ready for use. It is safe for
// concurrent use.
type Helpers struct {
	One bool // keep a helper between the questions of one command, and none after the command

	mu     sync.Mutex
	ready  *helperProcess
	closed bool
}

// Close ends the helper that is ready.
func (p *Helpers) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.ready != nil {
		p.ready.end()
		p.ready = nil
	}
}

// soon is how long a command may take before another helper is made ready: to do that
// beside short commands would slow them down.
const soon = 100 * time.Millisecond

// take returns the helper that is ready, nil if none is. A nil Helpers has none.
func (p *Helpers) take() *helperProcess {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	h := p.ready
	p.ready = nil
	p.mu.Unlock()
	return h
}

func (p *Helpers) isForOne() bool { return p == nil || p.One }

// lent makes another helper ready soon, unless h has ended its command by then.
func (p *Helpers) lent(h *helperProcess, path string) {
	if !p.isForOne() {
		h.running(time.AfterFunc(soon, func() { p.prepare(path) }))
	}
}

// giveBack takes a helper that is ready for another command, in the place of one that was
// made ready meanwhile. A nil Helpers takes none.
func (p *Helpers) giveBack(h *helperProcess) {
	if p != nil {
		p.mu.Lock()
		if !p.closed {
			h.running(nil)
			p.ready, h = h, p.ready
		}
		p.mu.Unlock()
	}
	if h != nil {
		h.end()
	}
}

func (p *Helpers) prepare(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ready == nil && !p.closed {
		p.ready, _ = startHelper(path) // an error comes again with the next command
	}
}

// startHelperFor calls run with a helper that is ready, or else with a new one.
func startHelperFor(path string, ready *Helpers, run func(*helperProcess) error) (*helperProcess, error) {
	if h := ready.take(); h != nil {
		if err := run(h); err == nil {
			ready.lent(h, path)
			return h, nil
		}
		h.end() // it was killed meanwhile
	}
	h, err := startHelper(path)
	if err != nil {
		return nil, err
	}
	// a helper that has ended shows by its lack of events
	if err := run(h); err != nil && !errors.Is(err, unix.EPIPE) {
		h.end()
		return nil, err
	}
	ready.lent(h, path)
	return h, nil
}

// A question asks a helper for descriptors that only it makes. It is sent in the place of the
// length of a Spec, which is smaller.
type question uint32

const (
	askNetwork question = math.MaxUint32 - iota // for a new network
	askDirs                                     // for one without a network namespace
	askStreams                                  // for sockets of TCP in a network, of IPv4 and of IPv6
	askPackets                                  // for sockets of UDP in a network

	askLast = askPackets
)

// askTimeout is how long an answer of a helper may take.
const askTimeout = 5 * time.Second

// ask has a helper that waits for a command answer q about the network of files, if any.
func (h *helperProcess) ask(q question, files ...int) (fds []int, err error) {
	dir, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	raw, err := h.send(binary.LittleEndian.AppendUint32(nil, uint32(q)), append([]int{dir}, files...))
	if err != nil {
		return nil, err
	}
	h.channel.SetReadDeadline(time.Now().Add(askTimeout))
	defer h.channel.SetReadDeadline(time.Time{})
	return receiveFrom(raw)
}

// receiveFrom waits for what sendDescriptors sends.
func receiveFrom(raw syscall.RawConn) (fds []int, err error) {
	readErr := raw.Read(func(fd uintptr) bool {
		fds, err = receiveDescriptors(int(fd))
		return err != unix.EAGAIN
	})
	return fds, errors.Join(readErr, err)
}

// answerQuestion answers a question of the program, and fails if the program cannot be told.
func answerQuestion(q question) error {
	if q == askNetwork || q == askDirs {
		n, err := newNetwork(q == askNetwork)
		if err != nil {
			return sendDescriptors(0, nil, err)
		}
		defer n.close()
		return sendDescriptors(0, n.files(), nil)
	}
	n := &network{net: reportFD, users: -1}
	if needsUsers() {
		n.users = reportFD + 1
	}
	kinds := []socketKind{tcp4, tcp6}
	if q == askPackets {
		kinds = []socketKind{udp4, udp4, udp4} // the system's library asks three name servers at most
	}
	fds, err := n.sockets(kinds...)
	err = sendDescriptors(0, fds, err)
	for _, fd := range fds {
		unix.Close(fd)
	}
	return err
}

// sendDescriptors sends an errno, 0 for none, and descriptors if there is no error.
func sendDescriptors(to int, fds []int, err error) error {
	errno, known := errors.AsType[unix.Errno](err)
	var oob []byte
	switch {
	case err == nil:
		oob = unix.UnixRights(fds...)
	case !known:
		errno = unix.EIO
	}
	return unix.Sendmsg(to, binary.LittleEndian.AppendUint32(nil, uint32(errno)), oob, nil, unix.MSG_NOSIGNAL)
}

// receive reads bytes and the descriptors that come with them, at most a number.
func receive(from int, data []byte, most, flags int) (n int, fds []int, err error) {
	oob := make([]byte, unix.CmsgSpace(4*most))
	oobn, err := 0, error(unix.EINTR)
	for err == unix.EINTR {
		n, oobn, _, _, err = unix.Recvmsg(from, data, oob, unix.MSG_CMSG_CLOEXEC|flags)
	}
	if err != nil {
		return 0, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	for _, m := range messages {
		if rights, failed := unix.ParseUnixRights(&m); failed == nil {
			fds = append(fds, rights...)
		}
	}
	return n, fds, err
}

// receiveDescriptors is the other side of sendDescriptors.
func receiveDescriptors(from int) (fds []int, err error) {
	var said [4]byte
	n, fds, err := receive(from, said[:], maxSockets, 0)
	if errno := unix.Errno(binary.LittleEndian.Uint32(said[:])); err == nil && errno != 0 {
		err = errno
	}
	if err == nil && n != len(said) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return nil, err
	}
	return fds, nil
}
