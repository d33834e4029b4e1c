// Package workspace reads and changes files in a workspace folder, and nowhere else. It
// is the only code of this program that changes files.
//
// A path is made absolute and clean without looking at the disk, matched against the
// roots, and opened through package tree, which refuses every symbolic link. Only if
// there is a link in the path is it resolved, part by part inside the roots, and opened
// again in the same way.
//
// Every change is made by [Workspace.commit], in change.go: the folder is locked, the
// change is described, recorded in the journal and applied. Dry runs, diffs, undo and
// history all use that one description.
package workspace
