// Package skill executes operations on one workspace.
//
// An operation is a Go struct: [ReadFile], [WriteFile], [MoveFile].
// [Executor.Execute] is a single switch over those structs, and the index of the
// package: each case calls the method of the same name.
//
// Nothing here knows who is calling. What one client calls readTextFile and
// another read arrives as the same ReadFile; where two clients want different
// behaviour, the difference is a field of the struct, never a test of the caller.
//
// Names are absolute, or relative to the [Session]'s folder. Files are reached
// only through package workspace, which keeps every name inside.
package skill
