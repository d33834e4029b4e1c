// Package history records each change of a workspace and undoes changes.
//
// # The model
//
//	Entry   the state of a path: kind, permissions, size and SHA-256. The zero Entry means that nothing exists there.
//	Blob    the content that a change replaced or removed. Its name is its SHA-256 or the number of an op.
//	Op      a line of the log, for one change: who made it, and for each path the entries before and after.
//	Index   the last recorded Entry of each path: a cache. Without it, the package reads the files again.
//	Window  the time of a command, from its begin to its end. A file in running/ stands for an open window.
//	Look    a comparison of the index with the disk. The differences become an op of the open windows.
//
// Only blobs hold whole contents, and only the log holds changes. A pack is a file with many small blobs. For a later edit of a large text,
// the op holds a splice in place of a blob: which bytes the edit replaced, and with which.
//
// # The rules
//
//  1. A history has one lock, for all goroutines and processes. Its holder reads the current state, writes an op and
//     makes the change. Nobody holds the lock while the disk is flushed.
//  2. An op is in the log before the first step of its change. The caller learns of the change after a flush.
//  3. A content becomes a blob before its file is replaced. A blob is checked against its SHA-256 before it is used.
//  4. A tool reads the state of its path, writes an op and makes the change. Then it updates the index.
//  5. Each begin and each end of a command is a look. The owners of a look's op are the windows open then. If no
//     window is open, the differences belong to no op. So a path has as owners all windows since the last look at it.
//     A tool's call and another agent's edit own exactly their paths, and are no windows.
//  6. Before a tool or an undo changes a path while a window is open, it looks at the path. So each replaced version
//     is in one op, and the ops of a path are in order. All ops of one window are one change for list and undo.
//  7. An undo checks each path. If the path is as before the op, there is nothing to do. If it is as after the op, the
//     undo restores it. If other lines of a text have changed since, the undo merges. Everything else is a conflict,
//     and then the undo changes nothing. With force, the undo replaces the lines in conflict and keeps all others. If
//     the path is not a text, it saves the current content first. It skips paths that it cannot restore.
//     Each step checks its path again. If somebody saved the file since, the undo takes its steps back, and fails.
//  8. An undo is an op too, and undoing it is a redo. An op is in force unless an op in force undoes it. Undo without
//     an ID takes back the newest change in force, or fails; it never takes an older change in its place. It skips
//     ops that changed only files that a tool builds again, and starts of servers.
//  9. Whoever gets the lock completes the work of killed processes. It finishes an undo, rolls back and voids the op of
//     a tool, and records the changes of a command. A void op counts as never made.
//  10. A file with hard links is written in place, by a change and by its undo. The op says so.
//  11. The undo of a move is one step with two paths: it moves what is at the new path back. That holds for moves by
//     a tool, for folders that were moved whole, and for files without a kept content, which are found by their
//     inode. If one of the two paths cannot be undone, the other one stays too. If nothing is at the new path any
//     more, the content comes from its blob. If the move went over a file, that file comes back afterwards, even
//     if both have the same content. Files that were added to a moved folder move with it.
//  12. The oldest ops are deleted by number, age and size. The contents of the last 20 changes stay. An op names the
//     contents that it did not keep; any other missing blob is damage.
//  13. The record gives each path a grade. It is known for a tool's path and for the path that an edit names. It is
//     sole if the owners are one session and an end was told. It is shared if the owners are several sessions, and
//     unproven if no end was told. An undo takes known and sole paths, and shared ones if it takes back all owners.
//     Only [How].Perhaps takes the others. An undo that left a path is a part, and undoing it brings back what it took.
//     So is the undo of an op with changes whose earlier state is not known, such as a large file that was removed.
//  14. A told end wins, however late. If nobody tells an end, the window closes when the session has another turn, when
//     it ends, when the host's process is gone, or when another session begins in its terminal. Until then the record
//     proves only what changed before the last heartbeat of a command, or before a call began. The window of a
//     command in a person's terminal closes once it serves: what it writes later is nobody's.
//  15. A look enters the folders that the last look entered, and no others that it saw, whatever git ignores by then.
//  16. A file that changed before the windows of a look began is nobody's, by the clock of the file system. So is a file
//     that changed after the last process of a single command. A new file that is older than the windows and was not
//     in the index came from elsewhere, and undo leaves it. If the system does not tell the age, the file is unproven.
//     The age protects contents, not names: a file with other hard links may go. On macOS and overlays a copy may
//     count as new.
//  17. The log has a version. The package refuses newer versions, and leaves folders of older versions alone.
//  18. A folder gets its permissions after its contents. An undo opens the user's read-only folders for its changes.
//     Its op names them, so that whoever completes the op shuts them again. A blob holds the access lists and user
//     attributes of a file too, and another blob those that a folder has. If only these changed, the op names the path,
//     and an undo leaves it. The contents of a folder that may not be read count as unchanged.
//  19. A folder that a command made, with more in it than its op names, is undone whole: git's objects, and folders
//     that tools build again. The undo moves it to the blobs, if it takes each path in it that an op of the command
//     names. It must be as the command left it: nothing in it is older than the command or newer than its end, by
//     birth and ctime, and a path that the op names may also have been restored. Git's objects count as their refs.
//     Otherwise a repository stays, as unproven.
//  20. An undo leaves a file that a program has open for writing, as unproven: the program would go on with the old
//     file. The files of a database are one thing, and only [How].Force takes them while one is open. The undo asks
//     the system for a lease of each file. Of files of other users, and on some file systems, it cannot ask, and
//     says so; systems other than Linux tell nothing. A file that is open when a command ends is nobody's. The undo
//     does not open files that this process has locked, because to close them would release the lock.
//  21. An undo leaves the record of a build, such as *.tsbuildinfo, if it leaves the product too. A restored file has
//     the time of the undo, and not one in the second of the version that it replaced, so that tools build again. A
//     file that is moved back keeps its time.
//  22. Of some files only the size and the times are known, because their contents were not read. Whoever writes to
//     such a file may give it its old modification time back, but not its old change time. So an op notes the change
//     times of these files that it moved. Renames, links and permissions move them too, so the newest op about a
//     file counts, also one that changed nothing else. An undo that would remove or replace the file leaves it, as
//     unproven, if it has another change time now, or if a command of another owner has moved the time since.
//     After an undo of a killed process, and of files in older logs, the change times are not known.
//  23. A step moves what is at its path aside, to the blobs or to the temporary name, and looks again: nobody saves it
//     there any more. If it is not what the step found, if a program has opened it for writing, or if anything in a
//     folder has changed since the undo was planned, by its change times, it goes back, and the undo is planned again.
//     If the path was saved twice meanwhile, the older version stays aside, and the error names its place. Whoever
//     completes the work of a killed process puts back what somebody had saved. If he cannot, an op names its place.
//  24. Before a command, the package links the objects of git, git-lfs and git-annex into the history. After it,
//     an op names a folder of links: to objects the command removed, if no pack has them now. An undo links them to the
//     repository again. It adds objects and removes none, so the op's grades do not matter. It checks each against
//     its name. To make the removal of a repository again removes the same inodes. An object that cannot be linked
//     does not come back, and the op says so: it is on another file system, or another user's.
//
// # The order in which writes become durable
//
//  1. A new content, before it gets the name of a file. An undo of many files flushes contents at its end.
//  2. The log and the names of blobs: before the second step of a change, before a write in place, and before a file
//     on another file system is removed that only a blob can restore.
//  3. A copy on another file system, before the original is removed.
//  4. A change in place or on another file system, before the empty line of the log that marks the op as made.
//  5. The op, that line, the folders and the names of blobs, before the caller gets its answer. For a command, the
//     contents too.
//
// The copies made before a command are not flushed, so no change relies on them: a file that a tool replaces
// takes the place of its copy, and the end of a command flushes the packs that its op needs. The index is never flushed.
//
// # Which files are kept
//
// A command's changes are kept for files up to 16 MiB. For files that git ignores the limit is 1
// MiB each and 64 MiB in all. Ignored folders that a tool builds again, such as node_modules, are
// skipped. In a .git folder everything is kept, the objects as links, so that an undo takes back a
// commit, a reset, a rebase or the removal of the repository. The undo holds git's own locks meanwhile, and restores a
// ref only if its commit still exists. It restores files that make other programs run code, such as hooks, only
// for a person or with --allow-config.
//
// # A history belongs to one folder
//
// The place of a history is named after the folder's device, inode and birth time. If the system
// does not keep these (FUSE, network file systems, exFAT, no birth time), the name of the file system
// and the path stand in. The name is the number or UUID of the file system, the UUID or serial number
// of its disk, or the server. If nothing names the file system, another disk may be at the path after
// each mount. Then only force undoes a change from before the mount, and nothing of that time is
// completed. Before Linux 6.8 a mount is known by its number, its device and the size of the disk. If
// a history belongs to another folder that still exists, a new history is made.
//
// # The files
//
//	log       the ops: op.go, log.go, list.go, retain.go
//	blobs/    the contents: entry.go, blob.go, files.go, trees.go, newfile.go
//	packs/    contents of up to 64 KiB that a look saved together: pack.go
//	index     the last recorded state: index.go, index_file.go, scan.go, near.go, git.go
//	objects/  links to git's objects: objects.go
//	running/  the open windows, here and in workspaces around this one and in it: window.go, far.go,
//	          command.go, call.go, record.go, transcript.go
//	lock      lock.go, flush.go, apply.go, undo.go, move.go, modes.go, whole.go,
//	          held.go, rebuilt.go, times.go, aside.go, unlinked.go
//	missed    room for the marks of calls that could not be recorded: missed.go
//	root.json the folder of the history: store.go, place.go, mount.go
package history
