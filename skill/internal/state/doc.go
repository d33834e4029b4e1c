// Package state keeps the history of changes of a folder outside of it: a log of
// records, the images of what changes took away, and the locks of those who change
// something. It does not change the folder itself, and does not undo: package
// workspace does, with what is kept here.
//
// [Open] finds the place of the history and opens it; [Find] says where that is and
// why. [Store.Add] writes a record and returns a [Change], through which the change
// puts away what it replaces and becomes durable. [Store.Newest] reads
// records. [Store.Lock] keeps others out. [Store.Folder] opens folders for what others
// keep here.
//
// # How a change is written
//
// A file is replaced in five steps, of which only the third needs a lock:
//
//	file, err := dir.CreateUnnamed(0o600)       // a. fill it, set its mode, tree.Datasync
//	c, err := s.Add(ctx, &record)               // b. steps with Keep set get the name of an image
//	err = c.Exchange(0, file, dir, name)        // c. the old file is the image now
//	err = c.Flush(dir)                          // d. record, names and images are durable
//	                                            // e. answer
//
// The lock is [Store.Lock], shared, and [Lock.Folders] of the folder, from the
// reading of what the record calls Before until Exchange has returned. It is released
// before Flush, so that many changes share one flush. What came out must be what was
// read: where another user or container has a history of its own, nothing else keeps
// it out. If it is not, Images().Exchange brings it back.
//
// Other changes differ in c:
//
//   - A new file: dir.LinkUnnamed. There is no image.
//   - A delete: dir.Rename into Images, of a file, a link or a whole folder. EXDEV means
//     that the store is far, or the name is a mount or of a lower layer. Then a copy is
//     made before the original is removed, or the record has a Note, or the change is
//     refused.
//   - A move: two steps. Flush both folders. To another device: copy, flush, then remove.
//   - A file that must be written in place (several links, a folder that cannot be
//     written): [Change.Copy], Flush, and only then its bytes; then [Change.End] with
//     [Done] and Flush again.
//   - An edit of a file of [PatchFrom] bytes and more: a [Patch] instead of an image.
//     Up to [MaxInline] old bytes are in the record, more in an image by [Change.Copy].
//     Nobody needs the old file then: a rename takes the place of Exchange.
//   - Where Exchange is [errors.ErrUnsupported]: dir.Link of the old file into Images,
//     then a rename of a finished temporary file onto the name.
//
// If c fails, End with [Void] says that nothing was changed.
//
// The package's README says what a kill and a power cut leave at each of these moments.
package state
