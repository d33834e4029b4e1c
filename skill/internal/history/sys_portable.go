//go:build !linux

package history

import "textskill/skill/internal/workspace/tree"

func holders(int) []int { return nil }

func commandOf(int) string { return "" }

func programName(int) string { return "" }

func holdersOfFiles() map[tree.FileID]string { return nil }

func ownLocks() map[uint64]bool { return nil }
