package process

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"textskill/skill/internal/workspace"
)

// maxSpec exceeds every argument list and environment that the kernel accepts.
const maxSpec = 64 << 20 // bytes

// specHead is the fixed-size part of an encoded Spec.
type specHead struct {
	Args, Rules                                  uint32 // counts
	Port, Connect                                uint32
	Files, Network, Share, Window, Relay         uint32 // counts of the files that come with it
	Server, Exact, Fence, Require, Shared, Plain bool
	Limits                                       Limits
	Terminal                                     seat
}

// maxExtras is how many files a Spec has besides Files: three of a network, a share, a window and two of a relay.
const maxExtras = 7

// extraFiles returns these files in the order of specHead.
func (s *Spec) extraFiles() (network, share, window, relay []int) {
	if s.fence.own != nil {
		network = s.fence.own.files()
	}
	if s.extras.share != nil {
		share = []int{int(s.extras.share.Fd())}
	}
	if s.extras.window != nil {
		window = []int{int(s.extras.window.Fd())}
	}
	for _, f := range s.extras.relay {
		relay = append(relay, int(f.Fd()))
	}
	return network, share, window, relay
}

// takeExtras moves the files to descriptors of their own: their places are for the next command.
func (s *Spec) takeExtras(head specHead) (err error) {
	s.extras.count = int(head.Network + head.Share + head.Window + head.Relay)
	fds := make([]int, min(s.extras.count, maxExtras))
	for i := range fds {
		if fds[i], err = unix.FcntlInt(uintptr(firstFileFD+s.files+i), unix.F_DUPFD_CLOEXEC, highFD); err != nil {
			return err
		}
	}
	if head.Network > 0 {
		s.fence.own, err = networkOf(fds[:head.Network])
	}
	fds = fds[head.Network:]
	if head.Share > 0 {
		s.extras.share = os.NewFile(uintptr(fds[0]), "share")
	}
	fds = fds[head.Share:]
	if head.Window > 0 {
		s.extras.window = os.NewFile(uintptr(fds[0]), "window")
	}
	for _, fd := range fds[head.Window:] {
		s.extras.relay = append(s.extras.relay, os.NewFile(uintptr(fd), "relay"))
	}
	return err
}

// ruleHead is the fixed-size part of an encoded fenceRule.
type ruleHead struct {
	ID                  workspace.FileID
	Write, Shown, Fixed bool
	Stub                stub
}

// encode returns s for [readSpec] in the helper: a length, the numbers, and the strings,
// each ended by a NUL. It leaves out Dir, in which the helper is started.
func (s Spec) encode() []byte {
	network, share, window, relay := s.extraFiles()
	head := specHead{
		Args: uint32(len(s.Args)), Rules: uint32(len(s.fence.rules)),
		Port: uint32(s.fence.port), Connect: uint32(s.fence.connect),
		Files: uint32(len(s.Files)), Network: uint32(len(network)), Share: uint32(len(share)),
		Window: uint32(len(window)), Relay: uint32(len(relay)), Server: s.server, Exact: s.exact, Fence: s.fence.on,
		Require: s.fence.require, Shared: s.fence.network, Plain: s.fence.plain, Limits: s.fence.limits,
	}
	if s.terminal != nil {
		head.Terminal = s.terminal.seat
	}
	buf, _ := binary.Append(make([]byte, 4, 8192), binary.LittleEndian, head) // its size is fixed
	reach, _ := json.Marshal(s.reach)
	secrets, _ := json.Marshal(s.secrets)
	words := []string{s.Path, s.fence.temp, string(reach), string(secrets)}
	for _, r := range s.fence.rules {
		buf, _ = binary.Append(buf, binary.LittleEndian, ruleHead{r.id, r.write, r.shown, r.fixed, r.stub})
		words = append(words, r.path, r.name)
	}
	for _, list := range [][]string{words, s.Args, s.Env} {
		for _, word := range list {
			buf = append(append(buf, word...), 0)
		}
	}
	binary.LittleEndian.PutUint32(buf, uint32(len(buf)-4))
	return buf
}

func readSpec(r io.Reader) (spec Spec, err error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return spec, err
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n > maxSpec {
		return spec, errors.New("not a spec")
	}
	buf := make([]byte, n)
	if _, err := io.ReadFull(r, buf); err != nil {
		return spec, err
	}
	var head specHead
	used, err := binary.Decode(buf, binary.LittleEndian, &head)
	if err != nil {
		return spec, err
	}
	buf = buf[used:]
	rules := make([]ruleHead, min(int(head.Rules), len(buf)))
	if used, err = binary.Decode(buf, binary.LittleEndian, rules); err != nil {
		return spec, err
	}
	words := strings.Split(strings.TrimSuffix(string(buf[used:]), "\x00"), "\x00")
	const own = 4
	fixed := own + 2*len(rules)
	if len(words) < fixed+int(head.Args) {
		return spec, errors.New("not a spec")
	}
	spec = Spec{Path: words[0], Args: words[fixed : fixed+int(head.Args)], Env: words[fixed+int(head.Args):],
		server: head.Server, exact: head.Exact, files: int(head.Files)}
	if head.Terminal.Streams != 0 {
		spec.terminal = &terminal{seat: head.Terminal}
	}
	spec.fence = fence{on: head.Fence, require: head.Require, network: head.Shared, plain: head.Plain,
		port: int(head.Port), connect: int(head.Connect), temp: words[1], limits: head.Limits}
	for i, r := range rules {
		spec.fence.rules = append(spec.fence.rules,
			fenceRule{words[own+2*i], words[own+1+2*i], r.Write, r.Shown, r.Fixed, r.Stub, r.ID})
	}
	err = errors.Join(json.Unmarshal([]byte(words[2]), &spec.reach), json.Unmarshal([]byte(words[3]), &spec.secrets))
	if err != nil {
		return spec, err
	}
	return spec, spec.takeExtras(head)
}
