package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	rawjson "textskill/parser/json"
)

// A trustRecord says what of a workspace its user trusts.
type trustRecord struct {
	Dir   string `json:"dir"`
	File  string `json:"file"`
	Owner int    `json:"owner"` // of File; -1 where the system does not say
	Hash  string `json:"hash"`  // of the powers
	Guide string `json:"guide"` // hash of AGENTS.md; "" for none

	name string // of the record's own file
}

// trustStore returns the folder of the trust records, "" for none or tools reach it.
func (env environment) trustStore(w *workspaceOptions) string {
	if dir := env.inState("trust"); dir != "" && !w.holds(dir) {
		return dir
	}
	return ""
}

// claim returns the record that trusts the workspace as it is.
func (w *stranger) claim() trustRecord {
	t := trustRecord{Dir: w.dir, File: w.file, Owner: ownerOf(w.file),
		Hash: fmt.Sprintf("%x", sha256.Sum256(rawjson.Encode(w.powers)))}
	if w.guide != "" {
		t.Guide = fmt.Sprintf("%x", sha256.Sum256([]byte(w.guide)))
	}
	t.name = filepath.Join(w.store, fmt.Sprintf("%x.json", sha256.Sum256([]byte(t.Dir+"\x00"+t.File))))
	return t
}

// isTrusted reports whether the user has trusted the workspace as it is, and guide
// whether that is so of its AGENTS.md, without which experts start all the same.
func (w *stranger) isTrusted() (all, guide bool) {
	if w.store == "" {
		return false, false
	}
	want := w.claim()
	got, err := readTrust(want.name)
	guide = err == nil && got.Dir == want.Dir && got.Guide == want.Guide
	got.Guide = want.Guide
	return err == nil && got == want, guide
}

// record trusts the workspace as it is.
func (w *stranger) record() error {
	if w.store == "" {
		return errors.New("there is no state folder outside the workspace to record trust in; set XDG_STATE_HOME, or use --trust-workspace for each run")
	}
	t := w.claim()
	return saveFile(t.name, append(rawjson.Encode(t), '\n'), true)
}

// readTrust reads a record that only this user can have written.
func readTrust(name string) (t trustRecord, err error) {
	info, err := os.Lstat(name)
	if err != nil {
		return t, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || ownerOf(name) != os.Geteuid() {
		return t, fmt.Errorf("%s: others may have written it; delete it", name)
	}
	data, err := readRegular(name)
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	t.name = name
	return t, err
}

// trustRecords returns the records that can be read, and an error for the others.
func trustRecords(dir string) (all []trustRecord, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, name := range names {
		t, broken := readTrust(name)
		if broken != nil && !errors.Is(broken, fs.ErrNotExist) {
			err = errors.Join(err, broken)
			continue
		}
		all = append(all, t)
	}
	return all, err
}
