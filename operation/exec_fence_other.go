//go:build !linux

package operation

func landlockABI() int { return 0 }

func canDenySockets() bool { return false }
