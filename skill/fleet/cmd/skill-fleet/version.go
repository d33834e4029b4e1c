package main

import "runtime/debug"

// released is the version of a release. The build of the release sets it.
var released string

// version returns the version of this program.
func version() string {
	if released != "" {
		return released
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
