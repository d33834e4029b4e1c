package history

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"iter"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"textskill/skill/internal/workspace/tree"
)

// logVersion is the version of the log that this program writes and reads.
const logVersion = 3

const logName = "log"

// A logFile is the file of operations: a line with the version, then a line for each op. A line
// has a checksum, a space and JSON. Before the JSON of an op is a head of fixed size, which says what most
// readers ask without decoding the op: see head. An empty line after an op says that the op is made. The
// caller holds the lock of the history.
type logFile struct {
	dir     *os.Root
	mu      sync.RWMutex // locked while file is replaced, and read-locked while it is flushed
	file    *os.File
	noSync  bool
	end     int64        // offset after the last line that was read or written
	written atomic.Int64 // end at the last write of this process
	durable atomic.Int64 // written at the last flush
	lines   []line
	made    int64 // the number of the last op that an empty line follows
	first   int64 // the number of the newest dropped op
	lost    int64 // the number of the last op whose line is missing; 0 if no line is
	// from the number of an op to the last op that undoes it; a void op undoes itself
	undoes  map[int64]int64
	depth   map[int64]int // by number: 0 for a change, 1 for its undo, 2 for its redo, and so on
	damaged []int64       // numbers of ops that cannot be read

	owners map[int64]*Op      // by the offset of a line: the kind and the owners of the op; see owning
	known  map[int64]*opFacts // by number: see facts
}

// A line is the position of an op in the log, and its head.
type line struct {
	head
	off  int64
	size int
	bad  bool // the line is damaged, and id is a guess
}

// A head is the fixed part of an op's line: in hexadecimal digits its number, the number of the op that it
// undoes, flags, and a filter of its paths. Each path and each folder above it sets two bits of the filter.
type head struct {
	id, undoes  int64 // see [Op]
	void, owned bool  // it is void, it has owners
	paths       uint64
}

const headSize = len("000000000000 000000000000 00 0000000000000000 ")

func (op *Op) head() head {
	h := head{id: op.ID, undoes: op.Undoes, void: op.Void, owned: len(op.Owners) > 0}
	for _, d := range op.Deltas {
		h.add(d.Path)
		h.add(d.From)
	}
	for _, l := range op.Left {
		h.add(l.Path)
	}
	for name := range op.Times {
		h.add(name)
	}
	return h
}

func (h *head) add(name Name) {
	if name == "" {
		return
	}
	h.paths |= filterOf(string(name))
	for at := path.Dir(string(name)); at != "." && at != "/"; at = path.Dir(at) {
		h.paths |= filterOf(at)
	}
}

// filterOf returns the two bits that a path sets.
func filterOf(name string) uint64 {
	sum := fnv.New64a()
	io.WriteString(sum, name)
	n := sum.Sum64()
	return 1<<(n&63) | 1<<(n>>6&63)
}

// mayBeAbout reports whether an op may be about a path or one below it. If it returns false, it is not.
func (at line) mayBeAbout(name Name) bool {
	bits := filterOf(string(name))
	return at.bad || name == "" || name == "." || at.paths&bits == bits
}

func (h head) String() string {
	flags := 0
	for i, on := range []bool{h.void, h.owned} {
		if on {
			flags |= 1 << i
		}
	}
	return fmt.Sprintf("%012x %012x %02x %016x ", h.id, h.undoes, flags, h.paths)
}

// headOf reads the head of an op's line, and returns the JSON after it.
func headOf(body []byte) (h head, rest []byte, ok bool) {
	if len(body) <= headSize || body[0] == '{' {
		return h, body, false
	}
	fields, at := [4]uint64{}, 0
	for i, digits := range [...]int{12, 12, 2, 16} {
		for range digits {
			n := strings.IndexByte("0123456789abcdef", body[at])
			if n < 0 {
				return h, body, false
			}
			fields[i], at = fields[i]<<4|uint64(n), at+1
		}
		if body[at] != ' ' {
			return h, body, false
		}
		at++
	}
	h = head{int64(fields[0]), int64(fields[1]), fields[2]&1 != 0, fields[2]&2 != 0, fields[3]}
	return h, body[at:], true
}

