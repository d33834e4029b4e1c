package search

import "golang.org/x/sys/cpu"

// hasVector reports whether the processor has the instructions of skipVector.
var hasVector = cpu.X86.HasAVX2

// skipVector returns the first of n places in text whose three bytes masks lets through; if
// it finds nothing, the first place that it did not look at; less than 32 are left.
// The text is two bytes longer than n.
//
//go:noescape
func skipVector(text *byte, n int, masks *[6][16]byte) int
