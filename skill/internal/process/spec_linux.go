package process

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"

	"textskill/skill/internal/workspace"
)

// maxSpec is more than the kernel lets a program be given.
const maxSpec = 64 << 20 // bytes

// specHead is what an order has in numbers.
type specHead struct {
	Args, Rules uint32 // how many there are
	Flags, Port uint32
	Limits      Limits
}

// The flags of an order.
const (
	flagStay = 1 << iota
	flagFence
	flagRequire
	flagNetwork
)

// ruleHead is what a rule of the fence has in numbers.
type ruleHead struct {
	ID    workspace.FileID
	Write bool
}

// encode writes o down for the helper: a length, the numbers, and the strings, each
// with a NUL at its end. The folder is not in it: the helper is started there.
func (o Spec) encode() []byte {
	head := specHead{Args: uint32(len(o.Args)), Rules: uint32(len(o.fence.rules)), Port: uint32(o.fence.port), Limits: o.fence.limits}
	for flag, on := range map[uint32]bool{flagStay: o.stay, flagFence: o.fence.on, flagRequire: o.fence.require, flagNetwork: o.fence.network} {
		if on {
			head.Flags |= flag
		}
	}
	buf, _ := binary.Append(make([]byte, 4, 8192), binary.LittleEndian, head) // its size is fixed
	words := []string{o.Path, o.fence.temp}
	for _, r := range o.fence.rules {
		buf, _ = binary.Append(buf, binary.LittleEndian, ruleHead{r.id, r.write})
		words = append(words, r.path)
	}
	for _, list := range [][]string{words, o.Args, o.Env} {
		for _, s := range list {
			buf = append(append(buf, s...), 0)
		}
	}
	binary.LittleEndian.PutUint32(buf, uint32(len(buf)-4))
	return buf
}

func readSpec(r io.Reader) (o Spec, err error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return o, err
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n > maxSpec {
		return o, errors.New("not a spec")
	}
	buf := make([]byte, n)
	if _, err := io.ReadFull(r, buf); err != nil {
		return o, err
	}
	var head specHead
	used, err := binary.Decode(buf, binary.LittleEndian, &head)
	if err != nil {
		return o, err
	}
	buf = buf[used:]
	rules := make([]ruleHead, min(int(head.Rules), len(buf)))
	if used, err = binary.Decode(buf, binary.LittleEndian, rules); err != nil {
		return o, err
	}
	words := strings.Split(strings.TrimSuffix(string(buf[used:]), "\x00"), "\x00")
	fixed := 2 + len(rules)
	if len(words) < fixed+int(head.Args) {
		return o, errors.New("not a spec")
	}
	has := func(flag uint32) bool { return head.Flags&flag != 0 }
	o = Spec{Path: words[0], Args: words[fixed : fixed+int(head.Args)], Env: words[fixed+int(head.Args):], stay: has(flagStay)}
	o.fence = fence{on: has(flagFence), require: has(flagRequire), network: has(flagNetwork), port: int(head.Port), temp: words[1], limits: head.Limits}
	for i, r := range rules {
		o.fence.rules = append(o.fence.rules, fenceRule{words[2+i], r.Write, r.ID})
	}
	return o, nil
}