// header is the first line of a log.
type header struct {
	Version int   `json:"version"`
	First   int64 `json:"first,omitempty"` // the number of the newest dropped op
}

// A VersionError reports a history of a newer version of this program.
type VersionError struct{ Version int }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the history has version %d, and this program reads version %d: install the newer skill, or name another folder with --state DIR", e.Version, logVersion)
}

func openLog(dir *os.Root, readOnly, noSync bool) (*logFile, error) {
	l := &logFile{dir: dir, noSync: noSync}
	return l, l.open(readOnly)
}

func (l *logFile) open(readOnly bool) error {
	flag := os.O_RDWR | os.O_CREATE
	if readOnly {
		flag = os.O_RDONLY
	}
	f, err := l.dir.OpenFile(logName, flag, 0o600)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
	}
	l.file, l.end, l.lines, l.made, l.first, l.lost, l.damaged = f, 0, nil, 0, 0, 0, nil
	l.undoes, l.depth, l.owners = map[int64]int64{}, map[int64]int{}, map[int64]*Op{}
	l.known = map[int64]*opFacts{}
	l.written.Store(1) // more than durable: earlier lines may not be flushed
	l.durable.Store(0)
	return nil
}

func (l *logFile) close() { l.file.Close() }

// read reads the lines that were added since the last read. Only the holder of the lock may repair.
func (l *logFile) read(repair bool) error {
	if removed(l.file) { // another process has replaced the log, or removed the history
		if err := l.open(!repair); err != nil {
			return err
		}
	}
	for {
		grown, err := l.readSome(repair)
		if err != nil || !grown {
			return err
		}
	}
}

// readSome reads whole lines: up to 4 MiB, and at least one line.
func (l *logFile) readSome(repair bool) (grown bool, err error) {
	var probe [1]byte
	if n, err := l.file.ReadAt(probe[:], l.end); n == 0 {
		if err == io.EOF {
			err = l.begin(repair)
		}
		return false, err
	}
	var data []byte
	for size := 64 << 10; ; size *= 4 {
		data = make([]byte, size)
		n, err := l.file.ReadAt(data, l.end)
		if err != nil && err != io.EOF {
			return false, err
		}
		data = data[:n]
		if last := bytes.LastIndexByte(data, '\n'); last >= 0 &&
			(err == nil && size >= 1<<20 || err == io.EOF) {
			return true, l.take(data[:last+1])
		}
		if err == io.EOF { // a kill or a power cut left an incomplete line
			if repair {
				err = l.file.Truncate(l.end)
			}
			if err == nil || err == io.EOF {
				err = l.begin(repair)
			}
			return false, err
		}
	}
}

// begin writes the header of an empty log, if repair is set.
func (l *logFile) begin(repair bool) error {
	if l.end != 0 || !repair {
		return nil
	}
	return l.write(header{Version: logVersion})
}

// take parses whole lines.
func (l *logFile) take(data []byte) error {
	for text := range bytes.Lines(data) {
		at := line{off: l.end, size: len(text)}
		l.end += int64(len(text))
		if string(text) == "\n" {
			l.made = l.last()
		}
		if len(bytes.Trim(text, "\x00\n")) == 0 {
			continue
		}
		body, ok := unseal(text)
		switch {
		case ok && bytes.HasPrefix(body, []byte(`{"version":`)):
			var h header
			if err := json.Unmarshal(body, &h); err != nil {
				return err
			}
			if h.Version > logVersion {
				return &VersionError{h.Version}
			}
			l.first = h.First
		case ok:
			if h, _, is := headOf(body); is {
				at.head = h
				l.count(at)
				continue
			}
			fallthrough
		default:
			at.id, at.bad = l.last()+1, true
			l.damaged = append(l.damaged, at.id)
			l.lines = append(l.lines, at)
		}
	}
	return nil
}

