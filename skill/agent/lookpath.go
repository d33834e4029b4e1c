package agent

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// lookPath finds the file of a command in the folders of path.
func lookPath(command, path string) (string, error) {
	if strings.ContainsRune(command, filepath.Separator) {
		return filepath.Abs(command)
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, command)
		info, err := os.Stat(file)
		if filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fs.ErrNotExist
}
