//go:build !linux && !darwin

package pack

import "os"

// SharedFilesystem returns the kind of file system that a folder is on, if it is one that
// machines share: "", as that is not known here.
func SharedFilesystem(dir string) (kind string, err error) {
	_, err = os.Stat(dir)
	return "", err
}
