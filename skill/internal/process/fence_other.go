//go:build !linux

package process

func landlockABI() int { return 0 }

func canDenySockets() bool { return false }
