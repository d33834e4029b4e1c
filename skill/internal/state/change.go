package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"textskill/skill/internal/workspace/tree"
)

// MaxCopied is how many bytes are copied for one change to be kept, where they cannot
// be moved or share their blocks.
const MaxCopied = 256 << 20

// A Change is one whose record is in the log. Its methods are for one goroutine.
type Change struct {
	*Record
	s *Store
	g *segment
}

// Images returns the folder in which the change puts what it takes away, each under the
// name of its step's Image. It is good until Close. Others use it too, so the caller
// neither lists nor closes it. Renames and links into it are EXDEV where the store is
// on another file system.
func (c *Change) Images() tree.Folder { return c.g.images }

// Exchange puts a finished file that has no name yet in the place of dir's name, in one
// step; what was there becomes the image of the step. After an error nothing is changed:
// EXDEV where the store is on another file system, [errors.ErrUnsupported] where the
// system or the file system has not the means, and where the file is the image for now.
func (c *Change) Exchange(step int, file *os.File, dir tree.Folder, name string) error {
	image := c.Steps[step].Image
	if err := c.g.images.LinkUnnamed(file, image); err != nil {
		return err
	}
	err := c.g.images.Exchange(image, dir, name)
	if err == nil || errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if rerr := c.g.images.Remove(image, false); rerr != nil {
		return errors.Join(err, rerr)
	}
	return err
}

// Copy makes the image of the step a copy of n bytes of src from an offset on, and
// flushes it. All of a file shares its blocks where the file system can; otherwise more
// than [MaxCopied] bytes are EFBIG. It moves the offset of src.
func (c *Change) Copy(step int, src *os.File, from, n int64) error {
	return copyPart(c.g.images, c.Steps[step].Image, src, from, n, MaxCopied, !c.s.o.NoSync)
}

// copyPart gives a copy its name once it is whole.
func copyPart(images tree.Folder, name string, src *os.File, from, n, limit int64, sync bool) error {
	fresh := name + "~"
	dst, err := images.OpenFile(fresh, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer dst.Close()
	err = fill(dst, src, from, n, limit)
	if err == nil && sync {
		err = tree.Datasync(dst)
	}
	if err == nil {
		err = images.Rename(fresh, images, name, true)
	}
	if err != nil {
		images.Remove(fresh, false)
	}
	return err
}

func fill(dst, src *os.File, from, n, limit int64) error {
	info, err := src.Stat()
	if err != nil {
		return err
	}
	if from == 0 && n == info.Size() && clone(dst, src) == nil {
		return nil
	}
	if n > limit {
		return fmt.Errorf("%d bytes are not copied to be kept: %w", n, syscall.EFBIG)
	}
	if _, err := src.Seek(from, io.SeekStart); err != nil {
		return err
	}
	_, err = io.CopyN(dst, src, n)
	return err
}

// CopyNote returns the reason for which size bytes cannot be copied to be kept, for a
// record's Note; "" if they can.
func CopyNote(size int64) string {
	if size <= MaxCopied {
		return ""
	}
	return fmt.Sprintf("what was there holds %d bytes, and more than %d are not copied to be kept", size, MaxCopied)
}

// Flush returns once the record, the names in the folders and the images are durable,
// in one flush with the changes of other goroutines. With NoSync it returns at once. An
// error means that the change is made, and may not survive a power cut. A folder that
// may not be read cannot be flushed.
func (c *Change) Flush(folders ...tree.Folder) error {
	if c.s.o.NoSync {
		return nil
	}
	return c.s.flush.wait(c.g, folders)
}

// End records how the change ended, for the next Flush.
func (c *Change) End(ctx context.Context, end End) error {
	if err := c.s.enter(ctx); err != nil {
		return err
	}
	defer c.s.leave()
	if err := c.g.readOn(); err != nil {
		return err
	}
	return c.g.appendMark(mark{Of: c.ID, End: end})
}

// End records how a change of another process ended, which did not live to do so.
func (s *Store) End(ctx context.Context, id int64, end End) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	list, err := segments(s.dir.Load())
	if err != nil {
		return err
	}
	first, err := segmentOf(list, id)
	if err != nil {
		return err
	}
	if s.cur != nil && s.cur.first == first {
		return s.cur.appendMark(mark{Of: id, End: end})
	}
	return s.markOld(first, mark{Of: id, End: end})
}

// markOld adds a mark to a segment that is not cur, and flushes it. The log is locked.
func (s *Store) markOld(first int64, m mark) error {
	g, err := openSegment(s.dir.Load(), first, false)
	if err != nil {
		return err
	}
	defer g.close()
	err = g.read(nil)
	if err == nil {
		err = g.appendMark(m)
	}
	if err == nil && !s.o.NoSync {
		err = tree.Datasync(g.log)
	}
	return err
}

// Close gives the segment back.
func (c *Change) Close() { c.g.leave() }

// enter counts a change that is under way. Until leave, nobody drops the segment.
func (g *segment) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.users++; g.changes == 0 {
		tree.TryLock(int(g.log.Fd()), false)
	}
	g.changes++
}

func (g *segment) leave() {
	g.mu.Lock()
	if g.changes--; g.changes == 0 {
		tree.Unlock(int(g.log.Fd()))
	}
	g.mu.Unlock()
	g.close()
}
