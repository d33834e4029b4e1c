package process

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// A question asks a helper for descriptors that only it makes. It is sent in the place of the
// length of a Spec, which is smaller.
type question uint32

const (
	askNetwork question = math.MaxUint32 - iota // for a new network

	askLast = askNetwork
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
	raw, err := h.channel.SyscallConn()
	if err != nil {
		return nil, err
	}
	data := binary.LittleEndian.AppendUint32(nil, uint32(q))
	controlErr := raw.Control(func(fd uintptr) {
		err = unix.Sendmsg(int(fd), data, unix.UnixRights(append([]int{dir}, files...)...), nil, unix.MSG_NOSIGNAL)
	})
	if err = errors.Join(controlErr, err); err != nil {
		return nil, err
	}
	h.channel.SetReadDeadline(time.Now().Add(askTimeout))
	defer h.channel.SetReadDeadline(time.Time{})
	readErr := raw.Read(func(fd uintptr) bool {
		fds, err = receiveDescriptors(int(fd))
		return err != unix.EAGAIN
	})
	return fds, errors.Join(readErr, err)
}

// answerQuestion answers a question of the program, and fails if the program cannot be told.
func answerQuestion(q question) error {
	if q != askNetwork {
		return sendDescriptors(0, nil, unix.EINVAL)
	}
	n, err := newNetwork()
	if err != nil {
		return sendDescriptors(0, nil, err)
	}
	defer n.close()
	return sendDescriptors(0, n.files(), nil)
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

// receiveDescriptors is the other side of sendDescriptors.
func receiveDescriptors(from int) (fds []int, err error) {
	var said [4]byte
	oob := make([]byte, unix.CmsgSpace(4*maxSockets))
	n, oobn, _, _, err := unix.Recvmsg(from, said[:], oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	for _, m := range messages {
		if rights, failed := unix.ParseUnixRights(&m); failed == nil {
			fds = append(fds, rights...)
		}
	}
	if errno := unix.Errno(binary.LittleEndian.Uint32(said[:])); err == nil && errno != 0 {
		err = errno
	}
	if n != len(said) {
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
