package skill

import (
	"context"
	"fmt"

	"textskill/skill/internal/refusal"
)

// Args is an operation with its arguments. The cases of [Executor.Execute] are all its
// types. Each operation is also a method of [Executor] that returns a type of its own: x.WriteFile(ctx, s,
// WriteFile{Path: "a.txt"}) returns a [Changed].
type Args interface{ op() }

// A Result is what an operation found or did. Message sums it up in one sentence; the
// fields of its type hold the details.
type Result interface{ Message() string }

// Execute runs one operation for s. Errors of the file system are *fs.PathError and
// *os.LinkError, with the system call as Op. A path that the workspace refuses is an
// [*RefusedError] or [*NotRegularError]; a bad argument is an [*ArgError].
func (x *Executor) Execute(ctx context.Context, s *Session, args Args) (r Result, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch a := args.(type) {
	case ReadFile:
		return result(x.ReadFile(ctx, s, a))
	case ReadFiles:
		return result(x.ReadFiles(ctx, s, a))
	case WriteFile:
		return result(x.WriteFile(ctx, s, a))
	case AppendFile:
		return result(x.AppendFile(ctx, s, a))
	case ReplaceText:
		return result(x.ReplaceText(ctx, s, a))
	case TransferLines:
		return result(x.TransferLines(ctx, s, a))
	case EditFile:
		return result(x.EditFile(ctx, s, a))
	case Patch:
		return result(x.Patch(ctx, s, a))
	case Revise:
		return result(x.Revise(ctx, s, a))
	case CopyFile:
		return result(x.CopyFile(ctx, s, a))
	case MoveFile:
		return result(x.MoveFile(ctx, s, a))
	case DeleteFile:
		return result(x.DeleteFile(ctx, s, a))
	case MakeFolder:
		return result(x.MakeFolder(ctx, s, a))
	case ListFolder:
		return result(x.ListFolder(ctx, s, a))
	case ListTree:
		return result(x.ListTree(ctx, s, a))
	case Stat:
		return result(x.Stat(ctx, s, a))
	case Find:
		return result(x.Find(ctx, s, a))
	case Grep:
		return result(x.Grep(ctx, s, a))
	case Exec:
		return result(x.Exec(ctx, s, a))
	case StartServer:
		return result(x.StartServer(ctx, s, a))
	case ListServers:
		return result(x.ListServers(ctx, s, a))
	case ReadServerLog:
		return result(x.ReadServerLog(ctx, s, a))
	case TypeServer:
		return result(x.TypeServer(ctx, s, a))
	case StopServer:
		return result(x.StopServer(ctx, s, a))
	case Toolchain:
		return result(x.Toolchain(ctx, s, a))
	// a command of git that fails has a result too: what it changed
	case GitStatus:
		return x.GitStatus(ctx, s, a)
	case GitCommit:
		return x.GitCommit(ctx, s, a)
	case GitPush:
		return x.GitPush(ctx, s, a)
	case GitPull:
		return x.GitPull(ctx, s, a)
	case GitBranch:
		return x.GitBranch(ctx, s, a)
	case GitLog:
		return x.GitLog(ctx, s, a)
	case GitDiff:
		return x.GitDiff(ctx, s, a)
	case Media:
		return result(x.Media(ctx, s, a))
	case Todo:
		return result(x.Todo(ctx, s, a))
	case ClearTodos:
		return result(x.ClearTodos(ctx, s, a))
	case SaveMemory:
		return result(x.SaveMemory(ctx, s, a))
	case ListMemory:
		return result(x.ListMemory(ctx, s, a))
	case RecallMemory:
		return result(x.RecallMemory(ctx, s, a))
	case LoadContext:
		return result(x.LoadContext(ctx, s, a))
	case ScanProject:
		return result(x.ScanProject(ctx, s, a))
	case CreateTask:
		return result(x.CreateTask(ctx, s, a))
	case ListTasks:
		return result(x.ListTasks(ctx, s, a))
	case UpdateTask:
		return result(x.UpdateTask(ctx, s, a))
	case DeleteTask:
		return result(x.DeleteTask(ctx, s, a))
	case CreatePlan:
		return result(x.CreatePlan(ctx, s, a))
	case ExecutePlan:
		return result(x.ExecutePlan(ctx, s, a))
	case Complete:
		return result(x.Complete(ctx, s, a))
	case Undo:
		return result(x.Undo(ctx, s, a))
	case History:
		return result(x.History(ctx, s, a))
	case Restore:
		return x.Restore(ctx, s, a)
	case Difference:
		return result(x.Difference(ctx, s, a))
	case Health:
		return result(x.Health(ctx, s, a))
	case Fetch:
		return result(x.Fetch(ctx, s, a))
	case Download:
		return result(x.Download(ctx, s, a))
	case CheckURL:
		return result(x.CheckURL(ctx, s, a))
	case WebSearch:
		return result(x.WebSearch(ctx, s, a))
	case Screenshot:
		return result(x.Screenshot(ctx, s, a))
	}
	panic(fmt.Sprintf("skill: no case for %T", args)) // unreachable: TestExecuteIsTotal
}

// result returns r as a Result, or nil if err is not nil.
func result[R Result](r R, err error) (Result, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}

// path makes the value of the argument arg absolute. It refuses a NUL byte.
func (x *Executor) path(s *Session, arg, name string) (string, error) {
	abs := x.ws.Abs(s.Dir, name)
	if err := refusal.CheckPath(arg, name, abs); err != nil {
		return "", err
	}
	return abs, nil
}

// paths is path for an operation with a source and a destination. It checks the
// destination first, as the original runtime does.
func (x *Executor) paths(s *Session, source, dest string) (from, to string, err error) {
	if to, err = x.path(s, "destination", dest); err != nil {
		return "", "", err
	}
	from, err = x.path(s, "path", source)
	return from, to, err
}
