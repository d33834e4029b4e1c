package history

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// A pack is a file with many small contents: with a file for each, the first command in a large workspace would take
// ten times as long and four times the room. It has four parts: the contents, their entries in the order of their
// digests, the fan, and the foot. The fan says for each first byte of a digest how many entries are not after it.
// A pack is written by one process, and gets its name when it is whole. Later only entries change: a number in the
// entry says that the content is dropped. A mostly dropped pack gives its other contents to a new one.
type pack struct {
	f    *os.File
	name string
	data int64 // bytes of contents
	size int64 // bytes of the file
	fan  [256]uint32
	safe atomic.Bool // it is durable
}

const (
	packMagic = "skillpk1"
	packEntry = sumLength + 3*4 // bytes: the digest, offset, size, and 1 if it is dropped
	packFan   = 256 * 4         // bytes
	packFoot  = 8 + 4           // bytes: packMagic and a checksum of fan and entries
	packSize  = 16 << 20        // bytes of contents, above which the next pack begins
	maxPacked = 64 << 10        // bytes of a content
	packFrom  = 8               // contents that are saved at once, from which a pack is worth its search
	manyPacks = 64              // above this number, small packs are joined
	packNamed = ".pack"         // ends the names of packs
	draftName = packNamed + "~" // ends the names of packs that are not whole
	draftAge  = time.Hour       // of a draft that a killed process has left, or of a content that nobody needs yet
)

// A packed is the entry of a content.
type packed struct {
	sum          [sumLength]byte
	offset, size uint32
	dropped      bool
}

func (e packed) append(b []byte) []byte {
	b = append(b, e.sum[:]...)
	b = binary.LittleEndian.AppendUint32(b, e.offset)
	b = binary.LittleEndian.AppendUint32(b, e.size)
	if e.dropped {
		return append(b, 1, 0, 0, 0)
	}
	return append(b, 0, 0, 0, 0)
}

func decodePacked(b []byte) (e packed) {
	copy(e.sum[:], b)
	e.offset = binary.LittleEndian.Uint32(b[sumLength:])
	e.size = binary.LittleEndian.Uint32(b[sumLength+4:])
	e.dropped = b[sumLength+8] != 0
	return e
}

// packable returns the digest that is the name of a blob. ok is false for a name that no content in a pack has.
func packable(name string) (sum [sumLength]byte, ok bool) {
	if len(name) != 2*sumLength {
		return sum, false
	}
	n, err := hex.Decode(sum[:], []byte(name))
	return sum, err == nil && n == sumLength
}

// openPack opens a pack. It reads the fan, and checks no more than that the file can be a pack.
func openPack(d tree.Folder, name string) (*pack, error) {
	f, info, err := tree.RegularFile(d.OpenFile(name, os.O_RDONLY, 0))
	if err != nil {
		return nil, err
	}
	p := &pack{f: f, name: name, size: info.Size}
	end := make([]byte, packFan+packFoot)
	p.data = info.Size - int64(len(end))
	if p.data < 0 {
		f.Close()
		return nil, errDamaged
	}
	_, err = f.ReadAt(end, p.data)
	whole := err == nil && string(end[packFan:packFan+len(packMagic)]) == packMagic
	for i := range p.fan {
		p.fan[i] = binary.LittleEndian.Uint32(end[4*i:])
		whole = whole && (i == 0 || p.fan[i-1] <= p.fan[i])
	}
	if p.data -= int64(p.fan[255]) * packEntry; !whole || p.data < 0 {
		f.Close()
		return nil, errDamaged
	}
	return p, nil
}

// entries returns the entries from one number up to another.
func (p *pack) entries(from, to uint32) ([]packed, error) {
	text := make([]byte, int64(to-from)*packEntry)
	if _, err := p.f.ReadAt(text, p.data+int64(from)*packEntry); err != nil {
		return nil, err
	}
	list := make([]packed, 0, to-from)
	for b := range slices.Chunk(text, packEntry) {
		list = append(list, decodePacked(b))
	}
	return list, nil
}

