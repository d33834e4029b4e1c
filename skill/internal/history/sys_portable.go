//go:build !linux

package history

import (
	"os"

	"textskill/skill/internal/workspace/tree"
)

func holders(*os.File) []int { return nil }

func commandOf(int) string { return "" }

func programName(int) string { return "" }

func holdersOfFiles() map[tree.FileID]string { return nil }

func ownLocks() map[uint64]bool { return nil }
