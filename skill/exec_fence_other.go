//go:build !linux

package skill

func landlockABI() int { return 0 }

func canDenySockets() bool { return false }
