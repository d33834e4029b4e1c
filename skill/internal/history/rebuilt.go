package history

import (
	"bytes"
	"path"
	"strings"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// A tool that builds keeps a record of its build, and trusts it. So an undo leaves the record beside a product that
// it leaves, and gives restored files new times: rule 21 of the package.

// records are the names of files in which tools record what they have built or checked.
var records = map[string]bool{
	".eslintcache": true, ".stylelintcache": true, ".phpunit.result.cache": true, ".php-cs-fixer.cache": true,
}

// isRecord reports whether a file is the record of a build: git ignores it, or it is not in git's index and the look
// did not enter all folders of products.
func (r *recorder) isRecord(name string, e *item) bool {
	base := path.Base(name)
	if e == nil || e.kind != aFile || !records[base] && !strings.HasSuffix(base, ".tsbuildinfo") {
		return false
	}
	return e.ignored || len(r.scan.notSeen()) > 0 && !r.isTracked(name)
}

// isTracked reports whether git's index has a file.
func (s *Store) isTracked(name string) bool {
	for _, folder := range append(above(name), ".") {
		data, err := s.readNow(Name(path.Join(folder, ".git/index")), maxGitIndex)
		if err == nil {
			rel := strings.TrimPrefix(name, strings.TrimPrefix(folder+"/", "./"))
			return bytes.Contains(data, []byte(rel+"\x00"))
		}
	}
	return false
}

// renew gives a restored file a new time. Tools compare times in seconds, so the time is not in the second of the
// version that the undo replaced. A file that is known only by its time keeps it.
func renew(dir tree.Folder, base string, d *Delta) {
	info, err := dir.Lstat(base)
	if err != nil || !info.Mode.IsRegular() || d.After.Sum == "" {
		return
	}
	now, old := time.Now(), time.Unix(0, d.Before.MTime)
	if now.Unix() == old.Unix() {
		now = now.Truncate(time.Second).Add(time.Second)
	} else if now.Sub(info.ModTime) < time.Second && info.ModTime.Unix() != old.Unix() {
		return
	}
	info.ModTime = now
	dir.Chtimes(base, info)
}

// renewKilled gives the files that a killed undo had restored a new time, if the kill came before [renew]. A file that
// the undo moved back keeps its time.
func (t *Tx) renewKilled(op *Op) {
	if op.Undoes == 0 {
		return
	}
	moved := sources(op.Deltas)
	for i, d := range op.Deltas {
		if _, ok := moved[i]; ok || d.After.Kind != File || d.isMode() {
			continue
		}
		dir, base, err := t.parent(d.Path)
		if err != nil {
			continue
		}
		info, err := dir.Lstat(base)
		if err == nil && info.ModTime.Unix() == time.Unix(0, d.Before.MTime).Unix() {
			renew(dir, base, &d)
		}
		dir.Close()
	}
}
