// Package workspace is one folder that nothing leaves, and the only code of this
// program that changes files.
//
// A name is made absolute and clean without looking at the disk, matched against
// the roots, and opened in a way that refuses every symbolic link: in one system
// call (openat2) on Linux, part by part through os.Root elsewhere. Only when a link
// was in the way is the name resolved step by step, inside the roots, and opened
// again the same way.
//
// Every change takes one path: lock, resolve, describe, apply. See change.go.
package workspace
