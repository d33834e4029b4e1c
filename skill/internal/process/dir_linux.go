package process

import (
	"fmt"

	"golang.org/x/sys/unix"

	"textskill/skill/internal/workspace"
)

// openDirHandle opens the directory at path, which must have that id. A child process
// that uses handle as its working directory enters this directory, even if path has
// been replaced in the meantime.
func openDirHandle(path string, id workspace.FileID) (handle string, release func(), err error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, err
	}
	release = func() { unix.Close(fd) }
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && (workspace.FileID{Dev: uint64(st.Dev), Ino: st.Ino}) != id {
		err = unix.ESTALE // replaced after the check that it is in the workspace
	}
	if err == nil {
		err = unix.Faccessat(fd, ".", unix.X_OK, 0)
	}
	if err != nil {
		release()
		return "", nil, err
	}
	handle = fmt.Sprintf("/proc/self/fd/%d", fd)
	if unix.Access(handle, unix.X_OK) != nil { // /proc is not mounted
		handle = path
	}
	return handle, release, nil
}
