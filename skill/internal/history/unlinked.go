package history

// An Unlinked is a file that an undo restored, and that is no longer the file with the name Of.
type Unlinked struct{ Path, Of Name }

// otherName returns another name that a removed or replaced file had, "" if it had none in the workspace.
func (r *recorder) otherName(was, now *item) Name {
	if !isFile(was) || was.links < 2 || now != nil && now.id == was.id {
		return ""
	}
	for e := range r.scan.old.all() {
		if e.id == was.id && e.path != was.path {
			return Name(e.path)
		}
	}
	return ""
}

// unlinked returns the restored files of an undo that had another name before the change, and have none now.
func (t *Tx) unlinked(deltas []Delta) (list []Unlinked) {
	for _, d := range deltas {
		if d.Linked == "" || d.After.Kind != File {
			continue
		}
		info, err := t.statAt(d.Path)
		other, oerr := t.statAt(d.Linked)
		if err == nil && (oerr != nil || info.ID != other.ID) {
			list = append(list, Unlinked{d.Path, d.Linked})
		}
	}
	return list
}
