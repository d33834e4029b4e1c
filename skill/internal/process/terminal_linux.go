package process

import (
	"cmp"
	"os"
	"os/signal"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// A terminal is that of a person's command, which never gets the person's own: it could push characters
// into that, read what is typed for others, and change its modes. A relay passes keys and output on. The keys for
// signals are the command's. The helper makes it, where the command finds it by its name.
type terminal struct {
	seat
	stream            // until [terminal.begin], sockets: the helper sends its terminal through theirs
	person   *os.File // the relay reads keys from it
	shows    *os.File // the relay writes output to it
	socket   *os.File // theirs, until then
	front    bool     // the person types for the command, and the terminal is in raw mode
	end      [2]int   // a pipe, closed to end the relay
	done     chan struct{}
	overhear headTail
}

// A seat describes a terminal to the helper.
type seat struct {
	Streams uint8 // bit n: it is stream n of the command
	Mode    unix.Termios
	Size    unix.Winsize
}

func terminalOfServer() *terminal {
	return &terminal{seat: seat{Streams: 0b111, Size: unix.Winsize{Row: 40, Col: 120}}}
}

// openTerminalFor begins the terminal of a command on three streams; nil if none is a terminal, or if another
// program of a pipeline may read keys, too.
func openTerminalFor(streams []*os.File) *terminal {
	t := &terminal{done: make(chan struct{}), overhear: headTail{limit: 2 * hintedOutput}}
	piped := false
	for _, f := range streams {
		switch info, err := f.Stat(); {
		case terminalOf(f) == 0:
			piped = piped || err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
		case t.person == nil:
			t.person, t.shows = f, f
		case isSameTerminal(f, t.person):
			t.shows = f
		}
	}
	if t.person == nil || piped && t.inFront() {
		return nil
	}
	for i, f := range streams {
		if isSameTerminal(f, t.person) {
			t.Streams |= 1 << i
		}
	}
	mode, err := unix.IoctlGetTermios(int(t.person.Fd()), unix.TCGETS)
	size, serr := unix.IoctlGetWinsize(int(t.person.Fd()), unix.TIOCGWINSZ)
	if cmp.Or(err, serr) != nil {
		return nil
	}
	t.Mode, t.Size = *mode, *size
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	t.stream, t.socket = stream{ours: ends[0], theirs: ends[1]}, os.NewFile(uintptr(ends[1]), "terminal")
	if err := unix.Pipe2(t.end[:], unix.O_CLOEXEC); err != nil {
		unix.Close(t.ours)
		t.socket.Close()
		return nil
	}
	return t
}

// sockets returns the streams of a command with a socket for each that becomes the terminal.
func (t *terminal) sockets(of []*os.File) []*os.File { return replace(t.seat, of, t.socket) }

// open makes the terminal, in this /dev/pts of a view if that is more than 0.
func (t *terminal) open(pts int) (err error) {
	if t.stream, err = openTerminal(pts); err != nil {
		return err
	}
	if t.Mode != (unix.Termios{}) {
		err = unix.IoctlSetTermios(t.theirs, unix.TCSETS, &t.Mode)
	}
	return cmp.Or(err, unix.IoctlSetWinsize(t.ours, unix.TIOCSWINSZ, &t.Size))
}

// replace puts a file in the place of each stream of the terminal.
func replace[F any](s seat, of []F, by F) []F {
	of = slices.Clone(of)
	for i := range min(3, len(of)) {
		if s.Streams&(1<<i) != 0 {
			of[i] = by
		}
	}
	return of
}

// readsKeys reports whether the command reads keys one by one.
func (t *terminal) readsKeys() bool { return readsKeys(t.ours) }

// terminalOf returns the number of a terminal, 0 for another file.
func terminalOf(f *os.File) uint32 {
	device, err := unix.IoctlGetUint32(int(f.Fd()), unix.TIOCGDEV)
	if err != nil {
		return 0
	}
	return device
}

func isSameTerminal(a, b *os.File) bool { return terminalOf(a) != 0 && terminalOf(a) == terminalOf(b) }

// inFront reports whether a person types for this program: a job in the background must not read keys, nor may a
// program of another session.
func (t *terminal) inFront() bool {
	group, err := unix.IoctlGetInt(int(t.person.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// takeKeys reports whether keys are the command's now. If they have become so, it sets the terminal's mode.
func (t *terminal) takeKeys() bool {
	was := t.front
	if t.front = t.inFront(); t.front && !was {
		raw := t.Mode
		raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL |
			unix.IXON
		raw.Oflag &^= unix.OPOST
		raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
		raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
		unix.IoctlSetTermios(int(t.person.Fd()), unix.TCSETS, &raw)
	}
	return t.front
}

// begin gets the terminal from the helper of a command that was started, and starts the relay.
func (t *terminal) begin() {
	t.socket.Close()
	fds, err := receiveDescriptors(t.ours)
	if err != nil || len(fds) != 2 { // the command could not be started
		close(t.done)
		return
	}
	unix.Dup3(fds[0], t.ours, unix.O_CLOEXEC) // fails for no terminal
	unix.Close(fds[0])
	unix.SetNonblock(t.ours, true)
	t.theirs = fds[1]
	t.takeKeys()
	t.resize()
	go t.relay()
}

func (t *terminal) resize() {
	if size, err := unix.IoctlGetWinsize(int(t.person.Fd()), unix.TIOCGWINSZ); err == nil {
		unix.IoctlSetWinsize(t.ours, unix.TIOCSWINSZ, size)
	}
}

// frontTime is the longest time until a job that comes to the front gets keys.
const frontTime = 200 * time.Millisecond

// relay passes on keys and output until the command has ended, and then the rest of its output.
func (t *terminal) relay() {
	defer close(t.done)
	resized := make(chan os.Signal, 1)
	defer close(resized)
	signal.Notify(resized, unix.SIGWINCH)
	defer signal.Stop(resized) // before the channel is closed
	go func() {
		for range resized {
			t.resize()
		}
	}()
	var keys []byte
	buf := make([]byte, 32<<10)
	for over := false; ; {
		fds := []unix.PollFd{{Fd: int32(t.ours), Events: unix.POLLIN}, {Fd: int32(t.end[0])},
			{Fd: int32(t.person.Fd()), Events: unix.POLLIN}}
		wait := -1
		if !t.takeKeys() {
			fds[2].Events, wait = 0, int(frontTime/time.Millisecond) // it may come to the front
		}
		switch {
		case over:
			fds, wait = fds[:1], 0
		case len(keys) > 0: // the command reads them first
			fds[0].Events |= unix.POLLOUT
			fds = fds[:2]
		}
		if n, err := unix.Poll(fds, wait); err == unix.EINTR {
			continue
		} else if err != nil || over && n == 0 {
			return
		}
		if fds[0].Revents&unix.POLLOUT != 0 {
			n, _ := unix.Write(t.ours, keys)
			keys = keys[max(0, n):]
		}
		if fds[0].Revents&^unix.POLLOUT != 0 {
			n, err := descriptor(t.ours).Read(buf)
			t.overhear.Write(buf[:n])
			t.shows.Write(buf[:n])
			if err != nil && err != unix.EAGAIN { // nobody has the other side open
				return
			}
		}
		if len(fds) > 2 && fds[2].Revents != 0 && (fds[2].Revents != unix.POLLIN || t.takeKeys()) {
			n, err := descriptor(t.person.Fd()).Read(buf)
			keys = append(keys, buf[:n]...)
			over = err != nil // it was hung up
		}
		over = over || len(fds) > 1 && fds[1].Revents != 0
	}
}

// finish gives the person the terminal back, and returns the last of what the command wrote.
func (t *terminal) finish() []byte {
	unix.Close(t.end[1])
	<-t.done
	if t.front && t.inFront() {
		unix.IoctlSetTermios(int(t.person.Fd()), unix.TCSETS, &t.Mode)
	}
	text, _ := t.overhear.bytes()
	return text
}

func (t *terminal) close() {
	unix.Close(t.end[0])
	unix.Close(t.ours)
	if t.socket.Close() != nil { // it was closed, for the command's side of the terminal
		unix.Close(t.theirs)
	}
}
