package history

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A Miss is a call of another agent that was not recorded.
type Miss struct {
	Time    time.Time `json:"time"`
	Host    string    `json:"host,omitempty"`
	Session string    `json:"session,omitempty"`
	Why     string    `json:"why,omitempty"` // "" if there was no room for it
}

const (
	missedName = "missed" // a file that is made with the history, so that a full disk has room for marks
	missedSize = 4 << 10  // of that file, in bytes
	missedMode = 0o700    // of that file with a mark; without one it has 0600
	maxMissed  = 64 << 10 // largest file of marks elsewhere, in bytes
	maxMiss    = 600      // largest mark, in bytes
)

// MarkMissed writes down that a call was not recorded, wherever it can: in the history, which may be full,
// foreign or read-only, and in the user's folders. It needs no lock and, in an existing history, no space.
func MarkMissed(o Options, m Miss) error {
	p, err := Find(o)
	if err != nil {
		return err
	}
	own, others := missedFiles(p)
	err = markOwn(own, m)
	for i, name := range others {
		if last := i == len(others)-1; last && err == nil {
			break // leave the folder of temporary files alone
		}
		if markOther(name, m) == nil {
			err = nil
		}
	}
	return err
}

// missedFiles returns the files of the marks of a history: its own, and the user's. The last is in the folder of
// temporary files.
func missedFiles(p Place) (own string, others []string) {
	name := "missed-" + SumOf([]byte(filepath.Join(p.Root, p.Key)))[:16]
	for _, dir := range []string{runtimeDir(), userDir(), cacheDir()} {
		if dir != "" {
			others = append(others, filepath.Join(dir, name))
		}
	}
	others = append(others, filepath.Join(os.TempDir(), fmt.Sprintf("skill-%d-%s", os.Geteuid(), name)))
	return filepath.Join(p.Path, p.Key, missedName), others
}

// runtimeDir returns the user's folder for files of this login, "" without one.
func runtimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "skill")
	}
	return ""
}

// cacheDir returns the user's folder for caches, "" without one.
func cacheDir() string {
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "skill")
	}
	return ""
}

// line returns a mark of at most maxMiss bytes.
func (m Miss) line() []byte {
	const most = 200
	clip := func(text string) string { return text[:min(len(text), most)] }
	m.Host, m.Session, m.Why = clip(m.Host), clip(m.Session), clip(m.Why)
	line, err := json.Marshal(m)
	if err != nil || len(line) >= maxMiss { // of many escapes
		line, _ = json.Marshal(Miss{Time: m.Time})
	}
	return append(line, '\n')
}

// markOwn writes a mark in the file of the history. If the file cannot be written, its mode and time are the mark.
func markOwn(name string, m Miss) error {
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return cmp.Or(err, fs.ErrInvalid)
	}
	if f, err := os.OpenFile(name, os.O_RDWR, 0); err == nil {
		data := make([]byte, missedSize)
		n, _ := f.ReadAt(data, 0)
		at := 0
		if end := bytes.LastIndexByte(data[:n], '}'); end >= 0 {
			at = end + len("}\n")
		}
		if line := m.line(); at+len(line) <= missedSize {
			f.WriteAt(line, int64(at))
		}
		f.Close()
	}
	return errors.Join(os.Chmod(name, missedMode), os.Chtimes(name, m.Time, m.Time))
}

// markOther writes a mark in a file of the user's folders.
func markOther(name string, m Miss) error {
	if err := makeAll(filepath.Dir(name), false); err != nil {
		return err
	}
	flag := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	switch info, err := os.Lstat(name); {
	case err == nil && !isOwnFile(name):
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}
	case err == nil && info.Size() > maxMissed:
		return os.Chtimes(name, m.Time, m.Time)
	case err == nil:
		flag = os.O_WRONLY | os.O_APPEND
	}
	f, err := os.OpenFile(name, flag, 0o600)
	if err != nil {
		return err
	}
	f.Write(m.line()) // without room, the time is the mark
	return errors.Join(f.Close(), os.Chtimes(name, m.Time, m.Time))
}

// isOwnFile reports whether a path is a regular file of this user's.
func isOwnFile(name string) bool {
	info, err := os.Lstat(name)
	at, ierr := identify(name)
	return err == nil && ierr == nil && info.Mode().IsRegular() && (at.owner == os.Geteuid() || at.owner < 0)
}

// Missed returns the calls that were not recorded since the last [Store.ClearMissed], the oldest first.
func (s *Store) Missed(ctx context.Context) ([]Miss, error) { return missedOf(ctx, s.place) }

// Missed is [Store.Missed] for a history that may not be readable.
func Missed(ctx context.Context, o Options) ([]Miss, error) {
	p, err := Find(o)
	if err != nil {
		return nil, err
	}
	return missedOf(ctx, p)
}

func missedOf(ctx context.Context, p Place) (list []Miss, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	const grain = 2 * time.Second // of file times on some file systems
	own, others := missedFiles(p)
	var times []time.Time
	for _, name := range append(others, own) {
		info, err := os.Lstat(name)
		marked := err == nil && info.Mode().IsRegular() &&
			(name == own && info.Mode().Perm() == missedMode || name != own && isOwnFile(name))
		if !marked {
			continue
		}
		data, _ := os.ReadFile(name)
		for line := range bytes.Lines(data[:min(len(data), maxMissed+maxMiss)]) {
			var m Miss
			if json.Unmarshal(line, &m) == nil && !m.Time.IsZero() && !slices.Contains(list, m) {
				list = append(list, m)
			}
		}
		times = append(times, info.ModTime().UTC())
	}
	for _, at := range times { // a mark may have had no room for the reason
		near := func(m Miss) bool { return m.Time.Sub(at).Abs() <= grain }
		if !slices.ContainsFunc(list, near) {
			list = append(list, Miss{Time: at})
		}
	}
	slices.SortStableFunc(list, func(a, b Miss) int { return a.Time.Compare(b.Time) })
	return list, nil
}

// CallsOpen reports whether the record of a call has begun and not ended. Its end is recorded later.
func CallsOpen(o Options) bool {
	p, err := Find(o)
	if err != nil {
		return false
	}
	entries, _ := os.ReadDir(filepath.Join(p.Path, p.Key, runningName))
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return isCall(e.Name()) })
}

// ClearMissed removes the marks of missed calls.
func (s *Store) ClearMissed() error { return clearMissed(s.place) }

// ClearMissed is [Store.ClearMissed] for a history that may not be readable.
func ClearMissed(o Options) error {
	p, err := Find(o)
	if err != nil {
		return err
	}
	return clearMissed(p)
}

func clearMissed(p Place) error {
	own, others := missedFiles(p)
	var errs []error
	if info, err := os.Lstat(own); err == nil && info.Mode().Perm() == missedMode {
		errs = append(errs, cmp.Or(os.Chmod(own, 0o600), os.WriteFile(own, emptyMissed(), 0o600)))
	}
	for _, name := range others {
		if isOwnFile(name) {
			errs = append(errs, os.Remove(name))
		}
	}
	return errors.Join(errs...)
}

// emptyMissed is the content of the history's file without a mark.
func emptyMissed() []byte { return bytes.Repeat([]byte("\n"), missedSize) }

// reserveMissed makes the history's file of marks while there is room.
func (s *Store) reserveMissed() {
	dir := s.dir.Load()
	f, err := dir.OpenFile(missedName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return // it exists, or there is no room, and the marks go to the user's folders
	}
	if _, err = f.Write(emptyMissed()); err != nil {
		dir.Remove(missedName)
	}
	f.Close()
}
