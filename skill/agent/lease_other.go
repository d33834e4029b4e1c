//go:build !unix || aix || solaris

package agent

import (
	"errors"
	"os"
)

func tryLock(*os.File, bool) (bool, error) { return false, errors.ErrUnsupported }
