//go:build !linux

package process

import "os"

// This system has no network for commands alone.

type network struct{}

type session struct{}

func (*session) close()                                          {}
func (*Runner) network() *network                                { return nil }
func (*Runner) shareServer(*os.Root, *serverRecord, *Spec) error { return nil }
func (*Spec) reserve(int) error                                  { return nil }
func (*session) refusedNames(list []string) []string             { return list }
