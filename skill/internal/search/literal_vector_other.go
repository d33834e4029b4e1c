//go:build !amd64

package search

const hasVector = false

func skipVector(*byte, int, *[6][16]byte) int { return 0 }
