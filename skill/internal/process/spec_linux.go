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
	Args, Rules   uint32 // counts
	Flags         uint32
	Port, Connect uint32
	Files         uint32 // count, without Extras
	Extras        uint32 // the files that come after these
	Limits        Limits
}

// The bits of specHead.Extras, in the order of their files.
const (
	extraMount = 1 << iota
	extraUsers
	extraNet
	extraShare
	extraRelay
	extraRelay6

	maxExtras = 6
)

// extraFiles returns the descriptors that are sent after Files.
func (s *Spec) extraFiles() (fds []int) {
	_, fds = s.extraSet()
	return fds
}

func (s *Spec) extraSet() (set uint32, fds []int) {
	if n := s.fence.own; n != nil {
		set, fds = extraMount, n.files()
		if n.users >= 0 {
			set |= extraUsers
		}
		if n.net >= 0 {
			set |= extraNet
		}
	}
	if s.extras.share != nil {
		set, fds = set|extraShare, append(fds, int(s.extras.share.Fd()))
	}
	for i, f := range s.extras.relay {
		set, fds = set|extraRelay<<i, append(fds, int(f.Fd()))
	}
	return set, fds
}

// takeExtras moves the files of a set to descriptors of their own: their places are for the next
// command.
func (s *Spec) takeExtras(set uint32) error {
	own := &network{users: -1, mount: -1, net: -1}
	for bit := uint32(1); bit < 1<<maxExtras; bit <<= 1 {
		if set&bit == 0 {
			continue
		}
		fd, err := unix.FcntlInt(uintptr(firstFileFD+s.files+s.extras.count), unix.F_DUPFD_CLOEXEC, highFD)
		if err != nil {
			return err
		}
		s.extras.count++
		switch bit {
		case extraMount:
			own.mount, s.fence.own = fd, own
		case extraNet:
			own.net = fd
		case extraUsers:
			own.users = fd
		case extraShare:
			s.extras.share = os.NewFile(uintptr(fd), "share")
		default:
			s.extras.relay = append(s.extras.relay, os.NewFile(uintptr(fd), "relay"))
		}
	}
	if s.fence.own == nil {
		return nil
	}
	var st unix.Stat_t
	err := unix.Fstat(own.mount, &st)
	own.ino = st.Ino
	return err
}

// The bits of specHead.Flags.
const (
	flagServer = 1 << iota
	flagFence
	flagRequire
	flagNetwork
	flagPlain
	flagTTY
	flagExact
)

// ruleHead is the fixed-size part of an encoded fenceRule.
type ruleHead struct {
	ID                  workspace.FileID
	Write, Shown, Fixed bool
}

// encode returns s for [readSpec] in the helper: a length, the numbers, and the strings,
// each ended by a NUL. It leaves out Dir, in which the helper is started.
func (s Spec) encode() []byte {
	head := specHead{Args: uint32(len(s.Args)), Rules: uint32(len(s.fence.rules)), Port: uint32(s.fence.port),
		Connect: uint32(s.fence.connect), Files: uint32(len(s.Files)), Limits: s.fence.limits}
	for flag, on := range map[uint32]bool{flagServer: s.server, flagFence: s.fence.on,
		flagRequire: s.fence.require, flagNetwork: s.fence.network, flagPlain: s.fence.plain,
		flagTTY: s.tty, flagExact: s.exact} {
		if on {
			head.Flags |= flag
		}
	}
	head.Extras, _ = s.extraSet()
	buf, _ := binary.Append(make([]byte, 4, 8192), binary.LittleEndian, head) // its size is fixed
	reach, _ := json.Marshal(s.reach)
	words := []string{s.Path, s.fence.temp, string(reach)}
	for _, r := range s.fence.rules {
		buf, _ = binary.Append(buf, binary.LittleEndian, ruleHead{r.id, r.write, r.shown, r.fixed})
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
	fixed := 3 + 2*len(rules)
	if len(words) < fixed+int(head.Args) {
		return spec, errors.New("not a spec")
	}
	has := func(flag uint32) bool { return head.Flags&flag != 0 }
	spec = Spec{Path: words[0], Args: words[fixed : fixed+int(head.Args)], Env: words[fixed+int(head.Args):],
		server: has(flagServer), tty: has(flagTTY), exact: has(flagExact), files: int(head.Files)}
	spec.fence = fence{on: has(flagFence), require: has(flagRequire), network: has(flagNetwork),
		plain: has(flagPlain), port: int(head.Port), connect: int(head.Connect), temp: words[1],
		limits: head.Limits}
	for i, r := range rules {
		spec.fence.rules = append(spec.fence.rules,
			fenceRule{words[3+2*i], words[4+2*i], r.Write, r.Shown, r.Fixed, r.ID})
	}
	if err := json.Unmarshal([]byte(words[2]), &spec.reach); err != nil {
		return spec, err
	}
	return spec, spec.takeExtras(head.Extras)
}
