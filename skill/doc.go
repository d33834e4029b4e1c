// Package skill executes operations on one workspace.
//
// An operation is a Go struct: [ReadFile], [WriteFile], [MoveFile]. Its comment says
// which type of [Result] it returns. [Executor.Execute] is a single switch over those
// structs, and the index of the package: each case calls the method of the same name, or a
// function of an internal package.
//
// An operation does not depend on its caller: readTextFile of one client and read of another
// arrive as the same ReadFile. Where two clients want different behaviour, the operation has
// a field for it.
//
// Paths are absolute, or relative to the directory of the [Session]. All access to files
// goes through package workspace, which refuses paths that lead outside.
//
// For the fields of a type of an internal package, such as [Hit], type
// "go doc textskill/skill/internal/web.Hit".
package skill
