package state

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"textskill/skill/internal/workspace/tree"
)

// A segment is a part of the log: a folder named by its first number in 16 hex
// digits, with the file log and the folder images. Its numbers are below
// first+maxRecords, so that the next segment's are new whatever is damaged here.
type segment struct {
	first  int64
	path   string // below the store's folder
	log    *os.File
	images tree.Folder // used by all changes of the segment, which neither list nor close it

	end    int64  // offset after the last byte that was read or written
	room   int64  // bytes that are allocated
	zeros  int64  // an offset from which on there are only zeros, if that is known before it is read; else 0
	last   int64  // highest number in use; first-1 if there is none
	bytes  int64  // sum of Record.Bytes
	counts int64  // records that count as changes: see noted
	leaves int64  // Next of the record that comes next
	newest Record // of which only ID, Undoes and Next are known
	seal   int64  // first number of the next segment; 0 while this one is the last

	damaged []int64 // numbers of damaged lines
	torn    bool    // the last line has no end
	probe   [1]byte // what is read to see whether there is more

	mu      sync.Mutex // guards what is below
	users   int        // changes under way, and the Store
	changes int        // under way; while there are any, the log has a shared flock
}

// A segment is full with so many records, or so many bytes of images.
const (
	maxRecords = 256
	maxImages  = 64 << 20
)

// chunk is how much of a log is allocated at a time.
const chunk = 256 << 10

// maxLog is how many bytes of a log are read.
const maxLog = 1 << 30

const (
	logsName   = "log"
	imagesName = "images"
	sizesName  = "sizes"
)

func segmentName(first int64) string { return fmt.Sprintf("%016x", first) }

