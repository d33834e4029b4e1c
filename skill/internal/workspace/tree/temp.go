package tree

import (
	"fmt"
	"os"
)

// MakeTemp is [os.MkdirTemp] in the system's folder. Its error says how to choose another folder.
func MakeTemp(pattern string) (string, error) {
	dir, err := os.MkdirTemp("", pattern)
	return dir, tempError(err)
}

// CreateTemp is [os.CreateTemp] in the system's folder. Its error says how to choose another folder.
func CreateTemp(pattern string) (*os.File, error) {
	f, err := os.CreateTemp("", pattern)
	return f, tempError(err)
}

func tempError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("no temporary file can be made: %w; set TMPDIR, on Windows TMP, to a folder that you may write", err)
}
