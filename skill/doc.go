// Package skill executes operations on one workspace.
//
// An operation is a Go struct: [ReadFile], [WriteFile], [MoveFile].
// [Executor.Execute] is a single switch over those structs; each case calls the
// method of the same name, in the file of the same name:
//
//	ReadFile    file_read.go      CopyFile    file_copy.go     ListFolder  file_list.go
//	WriteFile   file_write.go     MoveFile    file_move.go     ListTree    file_tree.go
//	AppendFile  file_write.go     DeleteFile  file_delete.go   Stat        file_stat.go
//	EditFile    file_edit.go      MakeFolder  file_mkdir.go    Find        file_find.go
//	Grep        file_grep.go
//	Exec        exec.go           Media       media.go         Health      health.go
//	GitStatus   git_status.go     GitLog      git_log.go       GitDiff     git_diff.go
//	GitCommit   git_commit.go     GitBranch   git_branch.go
//	GitPush     git_remote.go     GitPull     git_remote.go
//	Todo        todo.go           ClearTodos  todo.go          Complete    complete.go
//	CreateTask  task.go           ListTasks   task.go          UpdateTask  task.go
//	DeleteTask  task.go           CreatePlan  plan.go          ExecutePlan plan.go
//	SaveMemory  memory.go         ListMemory  memory.go        RecallMemory memory.go
//	LoadContext context.go        ScanProject project.go
//	Undo        undo.go           History     history.go       Difference  history.go
//
// Nothing here knows who is calling. What one client calls readTextFile and
// another read arrives as the same ReadFile; where two clients want different
// behaviour, the difference is a field of the struct, never a test of the caller.
//
// Names are absolute, or relative to the [Session]'s folder. Files are reached
// only through package workspace, which keeps every name inside.
package skill
