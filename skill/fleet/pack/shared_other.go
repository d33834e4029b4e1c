//go:build !linux && !darwin

package pack

import "os"

// SharedFilesystem returns "": this system does not say whether machines share a file system.
func SharedFilesystem(dir string) (kind string, err error) {
	_, err = os.Stat(dir)
	return "", err
}
