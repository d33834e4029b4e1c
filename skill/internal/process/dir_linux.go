package process

import (
	"fmt"

	"golang.org/x/sys/unix"

	"textskill/skill/internal/workspace"
)

// holdDir opens the folder at path, which must be the one with that id, and returns
// a name by which a child process enters it even if another has taken its place.
func holdDir(path string, id workspace.FileID) (handle string, release func(), err error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, err
	}
	release = func() { unix.Close(fd) }
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && (workspace.FileID{Dev: uint64(st.Dev), Ino: st.Ino}) != id {
		err = unix.ESTALE // it was replaced since it was found to be inside
	}
	if err == nil {
		err = unix.Faccessat(fd, ".", unix.X_OK, 0)
	}
	if err != nil {
		release()
		return "", nil, err
	}
	handle = fmt.Sprintf("/proc/self/fd/%d", fd)
	if unix.Access(handle, unix.X_OK) != nil { // no /proc here
		handle = path
	}
	return handle, release, nil
}
