package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ownToken returns the token of HTTP where none is given. It is made once and kept in
// the user's state folder, readable by the user alone, so that clients can be given it.
// note says where it is, and what it is if it was made now. Where there is no such
// folder, or the tools of the workspace reach it, the token is of this run alone.
func (c *cli) ownToken(w *workspaceOptions) (token, note string, err error) {
	dir := c.stateDir()
	if dir == "" || w.holds(dir) {
		token = rand.Text()
		return token, "clients need the header \"Authorization: Bearer " + token +
			"\" until this server ends", nil
	}
	name := filepath.Join(dir, "http-token")
	if token, err = readToken(name); !errors.Is(err, fs.ErrNotExist) {
		return token, "clients need the header \"Authorization: Bearer TOKEN\" with the token in " + name, err
	}
	token = rand.Text()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", "", err
	}
	made := name + "." + rand.Text()
	defer os.Remove(made)
	if err := writeSynced(made, []byte(token+"\n")); err != nil {
		return "", "", err
	}
	if err := os.Link(made, name); errors.Is(err, fs.ErrExist) { // another server was faster
		return c.ownToken(w)
	} else if err != nil {
		return "", "", err
	}
	return token, "clients need the header \"Authorization: Bearer " + token +
		"\"; the token is kept in " + name, nil
}

// writeSynced writes a new file for this user alone, which is whole after a power cut under
// whatever name it gets then.
func writeSynced(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	f.Sync() // some file systems cannot
	return errors.Join(err, f.Close())
}

// readToken reads a token that is not empty and that only this user can read.
func readToken(name string) (string, error) {
	info, err := os.Lstat(name)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("%s: others may have read or written the token; delete the file, and a new one is made", name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", fmt.Errorf("%s holds no token; delete the file, and a new one is made", name)
	}
	return token, nil
}

// stateDir returns the user's state folder; "" where there is no home folder.
func (c *cli) stateDir() string {
	if dir := c.getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "skill")
	}
	if home := c.getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "skill")
	}
	return ""
}

// realDir returns dir with links followed, as far as it exists.
func realDir(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	if up := filepath.Dir(dir); up != dir {
		return filepath.Join(realDir(up), filepath.Base(dir))
	}
	return dir
}
