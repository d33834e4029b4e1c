//go:build unix

package main

import (
	"os"
	"syscall"
)

// ownerOf returns the user to whom a file or link belongs, -1 for none.
func ownerOf(name string) int {
	info, err := os.Lstat(name)
	if err != nil {
		return -1
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

// mayWrite returns the error of writing a file, or adding to a folder, without doing so.
func mayWrite(name string) error {
	const write = 2
	return syscall.Access(name, write)
}
