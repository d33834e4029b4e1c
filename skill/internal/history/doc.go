// Package history remembers what every change of a workspace replaced, and takes changes back.
//
// # The model
//
//	Entry   what is at a path: its kind, permissions, size and a sum of its content. The zero Entry is nothing.
//	Blob    bytes that a change took away. Its name is the sum of the content or the number of an op.
//	Op      one line of the log: who changed what, and for each path the entries before and after.
//	Index   path to Entry: the last recorded state of the workspace. It is a cache; without it, files are read again.
//	Command a command that has begun: a file that its process has locked.
//
// Contents are in blobs alone, changes in the log alone. A later edit of a large text is kept as a splice: the op says
// which bytes became which.
//
// # The rules
//
//  1. A history has one lock, for all goroutines and processes. Its holder reads what is there, writes an op and
//     makes the change. Nobody holds the lock while the disk is flushed.
//  2. An op is in the log before its first step. Whoever is told that a change is made is told after a flush.
//  3. A content becomes a blob before its file is replaced. A blob is compared with its sum before it is used.
//  4. A tool reads what is at its path, adds an op and takes the step. The index follows, as the op says.
//  5. When a command begins, and no other runs, the index becomes what is on the disk: edits that other programs
//     made before belong to no op. When a command ends, the difference between the index and the disk is its op.
//     Of several commands that run at once, the one that ends next gets what was changed by then, and its op says so.
//  6. Before a tool or an undo touches a path while a command runs, the command's changes of this path become an op.
//     So each version that somebody replaced is in one op, and the ops of a path are in order.
//  7. An undo looks at each path by itself. If the path is as it was before the op, there is nothing to do. If it is
//     as the op left it, the undo takes the step back. If a text has changed in other lines, both changes are merged.
//     Everything else is a conflict, and then nothing of the op is undone. With force, the undo saves what is there,
//     and leaves paths that cannot be undone.
//  8. An undo is an op too. An op is in force until an op that undoes it is in force; the undo of an undo puts the
//     change in force again. A bare undo takes back the newest change in force, and never an older one instead. It
//     passes over ops that changed only what a tool builds again, and over the start of a server.
//  9. Whoever takes the lock ends what a killed process left: an undo is finished, a tool's op is taken back and
//     voided, and a command without its process is recorded like one that ended. A void op counts as never made.
//  10. A file with several names is written in place, and the op says so. An undo writes such a file in place too.
//  11. A file whose content is not kept moves back by its inode. A folder that was moved whole moves back whole, with
//     what was added to it if nobody knows what was in it before.
//  12. The oldest ops go by number, age and size. The contents of the last 20 changes stay. An op names what it did
//     not keep, so that a blob which is missing without such a note is damage.
//  13. The log has a version. A newer one is refused. Folders of older versions are left alone.
//
// # The order in which things become durable
//
//  1. A new content, before it gets the name of a file. The contents of an undo of many files, at its end.
//  2. The log and the names of blobs: before the second step of a change, before bytes are written in place, and
//     before something is removed on another file system that only a blob can bring back.
//  3. A copy on another file system, before the original is removed.
//  4. A change in place or on another file system, before the empty line of the log that says the op is made.
//  5. The op, that line, the folders and the names of blobs, before the answer; of a command the contents too.
//
// Copies of the files that a command found are not flushed before it runs, so no change relies on them: the file that
// a tool takes away replaces its copy. The index is never flushed.
//
// # What is kept
//
// A command's files up to 16 MiB each are kept. Files that git ignores are kept up to 1 MiB each and 64 MiB in all.
// A folder that git ignores and a tool builds again, such as node_modules, is not entered. Of a .git folder all but
// the objects is kept, so that a commit, a reset or a rebase can be taken back; git's own locks are taken meanwhile.
// A ref comes back only if its commit is still there. Files that make other programs run code, such as hooks, come back
// when a person asks for it, or with --allow-config.
//
// # A history belongs to one folder
//
// The place of a history is named after the folder's device, inode and birth time. Where the system does not know
// these for sure (FUSE, network file systems, no birth time), the path is part of the name. If the history says that
// it is of another folder which still exists, a new one is made.
//
// # The files
//
//	log       the ops: op.go, log.go, list.go, retain.go
//	blobs/    the contents: entry.go, blob.go, files.go
//	index     the last recorded state: index.go, scan.go, git.go
//	running/  the commands that run: command.go, record.go
//	lock      lock.go, flush.go, apply.go, undo.go
//	root.json whose history it is: store.go, place.go
package history
