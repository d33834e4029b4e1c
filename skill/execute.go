package skill

import (
	"context"
	"fmt"

	"textskill/skill/internal/git"
	"textskill/skill/internal/process"
	"textskill/skill/internal/project"
	"textskill/skill/internal/refusal"
)

// Args is an operation with its arguments. The cases of [Executor.Execute] are all its
// types.
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
	if after := x.watch(s, args); after != nil {
		defer func() { after(r) }()
	}
	switch a := args.(type) {
	case ReadFile:
		return x.readFile(ctx, s, a)
	case ReadFiles:
		return x.readFiles(ctx, s, a)
	case WriteFile:
		return x.writeFile(ctx, s, a)
	case AppendFile:
		return x.appendFile(ctx, s, a)
	case ReplaceText:
		return x.replaceText(ctx, s, a)
	case TransferLines:
		return x.transferLines(ctx, s, a)
	case EditFile:
		return x.editFile(ctx, s, a)
	case Patch:
		return x.patch(ctx, s, a)
	case Revise:
		return x.revise(ctx, s, a)
	case CopyFile:
		return x.copyFile(ctx, s, a)
	case MoveFile:
		return x.moveFile(ctx, s, a)
	case DeleteFile:
		return x.deleteFile(ctx, s, a)
	case MakeFolder:
		return x.makeFolder(ctx, s, a)
	case ListFolder:
		return x.listFolder(ctx, s, a)
	case ListTree:
		return x.listTree(ctx, s, a)
	case Stat:
		return x.stat(s, a)
	case Find:
		return x.find(ctx, s, a)
	case Grep:
		return x.grep(ctx, s, a)
	case Exec:
		return result(x.exec(ctx, s.Dir, a))
	case StartServer:
		return result(x.process.StartServer(ctx, s.Dir, process.ServerCommand(a)))
	case ListServers:
		return result(x.process.Servers(ctx, a.ServerName))
	case ReadServerLog:
		return result(x.process.ServerLog(ctx, a.ServerName, a.Lines))
	case TypeServer:
		return result(x.process.Type(ctx, process.Input(a)))
	case StopServer:
		return result(x.process.StopServer(a.ServerName))
	case Toolchain:
		return result(x.project.Run(ctx, s.Dir, project.Task(a)))
	case GitStatus:
		return x.git.Status(ctx, s.Dir, a.Dir)
	case GitCommit:
		return x.git.Commit(ctx, s.Dir, a.Dir, a.Message, a.Files, a.Force)
	case GitPush:
		return x.git.Push(ctx, s.Dir, a.Dir, a.Remote, a.Branch)
	case GitPull:
		return x.gitPull(ctx, s, a)
	case GitBranch:
		return x.git.Branch(ctx, s.Dir, git.BranchChange(a))
	case GitLog:
		return x.git.Log(ctx, s.Dir, a.Dir, a.Limit)
	case GitDiff:
		return x.git.Diff(ctx, s.Dir, a.Dir, a.File, a.Staged)
	case Media:
		return x.media(s, a)
	case Todo:
		return x.todo(s, a)
	case ClearTodos:
		return x.clearTodos(s)
	case SaveMemory:
		return x.saveMemory(ctx, a)
	case ListMemory:
		return x.listMemory(a)
	case RecallMemory:
		return x.recallMemory(ctx, a)
	case LoadContext:
		return x.loadContext(ctx, s)
	case ScanProject:
		return x.scanProject(ctx, s, a)
	case CreateTask:
		return x.createTask(ctx, a)
	case ListTasks:
		return x.listTasks(a)
	case UpdateTask:
		return x.updateTask(ctx, a)
	case DeleteTask:
		return x.deleteTask(ctx, a)
	case CreatePlan:
		return x.createPlan(ctx, a)
	case ExecutePlan:
		return x.executePlan(ctx, a)
	case Complete:
		return x.complete(s)
	case Undo:
		return x.undo(ctx, a)
	case History:
		return x.history(ctx, s, a)
	case Restore:
		return x.restore(ctx, s, a)
	case Difference:
		return x.difference(ctx, a)
	case Health:
		return x.health()
	case Fetch:
		return x.fetch(ctx, a)
	case Download:
		return x.download(ctx, s, a)
	case CheckURL:
		return x.checkURL(ctx, a)
	case WebSearch:
		return x.webSearch(ctx, a)
	case Screenshot:
		return x.screenshot(ctx, s, a)
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
