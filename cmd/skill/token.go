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
func (c *console) ownToken(w *workspaceOptions) (token, note string, err error) {
	dir := c.getenv.stateDir()
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
	if err := writeNew(made, []byte(token+"\n"), true); err != nil {
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
