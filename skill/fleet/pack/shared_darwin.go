package pack

import (
	"os"
	"syscall"
)

// SharedFilesystem returns the file system of a folder, such as "nfs" or "smbfs", if machines
// share it. It returns "" for a local or an unknown file system.
func SharedFilesystem(dir string) (kind string, err error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return "", &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	var name []byte
	for _, c := range st.Fstypename {
		if c == 0 {
			break
		}
		name = append(name, byte(c))
	}
	return sharedKind(string(name)), nil
}
