package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// segmentSize is what the file sizes of a sealed segment holds, so that retention need
// not read the log.
type segmentSize struct {
	Records int64       `json:"records"`         // that count as changes
	Notes   int64       `json:"notes,omitempty"` // others
	Bytes   int64       `json:"bytes"`           // of the images that are kept
	Large   []imageSize `json:"large,omitempty"` // the images of records of maxSmall bytes and more
}

type imageSize struct {
	ID    int64 `json:"id"`
	Bytes int64 `json:"bytes"`
}

// maxSmall is the size up to which the images of a record go with their segment only.
const maxSmall = 1 << 20

// sizes are those of the sealed segments that were read so far.
type sizes map[int64]segmentSize

// noteSize writes down the size of a segment that was sealed.
func (s *Store) noteSize(g *segment) {
	sz, err := sizeFromLog(s.dir.Load(), g.first)
	if err == nil {
		err = writeJSON(s.dir.Load(), g.path+"/"+sizesName, sz, false)
	}
	if err == nil {
		s.remember(g.first, sz)
	}
}

func (s *Store) remember(first int64, sz segmentSize) {
	if s.size == nil {
		s.size = sizes{}
	}
	s.size[first] = sz
}

// sizeOf returns the size of a sealed segment.
func (s *Store) sizeOf(first int64) segmentSize {
	sz, ok := s.size[first]
	if ok {
		return sz
	}
	path := logsName + "/" + segmentName(first) + "/" + sizesName
	if readJSON(s.dir.Load(), path, &sz) != nil {
		var err error
		if sz, err = sizeFromLog(s.dir.Load(), first); err != nil {
			return segmentSize{}
		}
		writeJSON(s.dir.Load(), path, sz, false)
	}
	s.remember(first, sz)
	return sz
}

func sizeFromLog(dir *os.Root, first int64) (sz segmentSize, err error) {
	g, err := openSegment(dir, first, true)
	if err != nil {
		return sz, err
	}
	defer g.close()
	p, err := readPage(g)
	for _, l := range p.lines {
		if noted(l.text) {
			sz.Notes++
			continue
		}
		sz.Records++
		bytes := bytesOf(l.text)
		if l.kind != aRecord || p.mark(l.id).Gone != "" || bytes == 0 {
			continue
		}
		if sz.Bytes += bytes; bytes >= maxSmall {
			sz.Large = append(sz.Large, imageSize{l.id, bytes})
		}
	}
	return sz, err
}

// retain drops what the limits do not allow, when cur is full. That stays whole, and so do
// segments of which changes are under way, with all later ones. The log is locked. What cannot be
// dropped now is dropped another time.
func (s *Store) retain() {
	list, err := segments(s.dir.Load())
	if err != nil || len(list) < 2 || s.cur == nil {
		return
	}
	last := len(list) - 1
	old := 0
	if limit := s.o.Limits.Count; limit > 0 {
		old = last
		for newer := s.cur.counts; old > 0 && newer < limit; old-- {
			newer += s.sizeOf(list[old-1]).Records
		}
	}
	for old < last && s.tooOld(list[old]) {
		old++
	}
	kept := list[old:last]
	sum := s.cur.bytes
	for _, first := range kept {
		sum += s.sizeOf(first).Bytes
	}
	for limit := s.o.Limits.Bytes; limit > 0 && sum > limit && len(kept) > 0; {
		if at, largest := s.largest(kept); largest.Bytes > limit/8 {
			s.dropImages(at, largest)
			sum -= largest.Bytes
			continue
		}
		sum -= s.sizeOf(kept[0]).Bytes
		kept = kept[1:]
		old++
	}
	s.thin(list[old:last])
	for _, first := range list[:old] {
		if !s.drop(first) {
			break
		}
	}
	s.sweeps.Go(func() { s.sweep(0) })
}

// drop drops a segment, unless changes of it are under way.
func (s *Store) drop(first int64) bool {
	if s.underWay(first) {
		return false
	}
	name := segmentName(first)
	s.dir.Load().Rename(logsName+"/"+name, goneName+name)
	delete(s.size, first)
	return true
}

