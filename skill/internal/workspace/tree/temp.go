package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// A Temp is a folder for temporary files of this process. Beside it lies a file with a lock, by which another
// process knows whether this one has ended.
type Temp struct {
	Path string // without symbolic links
	lock *os.File
}

const (
	tempPrefix = "skill-"
	lockSuffix = ".lock"
	lockText   = "The folder beside this file is removed when no process has a lock on this file.\n"
)

// MakeTemp makes a folder in the system's folder for temporary files; use says what for. The caller removes it.
// MakeTemp also removes the folders of processes that were killed. Its error says how to choose another folder.
func MakeTemp(use string) (*Temp, error) { return MakeTempIn(os.TempDir(), use) }

// MakeTempIn is MakeTemp in another folder.
func MakeTempIn(in, use string) (*Temp, error) {
	t, err := makeTemp(in, use)
	if _, seen := swept.LoadOrStore(in, true); !seen {
		go sweep(in) // it ends soon, at the latest with the program
	}
	if err != nil {
		return nil, tempError(err)
	}
	real, err := filepath.EvalSymlinks(t.Path)
	if err != nil {
		t.Remove()
		return nil, tempError(err)
	}
	t.Path = real
	return t, nil
}

func makeTemp(in, use string) (*Temp, error) {
	for tries := 0; ; tries++ {
		path := filepath.Join(in, tempPrefix+use+strconv.FormatUint(rand.Uint64(), 36))
		lock, err := lockTemp(path + lockSuffix)
		if err == nil {
			if err = os.Mkdir(path, 0o700); err == nil {
				return &Temp{path, lock}, nil
			}
			(&Temp{path, lock}).release()
		}
		if !errors.Is(err, fs.ErrExist) || tries > 100 {
			return nil, err
		}
	}
}

// Remove removes the folder with all that is in it.
func (t *Temp) Remove() {
	os.RemoveAll(t.Path)
	t.release()
}

func (t *Temp) release() {
	if t.lock != nil {
		os.Remove(t.Path + lockSuffix)
		t.lock.Close()
	}
}

// RemoveTemp removes the folder of a process that has ended, "" for none.
func RemoveTemp(path string) {
	if path != "" && os.RemoveAll(path) == nil {
		os.Remove(path + lockSuffix)
	}
}

// swept holds the folders that this process has swept.
var swept sync.Map

// sweep removes the folders of this user's ended processes in a folder. It needs the file beside each: a name is
// no proof.
func sweep(in string) {
	dir, err := os.Open(in)
	if err != nil {
		return
	}
	defer dir.Close()
	for range 64 { // a folder for temporary files may be huge
		names, err := dir.Readdirnames(1 << 10)
		for _, name := range names {
			if path, ok := strings.CutSuffix(name, lockSuffix); ok && strings.HasPrefix(name, tempPrefix) {
				sweepTemp(filepath.Join(in, path))
			}
		}
		if err != nil {
			return
		}
	}
}

// CreateTemp is [os.CreateTemp] in the system's folder. Where the system allows that, the file has no name from
// the beginning, so that a kill leaves none. Its error says how to choose another folder.
func CreateTemp() (*os.File, error) {
	f, err := os.CreateTemp("", tempPrefix+"*")
	if err == nil && runtime.GOOS != "windows" {
		err = os.Remove(f.Name())
	}
	return f, tempError(err)
}

func tempError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("no temporary file can be made: %w; set TMPDIR, on Windows TMP, to a folder that you may write", err)
}