// count adds the line of an op to l. A void line says instead that the op is void.
func (l *logFile) count(at line) {
	delete(l.known, at.id)
	if at.void {
		l.undoes[at.id] = at.id
		if l.undoes[at.undoes] == at.id {
			delete(l.undoes, at.undoes)
		}
		return
	}
	if at.undoes > 0 {
		l.undoes[at.undoes], l.depth[at.id] = at.id, l.depth[at.undoes]+1
	}
	for n := len(l.lines); n > 0 && l.lines[n-1].id >= at.id; n-- { // a damaged line with a guessed number
		l.lines = l.lines[:n-1]
	}
	l.lines = append(l.lines, at)
}

// lose counts missing ops up to the number upTo as damaged. No new op gets their numbers.
func (l *logFile) lose(upTo int64) {
	const most = 1 << 20 // a larger difference means that upTo is damaged
	for id := l.last() + 1; id <= upTo && upTo-l.first < most; id++ {
		l.damaged = append(l.damaged, id)
		l.lost = id
	}
}

// last returns the number of the newest op, even if it was dropped or lost.
func (l *logFile) last() int64 {
	if n := len(l.lines); n > 0 {
		return max(l.lines[n-1].id, l.first, l.lost)
	}
	return max(l.first, l.lost)
}

// add appends an op.
func (l *logFile) add(op *Op) error {
	at := line{head: op.head(), off: l.end}
	if err := l.write(op); err != nil {
		return err
	}
	at.size = int(l.end - at.off)
	if l.count(at); !op.Void {
		l.known[op.ID] = op.facts()
	}
	return nil
}

func (l *logFile) write(v any) error {
	text, err := seal(v)
	if err != nil {
		return err
	}
	if _, err := l.file.WriteAt(text, l.end); err != nil {
		return errors.Join(err, l.file.Truncate(l.end))
	}
	l.end += int64(len(text))
	l.written.Store(l.end)
	return nil
}

// mark writes an empty line, which says that the last op is made. The next flush makes it durable.
func (l *logFile) mark() {
	if l.made == l.last() {
		return
	}
	if _, err := l.file.WriteAt([]byte("\n"), l.end); err == nil {
		l.end, l.made = l.end+1, l.last()
		l.written.Store(l.end)
	}
}

// find returns the line of an op.
func (l *logFile) find(id int64) (line, bool) {
	i, ok := slices.BinarySearchFunc(l.lines, id, func(at line, id int64) int { return int(at.id - id) })
	if !ok {
		return line{}, false
	}
	return l.lines[i], true
}

// op reads an op. It returns nil for a damaged line.
func (l *logFile) op(at line) *Op {
	if at.bad {
		return nil
	}
	text := make([]byte, at.size)
	if n, _ := l.file.ReadAt(text, at.off); n < at.size {
		return nil
	}
	body, ok := unseal(text)
	_, body, is := headOf(body)
	op := &Op{}
	if !ok || !is || json.Unmarshal(body, op) != nil {
		return nil
	}
	return op
}

// owning returns the kind and the owners of an op, and at most one of its changes; no owners for a damaged line. The
// list of a history asks as often as the square of its length, so each line is read once.
func (l *logFile) owning(at line) *Op {
	if l.owners[at.off] == nil {
		l.owners[at.off] = &Op{}
		if op := l.op(at); op != nil {
			l.owners[at.off] = &Op{Kind: op.Kind, Owners: op.Owners, Note: op.Note,
				Deltas: slices.Clone(op.Deltas[:min(1, len(op.Deltas))]), Left: slices.Clone(op.Left[:min(1, len(op.Left))])}
		}
	}
	return l.owners[at.off]
}

// has reports whether the line of an op may contain a text. If it returns false, the line does not.
func (l *logFile) has(at line, text string) bool {
	data := make([]byte, at.size)
	n, _ := l.file.ReadAt(data, at.off)
	return bytes.Contains(data[:n], []byte(text)) || bytes.IndexByte(data[:n], '\\') >= 0
}

// newest iterates over the lines, the newest first.
func (l *logFile) newest() iter.Seq[line] {
	return func(yield func(line) bool) {
		for _, at := range slices.Backward(l.lines) {
			if !yield(at) {
				return
			}
		}
	}
}

