// Package skill executes operations on one workspace.
//
// An operation is a Go struct: [ReadFile], [WriteFile], [MoveFile]. Its comment says
// which type of [Result] it returns. [Executor.Execute] is a single switch over those
// structs, and the index of the package: each case calls the method of the same name, or what
// of an internal package does all of it.
//
// An operation does not depend on its caller. What one client calls readTextFile and
// another read is the same ReadFile; where two clients want different behaviour, the
// difference is a field of the struct.
//
// Paths are absolute, or relative to the directory of the [Session]. All access to files
// goes through package workspace, which refuses paths that lead outside.
package skill