// find returns the number and the entry of a content that is not dropped.
func (p *pack) find(sum [sumLength]byte) (at int, e packed, ok bool) {
	from := uint32(0)
	if sum[0] > 0 {
		from = p.fan[sum[0]-1]
	}
	list, err := p.entries(from, p.fan[sum[0]])
	if err != nil {
		return 0, e, false
	}
	at, ok = slices.BinarySearchFunc(list, sum, func(e packed, sum [sumLength]byte) int {
		return bytes.Compare(e.sum[:], sum[:])
	})
	if !ok || list[at].dropped {
		return 0, e, false
	}
	return int(from) + at, list[at], true
}

// content reads a content. It returns nil if the content is damaged.
func (p *pack) content(e packed) []byte {
	if e.size > maxPacked || int64(e.offset)+int64(e.size) > p.data {
		return nil
	}
	data := make([]byte, e.size)
	if _, err := p.f.ReadAt(data, int64(e.offset)); err != nil || SumOf(data) != hex.EncodeToString(e.sum[:]) {
		return nil
	}
	return data
}

// A packFolder holds the packs of a history.
type packFolder struct {
	tree.Folder
	mu    sync.Mutex
	list  []*pack   // valid ones
	bad   []string  // names of damaged ones
	stamp time.Time // of the folder, when it was listed
	fresh bool      // the folder may change again with the same stamp
}

// open lists the packs again if the folder has changed, and opens the new ones. A pack that is gone stays open for
// those who read it.
func (d *packFolder) open() (changed bool) {
	info, err := d.Lstat(".")
	if err != nil || info.ModTime.Equal(d.stamp) && !d.fresh {
		return false
	}
	d.stamp, d.fresh = info.ModTime, time.Since(info.ModTime) < timeGrain
	entries, err := d.Entries()
	if err != nil {
		d.stamp = time.Time{}
		return false
	}
	was := map[string]*pack{}
	for _, p := range d.list {
		was[p.name] = p
	}
	d.list, d.bad = nil, nil
	for _, e := range entries {
		if !strings.HasSuffix(e.Name, packNamed) {
			continue
		}
		p, err := was[e.Name], error(nil)
		if p == nil {
			p, err = openPack(d.Folder, e.Name)
			changed = changed || err == nil
		}
		switch {
		case err == nil:
			d.list = append(d.list, p)
		case errors.Is(err, errDamaged):
			d.bad = append(d.bad, e.Name)
		}
	}
	return changed
}

func (d *packFolder) close() {
	for _, p := range d.list {
		p.f.Close()
	}
	d.Folder.Close()
}

// packs returns the packs as they are now.
func (d *packFolder) packs() []*pack {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open()
	return slices.Clone(d.list)
}

// find returns a whole content with the name of a blob, and its pack; nil if no pack holds it.
func (d *packFolder) find(name string) (data []byte, in *pack) {
	sum, ok := packable(name)
	if !ok {
		return nil, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for again := true; again; again = d.open() {
		for _, p := range d.list {
			if _, e, ok := p.find(sum); ok {
				if data := p.content(e); data != nil {
					return data, p
				}
			}
		}
	}
	return nil, nil
}

// flush makes a content durable if a pack holds it.
func (d *packFolder) flush(name string) error {
	_, p := d.find(name)
	if p == nil || p.safe.Load() {
		return nil
	}
	err := errors.Join(tree.Cause(tree.Datasync(p.f)), SyncFolder(d.Folder))
	p.safe.Store(err == nil)
	return err
}

// drop drops contents from all packs.
func (d *packFolder) drop(names map[string]bool) {
	for _, p := range d.packs() {
		drop := map[int]packed{}
		for name := range names {
			if sum, ok := packable(name); ok {
				if at, e, ok := p.find(sum); ok {
					drop[at] = e
				}
			}
		}
		d.mark(p, drop)
	}
}

// mark writes to a pack that contents are dropped, which it gets by their numbers.
func (d *packFolder) mark(p *pack, list map[int]packed) {
	if len(list) == 0 {
		return
	}
	f, err := d.OpenFile(p.name, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	for at, e := range list {
		e.dropped = true
		f.WriteAt(e.append(nil), p.data+int64(at)*packEntry)
	}
}

// sweep drops the contents that nobody needs from packs that are older than draftAge.
func (d *packFolder) sweep(needed map[string]bool) {
	for _, p := range d.packs() {
		made, err := strconv.ParseInt(strings.Split(p.name, "-")[0], 16, 64)
		if err != nil || time.Since(time.Unix(made, 0)) < draftAge {
			continue
		}
		list, _ := p.entries(0, p.fan[255])
		drop := map[int]packed{}
		for i, e := range list {
			if !e.dropped && !needed[hex.EncodeToString(e.sum[:])] {
				drop[i] = e
			}
		}
		d.mark(p, drop)
	}
	entries, _ := d.Entries()
	for _, e := range entries {
		info, err := d.Lstat(e.Name)
		if err != nil {
			continue
		}
		// a power cut leaves a part of a pack that nobody needed yet
		if age := time.Since(info.ModTime); strings.HasSuffix(e.Name, draftName) && age > draftAge ||
			slices.Contains(d.bad, e.Name) && age > orphanAge {
			d.Remove(e.Name, false)
		}
	}
}

// tidy removes packs without contents. It moves the contents of the others to a new pack if most of theirs are dropped,
// or if there are many packs: at most packSize bytes. It needs no lock, because each content stays in a pack.
func (d *packFolder) tidy(durable bool) error {
	type half struct {
		*pack
		list []packed
		live int64
	}
	var halves []half
	all := d.packs()
	for _, p := range all {
		list, err := p.entries(0, p.fan[255])
		if err != nil {
			continue
		}
		h := half{pack: p, list: list}
		for _, e := range list {
			if !e.dropped {
				h.live += int64(e.size) + packEntry
			}
		}
		if h.live < p.size/2 || len(all) > manyPacks {
			halves = append(halves, h)
		}
	}
	slices.SortFunc(halves, func(a, b half) int { return cmp.Compare(a.live, b.live) })
	var sum int64
	for i, h := range halves {
		if sum += h.live; sum > packSize {
			halves = halves[:i]
			break
		}
	}
	if len(halves) == 1 && halves[0].live >= halves[0].size/2 {
		return nil
	}
	to := newPacker(d)
	var moved []half
	for _, h := range halves {
		whole := true // a pack with a damaged content stays, and the report names it
		for _, e := range h.list {
			if e.dropped {
				continue
			}
			data := h.content(e)
			if whole = whole && data != nil; data == nil {
				continue
			}
			if err := to.add(hex.EncodeToString(e.sum[:]), data); err != nil {
				return to.finish(err, durable)
			}
		}
		if whole {
			moved = append(moved, h)
		}
	}
	if err := to.finish(nil, durable); err != nil {
		return err
	}
	for _, h := range moved {
		d.mark(h.pack, maps.Collect(slices.All(h.list))) // for processes that have it open
		d.Remove(h.name, false)
	}
	return nil
}

// damaged returns the names of packs that are damaged, or hold a damaged content that is not dropped.
func (d *packFolder) damaged() (names []string) {
	for _, p := range d.packs() {
		list, err := p.entries(0, p.fan[255])
		text := make([]byte, packFoot+packFan)
		_, rerr := p.f.ReadAt(text, p.size-int64(len(text)))
		sum := binary.LittleEndian.Uint32(text[len(text)-4:])
		if err != nil || rerr != nil || sum != packSum(p.fan, list) ||
			slices.ContainsFunc(list, func(e packed) bool { return !e.dropped && p.content(e) == nil }) {
			names = append(names, p.name)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return append(names, d.bad...)
}

// packSum returns the checksum of the fan and the entries of a pack, as they were when it was made.
func packSum(fan [256]uint32, list []packed) uint32 {
	text := make([]byte, 0, packFan+len(list)*packEntry)
	for _, n := range fan {
		text = binary.LittleEndian.AppendUint32(text, n)
	}
	for _, e := range list {
		e.dropped = false
		text = e.append(text)
	}
	return checksum(text)
}

// A packer writes packs, which get their names at the end. Several goroutines may add contents.
type packer struct {
	d     *packFolder
	mu    sync.Mutex
	taken map[string]bool // names of the contents so far
	whole []draft
	out   draft // zero without a pack that is being written
	w     *bufio.Writer
	list  []packed
	size  int64 // of the contents in out
}

// A draft is a pack without its name.
type draft struct {
	f    *os.File
	name string // of the draft, "" if it has none
}

func newPacker(d *packFolder) *packer { return &packer{d: d, taken: map[string]bool{}} }

// takes reports whether the packer has a content of that name.
func (p *packer) takes(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken[name]
}

// add adds a content of at most maxPacked bytes.
func (p *packer) add(name string, data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum, ok := packable(name)
	if !ok || p.taken[name] {
		return nil
	}
	if p.size+int64(len(data)) > packSize {
		if err := p.seal(); err != nil {
			return err
		}
	}
	if p.out.f == nil {
		if err := p.begin(); err != nil {
			return err
		}
	}
	p.taken[name] = true
	p.list = append(p.list, packed{sum: sum, offset: uint32(p.size), size: uint32(len(data))})
	p.size += int64(len(data))
	_, err := p.w.Write(data)
	return tree.Cause(err)
}

func (p *packer) begin() error {
	f, err := p.d.CreateUnnamed(0o600)
	p.out = draft{f: f}
	if err != nil {
		p.out.name = rand.Text() + draftName
		p.out.f, err = p.d.OpenFile(p.out.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		p.out = draft{}
		return err
	}
	p.w, p.list, p.size = bufio.NewWriterSize(p.out.f, 256<<10), nil, 0
	return nil
}

// seal completes the pack that is being written.
func (p *packer) seal() error {
	if p.out.f == nil {
		return nil
	}
	slices.SortFunc(p.list, func(a, b packed) int { return bytes.Compare(a.sum[:], b.sum[:]) })
	var fan [256]uint32
	text := make([]byte, 0, len(p.list)*packEntry+packFan+packFoot)
	for _, e := range p.list {
		text = e.append(text)
		fan[e.sum[0]]++
	}
	for i, n := range fan {
		if i > 0 {
			fan[i] = fan[i-1] + n
		}
		text = binary.LittleEndian.AppendUint32(text, fan[i])
	}
	text = binary.LittleEndian.AppendUint32(append(text, packMagic...), packSum(fan, p.list))
	p.w.Write(text)
	err := p.w.Flush()
	p.whole = append(p.whole, p.out)
	p.out, p.size = draft{}, 0
	return tree.Cause(err)
}

// finish gives the packs their names, unless err is set: then it discards them. It returns the error.
func (p *packer) finish(err error, durable bool) error {
	if err == nil {
		err = p.seal()
	} else if p.out.f != nil {
		p.whole = append(p.whole, p.out)
	}
	for _, f := range p.whole {
		if err == nil && durable {
			err = tree.Cause(tree.Datasync(f.f))
		}
		name := fmt.Sprintf("%x-%s%s", time.Now().Unix(), strings.ToLower(rand.Text()), packNamed)
		switch {
		case err == nil && f.name == "":
			err = p.d.LinkUnnamed(f.f, name)
		case err == nil:
			err = p.d.Rename(f.name, p.d.Folder, name, false)
		}
		if err != nil && f.name != "" {
			p.d.Remove(f.name, false)
		}
		f.f.Close()
	}
	if err == nil && durable && len(p.whole) > 0 {
		err = SyncFolder(p.d.Folder)
	}
	return err
}