// about iterates over the ops after a number that may be about a path or one below it, the newest first. It skips void
// and damaged ops.
func (l *logFile) about(name Name, after int64) iter.Seq2[line, *Op] {
	return func(yield func(line, *Op) bool) {
		for at := range l.newest() {
			if at.id <= after {
				return
			}
			if l.isVoid(at.id) || !at.mayBeAbout(name) {
				continue
			}
			if op := l.op(at); op != nil && !yield(at, op) {
				return
			}
		}
	}
}

// isVoid reports whether an op counts as never made.
func (l *logFile) isVoid(id int64) bool { return l.undoes[id] == id }

// reverts reports whether an op is an undo, not a change or a redo.
func (l *logFile) reverts(id int64) bool { return l.depth[id]%2 != 0 }

// flush makes the lines that this process has written durable.
func (l *logFile) flush() error {
	if l.noSync {
		return nil
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	end := l.written.Load()
	if l.durable.Load() >= end {
		return nil
	}
	err := tree.Datasync(l.file)
	if err == nil {
		l.durable.Store(end)
	}
	return err
}

// drop rewrites the log without the lines of the ops in gone. first is the newest dropped change.
func (l *logFile) drop(gone map[int64]bool, first int64) error {
	fresh, err := l.dir.OpenFile(logName+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer fresh.Close()
	out := bufio.NewWriterSize(fresh, 1<<20)
	text, err := seal(header{Version: logVersion, First: max(first, l.first)})
	if err == nil {
		_, err = out.Write(text)
	}
	skip := false
	for line := range l.texts() {
		if body, ok := unseal(line); len(line) > 1 { // an empty line follows the op before it
			h, _, _ := headOf(body) // the zero head for another line
			skip = ok && (gone[h.id] || bytes.HasPrefix(body, []byte(`{"version":`)))
		}
		if err == nil && !skip {
			_, err = out.Write(line)
		}
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil && !l.noSync {
		err = tree.Datasync(fresh)
	}
	if err == nil {
		err = l.dir.Rename(logName+".new", logName)
	}
	if err != nil {
		l.dir.Remove(logName + ".new")
		return err
	}
	if !l.noSync {
		syncNames(l.dir.Open(".")) // must precede the deletion of the dropped ops' blobs
	}
	known := l.known
	if err = l.read(true); err == nil {
		l.known = known // the other lines are the same
		for id := range gone {
			delete(l.known, id)
		}
	}
	return err
}

// texts iterates over all lines of the file.
func (l *logFile) texts() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		r := bufio.NewReaderSize(io.NewSectionReader(l.file, 0, l.end), 1<<20)
		for {
			text, err := r.ReadBytes('\n')
			if len(text) > 0 && !yield(text) || err != nil {
				return
			}
		}
	}
}

// sumSize is the length of a line's checksum: eight digits and a space.
const sumSize = 9

// seal encodes v as a line with its checksum.
func seal(v any) ([]byte, error) {
	var buf bytes.Buffer
	buf.WriteString("00000000 ")
	if op, ok := v.(*Op); ok {
		buf.WriteString(op.head().String())
	}
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	text := buf.Bytes()
	sum := checksum(text[sumSize : len(text)-1])
	hex.Encode(text, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	return text, nil
}

// unseal returns the JSON of a line if its checksum holds.
func unseal(text []byte) (body []byte, ok bool) {
	text = bytes.TrimSuffix(text, []byte{'\n'})
	text = bytes.TrimLeft(text, "\x00") // a power cut may leave zeros
	if len(text) <= sumSize {
		return nil, false
	}
	var sum [4]byte
	if _, err := hex.Decode(sum[:], text[:sumSize-1]); err != nil {
		return nil, false
	}
	want := uint32(sum[0])<<24 | uint32(sum[1])<<16 | uint32(sum[2])<<8 | uint32(sum[3])
	return text[sumSize:], checksum(text[sumSize:]) == want
}

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }
