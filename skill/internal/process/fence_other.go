//go:build !linux

package process

func landlockABI() int { return 0 }

func canFilter() bool { return false }

func canView([]fenceRule) uint32 { return 0 }
