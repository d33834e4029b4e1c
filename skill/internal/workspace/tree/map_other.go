//go:build !linux

package tree

import "errors"

// Map fails with [errors.ErrUnsupported].
func Map(interface{ Fd() uintptr }, int64) (data []byte, unmap func(), err error) {
	return nil, nil, errors.ErrUnsupported
}
