package history

// seen describes a folder whose numbers do not name it for good, on a FUSE or network file system.
type seen struct {
	Mount string `json:"mount,omitempty"` // the boot and the mount; "" if the key of the folder suffices
	Ino   uint64 `json:"ino,omitempty"`   // of the folder, while that mount lasts

	named bool // the file system has a name, which is in the key
}

// sameAs reports whether two descriptions are of the same folder for certain. A folder with the same path on
// the same named file system counts as the same; without a name, another mount may be another disk.
func (now seen) sameAs(was seen) bool {
	if now.Mount == was.Mount {
		return now.Ino == was.Ino
	}
	return now.named
}

// checkMount compares the folder with the one at the last use of the history. If it may be another folder, it
// drops all that would write to the folder unasked: the index, and the roll-back of a killed process.
func (s *Store) checkMount() {
	if s.mountChecked {
		return
	}
	s.mountChecked = true
	var f rootFile
	if err := readJSON(s.dir.Load(), rootName, &f); err != nil {
		return
	}
	s.strange = f.Strange
	now := seenAt(s.place.Root)
	if now.Mount == f.Seen.Mount && now.Ino == f.Seen.Ino {
		return
	}
	same := f.Seen.Mount == "" || now.sameAs(f.Seen)
	if !same {
		s.strange = max(s.strange, s.log.last())
	}
	if s.o.ReadOnly {
		return
	}
	if !same {
		s.dir.Load().Remove(indexName)
		s.shutIndex()
		s.index, s.indexStamp = nil, indexStamp{}
		s.setClean(s.log.last())
	}
	f.Seen, f.Strange = now, s.strange
	writeJSON(s.dir.Load(), rootName, f, !s.o.NoSync)
}

// Strange returns why an op may be about another folder, "" if it is about this one.
func (s *Store) Strange(id int64) string {
	if id > s.strange {
		return ""
	}
	return "it was recorded before this disk was mounted, and this may be another disk"
}
