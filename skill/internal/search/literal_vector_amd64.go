package search

import "golang.org/x/sys/cpu"

// hasVector reports whether the processor has the instructions of skipVector.
var hasVector = cpu.X86.HasAVX2

// skipVector returns the first of n offsets of text whose three bytes match masks. If there is no
// match, it returns the first offset that it did not check; fewer than 32 are left then.
// The text is two bytes longer than n.
//
//go:noescape
func skipVector(text *byte, n int, masks *[6][16]byte) int