// segments lists the first numbers of the segments, in their order.
func segments(dir *os.Root) (list []int64, err error) {
	names, err := namesIn(dir, logsName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, name := range names {
		if first, err := strconv.ParseInt(name, 16, 64); err == nil && first > 0 && len(name) == 16 {
			list = append(list, first)
		}
	}
	slices.Sort(list)
	return list, err
}

// segmentOf returns the one of the segments that has the number.
func segmentOf(list []int64, id int64) (first int64, err error) {
	i, exact := slices.BinarySearch(list, id)
	if !exact {
		i--
	}
	if i < 0 {
		return 0, fs.ErrNotExist
	}
	return list[i], nil
}

// openSegment opens a segment, which is fs.ErrNotExist without its log. The images are
// open unless it is only read.
func openSegment(dir *os.Root, first int64, readOnly bool) (g *segment, err error) {
	g = &segment{first: first, path: logsName + "/" + segmentName(first), last: first - 1, users: 1}
	flag := os.O_RDWR
	if readOnly {
		flag = os.O_RDONLY
	}
	if g.log, err = dir.OpenFile(g.path+"/log", flag, 0); err != nil {
		return nil, err
	}
	if readOnly {
		return g, nil
	}
	err = dir.Mkdir(g.path+"/"+imagesName, 0o700)
	if err == nil || errors.Is(err, fs.ErrExist) {
		g.images, err = openFolder(filepath.Join(dir.Name(), g.path, imagesName))
	}
	if err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

// createSegment makes a segment and makes it durable, if sync is set. The log is locked.
func createSegment(dir *os.Root, first int64, sync bool) (*segment, error) {
	const fresh = logsName + "/new"
	if err := dir.RemoveAll(fresh); err != nil { // of a process that was killed
		return nil, err
	}
	if err := dir.MkdirAll(fresh+"/"+imagesName, 0o700); err != nil {
		return nil, err
	}
	f, err := dir.OpenFile(fresh+"/log", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	err = allocate(f, chunk)
	if err == nil && sync {
		err = errors.Join(f.Sync(), syncName(dir, fresh))
	}
	f.Close()
	if err == nil {
		err = dir.Rename(fresh, logsName+"/"+segmentName(first))
	}
	if err == nil && sync {
		err = syncName(dir, logsName)
	}
	if err != nil {
		dir.RemoveAll(fresh)
		return nil, err
	}
	g, err := openSegment(dir, first, false)
	if err == nil {
		g.room = chunk
	}
	return g, err
}

func (g *segment) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.users--; g.users > 0 {
		return
	}
	if g.log != nil {
		g.log.Close()
	}
	if g.images != nil {
		g.images.Close()
	}
}

// read reads a segment from its beginning and calls visit, which may be nil, with each
// line. A log that was cut counts as damaged, too.
func (g *segment) read(visit func(line)) error {
	info, err := g.log.Stat()
	if err != nil {
		return err
	}
	g.room = info.Size()
	data := make([]byte, min(cmp.Or(g.zeros, g.room), maxLog))
	n, err := g.log.ReadAt(data, 0)
	if err != nil && err != io.EOF {
		return err
	}
	g.take(data[:n], visit)
	if g.room == 0 || g.seal == 0 && g.room%chunk != 0 {
		g.cut()
	}
	return nil
}

// cut notes that the end of the log is lost.
func (g *segment) cut() {
	g.last = min(g.last+1, g.first+maxRecords-1)
	g.damaged = append(g.damaged, g.last)
}

// readOn reads what others have added.
func (g *segment) readOn() error {
	if n, err := g.log.ReadAt(g.probe[:], g.end); n == 0 || g.probe[0] == 0 {
		if err == io.EOF {
			if err = nil; g.seal == 0 && g.end < g.room {
				g.cut()
			}
		}
		return err
	}
	var data []byte
	for size := 4 << 10; ; size *= 2 {
		data = make([]byte, size)
		n, err := g.log.ReadAt(data, g.end)
		if err != nil && err != io.EOF {
			return err
		}
		if data = data[:n]; err == io.EOF || data[n-1] == 0 {
			break
		}
	}
	g.take(data, nil)
	return nil
}

// take counts the lines of data up to the last byte that is not zero.
func (g *segment) take(data []byte, visit func(line)) {
	text, newest, marks := bytes.TrimRight(data, "\x00"), []byte(nil), []line(nil)
	g.end += int64(len(text))
	count := func(l line, text []byte) {
		g.note(l, text)
		switch {
		case l.kind == aRecord:
			newest, marks = l.text, marks[:0]
		case l.kind == aMark && l.id == g.last:
			marks = append(marks, l)
		}
		if visit != nil {
			visit(l)
		}
	}
	for len(text) > 0 {
		one, rest, whole := bytes.Cut(text, []byte("\n"))
		text, g.torn = rest, !whole
		if len(one) == 0 { // it ends a line that was torn, or fills a page
			text = bytes.TrimLeft(text, "\n")
			continue
		}
		l := parse(one)
		if l.kind == damaged {
			var before []byte
			if before, l = divide(one); l.kind != damaged {
				count(parse(before), before)
			}
		}
		count(l, one)
	}
	var r Record
	if newest != nil && json.Unmarshal(newest, &r) == nil {
		g.newest, g.leaves = r, r.leaves(false)
	}
	for _, l := range marks {
		var m mark
		json.Unmarshal(l.text, &m) // a line whose sum holds is JSON
		g.settle(m)
	}
}

// settle counts the end of a record.
func (g *segment) settle(m mark) {
	if m.End == Done && m.Of == g.newest.ID {
		g.leaves = g.newest.leaves(true)
	}
}

// note counts a line.
func (g *segment) note(l line, text []byte) {
	switch l.kind {
	case damaged:
		g.counts++
		id := guess(text, g.last)
		if g.seal > 0 { // it was a mark, and the number after the last is the next segment's
			id = min(id, g.seal-1)
		}
		g.last, g.damaged = max(g.last, id), append(g.damaged, id)
	case aRecord:
		g.last = max(g.last, l.id)
		g.count(l.text)
	case aSeal:
		var m mark
		json.Unmarshal(l.text, &m) // a line whose sum holds is JSON
		g.seal, g.damaged = max(g.seal, l.id), append(g.damaged, m.Lost...)
		g.damaged = slices.DeleteFunc(g.damaged, func(id int64) bool { return id >= g.seal }) // a damaged mark was taken for a record
	}
}

// count counts a record, unless it is one that says only why nothing can be undone.
func (g *segment) count(text []byte) {
	if !noted(text) {
		g.counts++
		g.bytes += bytesOf(text)
	}
}

// countImages takes the numbers of images for used, which a log that was not flushed
// before a power cut may not have.
func (g *segment) countImages(dir *os.Root) error {
	names, err := namesIn(dir, g.path+"/"+imagesName)
	for _, name := range names {
		if id := leadingNumber([]byte(name)); id < g.first+maxRecords {
			g.last = max(g.last, id)
		}
	}
	return err
}

// next returns the number of the next record, and whether it is in this segment.
func (g *segment) next() (id int64, here bool) {
	switch {
	case g.seal > 0:
		return max(g.seal, g.last+1), false
	case len(g.damaged) > 0:
		return max(g.first+maxRecords, g.last+1), false
	}
	id = g.last + 1
	return id, id < g.first+maxRecords && g.bytes < maxImages && g.end < maxLog/2
}

// allocate gives a log its room ahead, as zeros.
func allocate(f *os.File, room int64) error {
	if err := tree.Reserve(f, room); err != nil {
		return err
	}
	return f.Truncate(room)
}

// pageSize is what the kernel copies at a time: of a write, a kill leaves whole pages.
const pageSize = 4 << 10

// append adds a line. The log is locked and read to its end. Blank lines go before it where it
// would lie on two pages, so that a kill does not cut it in two; one that is longer than a page
// may be cut, and is damaged then.
func (g *segment) append(text []byte) error {
	blank := 0
	if g.torn {
		blank = 1
	}
	if left := int(pageSize - (g.end+int64(blank))%pageSize); left < len(text) && len(text) <= pageSize {
		blank += left
	}
	if blank > 0 {
		text = append(bytes.Repeat([]byte("\n"), blank), text...)
	}
	if need := g.end + int64(len(text)); need > g.room {
		room := need
		if g.seal == 0 {
			room = (need + chunk - 1) / chunk * chunk
		}
		if err := allocate(g.log, room); err != nil {
			return err
		}
		g.room = room
	}
	n, err := g.log.WriteAt(text, g.end)
	if err != nil { // what is there of the line must not be read
		if _, werr := g.log.WriteAt(make([]byte, n), g.end); werr != nil {
			return errors.Join(err, werr)
		}
		return err
	}
	g.end += int64(n)
	g.torn = false
	return nil
}

// appendMark adds a mark. In a sealed segment the log is no longer than its lines.
func (g *segment) appendMark(m mark) error {
	text, err := encode(m)
	if err != nil {
		return err
	}
	if err := g.append(text); err != nil {
		return err
	}
	g.settle(m)
	return nil
}

// finish seals the segment. It is complete where it was sealed before and another
// process was killed then. With sync the seal is durable before the log is cut to its
// length, which without a seal would count as damage.
func (g *segment) finish(next int64, sync bool) error {
	if g.seal == 0 {
		if err := g.appendMark(mark{Seal: next, Lost: slices.Compact(slices.Sorted(slices.Values(g.damaged)))}); err != nil {
			return err
		}
		g.seal = next
	}
	if sync {
		if err := tree.Datasync(g.log); err != nil {
			return err
		}
	}
	return g.log.Truncate(g.end)
}
