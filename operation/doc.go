// Package operation executes operations on one workspace.
//
// An operation is a Go struct: [ReadFile], [WriteFile], [MoveFile].
// [Executor.Execute] is a single switch over those structs; each case calls the
// method of the same name, in the file of the same name:
//
//	ReadFile    file_read.go      CopyFile    file_copy.go     ListFolder  file_list.go
//	WriteFile   file_write.go     MoveFile    file_move.go     ListTree    file_tree.go
//	AppendFile  file_write.go     DeleteFile  file_delete.go   Stat        file_stat.go
//	EditFile    file_edit.go      MakeFolder  file_mkdir.go    Find        file_find.go
//	Exec        exec.go           Media       media.go         Health      health.go
//	Todo        todo.go           ClearTodos  todo.go          Complete    complete.go
//
// Nothing here knows who is calling. What one client calls readTextFile and
// another read arrives as the same ReadFile; where two clients want different
// behaviour, the difference is a field of the struct, never a test of the caller.
//
// Names are absolute, or relative to the [Session]'s folder. Files are reached
// only through package workspace, which keeps every name inside.
package operation