// underWay reports whether a change of a segment is under way, in any process.
func (s *Store) underWay(first int64) bool {
	log, err := s.dir.Load().OpenFile(logsName+"/"+segmentName(first)+"/log", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer log.Close()
	free, err := tree.TryLock(int(log.Fd()), true)
	return err == nil && !free
}

// tooOld reports whether nothing was written to a segment for longer than the limit.
func (s *Store) tooOld(first int64) bool {
	info, err := s.dir.Load().Lstat(logsName + "/" + segmentName(first) + "/log")
	return err == nil && s.o.Limits.Age > 0 && time.Since(info.ModTime()) > s.o.Limits.Age
}

// largest returns the largest images of one record, and their segment.
func (s *Store) largest(list []int64) (at int64, found imageSize) {
	for _, first := range list {
		for _, one := range s.sizeOf(first).Large {
			if one.Bytes > found.Bytes && !s.underWay(first) {
				at, found = first, one
			}
		}
	}
	return at, found
}

// dropImages drops the images of one record, which gets a note.
func (s *Store) dropImages(first int64, one imageSize) {
	sz := s.sizeOf(first)
	sz.Bytes -= one.Bytes
	sz.Large = slices.DeleteFunc(slices.Clone(sz.Large), func(o imageSize) bool { return o.ID == one.ID })
	s.remember(first, sz)
	reason := fmt.Sprintf("what was there held %d bytes, which went first when more than %d were kept", one.Bytes, s.o.Limits.Bytes)
	if s.markOld(first, mark{Of: one.ID, Gone: reason}) != nil {
		return
	}
	path := logsName + "/" + segmentName(first)
	names, _ := namesIn(s.dir.Load(), path+"/"+imagesName)
	for _, name := range names {
		if leadingNumber([]byte(name)) == one.ID {
			s.dir.Load().Rename(path+"/"+imagesName+"/"+name, goneName+name)
		}
	}
	writeJSON(s.dir.Load(), path+"/"+sizesName, sz, false)
}

// GC drops what the limits do not allow and the histories whose root is gone, and
// deletes what was dropped. Without it, the first start of a day looks at one other history on average.
func (s *Store) GC(ctx context.Context) error {
	if s.o.ReadOnly {
		return syscall.EROFS
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	if s.cur != nil {
		s.retain()
	}
	s.leave()
	s.sweep(math.MaxInt)
	return nil
}

// sweep deletes what was dropped, and looks at so many other histories. It ends with the
// Store, and the next one goes on.
func (s *Store) sweep(others int) {
	if dir, err := os.OpenRoot(s.Path()); err == nil {
		s.sweepIn(dir)
		dir.Close()
	}
	if others == 0 {
		return
	}
	if place, err := os.OpenRoot(s.place.Path); err == nil {
		s.sweepHistories(place, others)
		s.sweepIn(place)
		place.Close()
	}
}

func (s *Store) sweepIn(dir *os.Root) {
	names, _ := namesIn(dir, ".")
	for _, name := range names {
		if strings.HasPrefix(name, goneName) {
			s.discard(dir, name)
		}
	}
}

// discard deletes a file or a tree, whose folders may be read-only. It stops when the
// Store is closed.
func (s *Store) discard(dir *os.Root, name string) {
	select {
	case <-s.closing:
		return
	default:
	}
	err := dir.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return
	}
	sub, err := dir.OpenRoot(name)
	if errors.Is(err, fs.ErrPermission) && dir.Chmod(name, 0o700) == nil {
		sub, err = dir.OpenRoot(name)
	}
	if err != nil {
		return
	}
	defer sub.Close()
	sub.Chmod(".", 0o700)
	names, _ := namesIn(sub, ".")
	for _, child := range names {
		s.discard(sub, child)
	}
	dir.Remove(name)
}

// goneFor is how long a root must be gone before its history is deleted, and how
// long nobody may have used that.
const goneFor = 30 * 24 * time.Hour

// sweepHistories looks at some other histories of the place, and drops those whose root
// is gone.
func (s *Store) sweepHistories(place *os.Root, n int) {
	list := slices.DeleteFunc(histories(place), func(key string) bool { return key == s.place.Key })
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for _, key := range list[:min(len(list), n)] {
		if s.forgotten(place, key) {
			place.Rename(key, goneName+key)
		}
	}
}

// forgotten reports whether the root of a history is gone for so long. The first to
// see that a root is gone notes the time.
func (s *Store) forgotten(place *os.Root, key string) bool {
	name := key + "/" + rootName
	info, err := place.Lstat(name)
	var f rootFile
	if err != nil || readJSON(place, name, &f) != nil || f.Path == "" {
		return false
	}
	at, err := identify(f.Path)
	gone := err != nil || keyOf(f.Path, at) != key
	if gone == f.Gone.IsZero() {
		if f.Gone = (time.Time{}); gone {
			f.Gone = time.Now().UTC()
		}
		writeJSON(place, name, f, false)
		return false
	}
	return gone && time.Since(f.Gone) > goneFor && time.Since(info.ModTime()) > goneFor
}

// histories lists the keys of the histories in a place.
func histories(place *os.Root) (keys []string) {
	names, _ := namesIn(place, ".")
	for _, name := range names {
		if len(name) == 32 && strings.Trim(name, "0123456789abcdef") == "" {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	return keys
}

// Earlier is a history in the same place that was of the same path.
type Earlier struct {
	Key  string    // what [Adopt] takes
	Used time.Time // about when
}

// earlierHistories finds the histories whose root had the path of this one.
func earlierHistories(p Place) (list []Earlier) {
	place, err := os.OpenRoot(p.Path)
	if err != nil {
		return nil
	}
	defer place.Close()
	for _, key := range histories(place) {
		var f rootFile
		name := key + "/" + rootName
		info, err := place.Lstat(name)
		if key != p.Key && err == nil && readJSON(place, name, &f) == nil && f.Path == p.Root {
			list = append(list, Earlier{key, info.ModTime()})
		}
	}
	return list
}

// Adopt makes an earlier history that of o.Root. The one that the root has now changes
// places with it, and may be adopted in turn. No Store of either may be open.
func Adopt(o Options, key string) error {
	p, err := Find(o)
	if err != nil {
		return err
	}
	place, err := os.OpenRoot(p.Path)
	if err != nil {
		return err
	}
	defer place.Close()
	if !slices.Contains(histories(place), key) {
		return fmt.Errorf("%s has no history %q; %s doctor lists those it has", p.Path, key, o.Program)
	}
	sum := sha256.Sum256([]byte(p.Key + key))
	aside := hex.EncodeToString(sum[:16]) // a key, so that a kill here leaves a history
	for _, move := range [][2]string{{p.Key, aside}, {key, p.Key}, {aside, key}} {
		if err := place.Rename(move[0], move[1]); err != nil && !(errors.Is(err, fs.ErrNotExist) && move[0] != key) {
			return err
		}
	}
	var f rootFile
	if err := readJSON(place, filepath.Join(p.Key, rootName), &f); err != nil {
		return err
	}
	f.Path, f.Gone = p.Root, time.Time{}
	return writeJSON(place, filepath.Join(p.Key, rootName), f, true)
}
