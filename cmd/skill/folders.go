package main

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// An environment returns the value of a variable, or "". Its methods return the folders that the
// variables of a user name.
type environment func(name string) string

// places are folders in which hosts keep their configuration.
type places struct{ home, config string }

// places returns where hosts of this user keep their configuration.
func (env environment) places() (places, error) {
	home := env("HOME")
	if runtime.GOOS == "windows" {
		home = env("USERPROFILE")
	}
	if home == "" {
		return places{}, errors.New("the environment names no home folder")
	}
	switch config := env("XDG_CONFIG_HOME"); {
	case runtime.GOOS == "windows":
		return places{home, env("APPDATA")}, nil
	case runtime.GOOS == "darwin":
		return places{home, filepath.Join(home, "Library", "Application Support")}, nil
	case config != "":
		return places{home, config}, nil
	}
	return places{home, filepath.Join(home, ".config")}, nil
}

// stateDir returns the user's state folder. Without a home folder it returns "".
func (env environment) stateDir() string {
	if dir := env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "skill")
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "skill")
	}
	return ""
}

// inState returns the path of a name in the user's state folder. Without a home folder it returns "".
func (env environment) inState(name string) string {
	if dir := env.stateDir(); dir != "" {
		return filepath.Join(dir, name)
	}
	return ""
}

// historyDir returns the folder that is named for histories, or "".
func (env environment) historyDir(w *workspaceOptions) string {
	return cmp.Or(w.State, env("SKILL_STATE"))
}

// ownState returns the folder of histories for a program whose host may hide the environment from it; ""
// if the program finds the folder with HOME alone.
func (env environment) ownState(w *workspaceOptions) (string, error) {
	if dir := env.historyDir(w); dir != "" {
		return filepath.Abs(dir)
	}
	home := env("HOME")
	usual := environment(func(name string) string { return map[string]string{"HOME": home}[name] })
	if dir := env.stateDir(); dir != usual.stateDir() {
		return dir, nil
	}
	return "", nil
}

// userRules returns the path of the user's skill.toml. Without a home folder it returns "".
func (env environment) userRules() string {
	at, err := env.places()
	if err != nil || at.config == os.DevNull {
		return ""
	}
	return filepath.Join(at.config, "skill", rulesFile)
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

// saveFile writes a file for this user alone, in the place of an earlier one. The file is whole at
// any time. With lasting, it is whole after a power failure too.
func saveFile(name string, data []byte, lasting bool) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	made := name + "." + rand.Text()
	defer os.Remove(made)
	if err := writeNew(made, data, lasting); err != nil {
		return err
	}
	return os.Rename(made, name)
}

func writeNew(name string, data []byte, lasting bool) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if lasting {
		f.Sync() // some file systems cannot
	}
	return errors.Join(err, f.Close())
}

// secretIn returns the secret in the file of a flag, without white space around it.
func secretIn(file, flag, what string, read func(string) ([]byte, error)) (string, error) {
	data, err := read(file)
	secret := strings.TrimSpace(strings.TrimPrefix(string(data), "\ufeff"))
	if err == nil && secret == "" {
		err = &fs.PathError{Op: "read", Path: file, Err: errors.New("it holds no " + what)}
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	return secret, nil
}

// readText is readRegular without the byte order mark that editors on Windows begin a text with.
func readText(name string) ([]byte, error) {
	data, err := readRegular(name)
	return bytes.TrimPrefix(data, []byte("\ufeff")), err
}

// readRegular reads a regular file of at most 1 MiB that the command line names.
func readRegular(name string) ([]byte, error) { return readAtMost(name, 1<<20) }

// readAtMost reads a regular file of at most some bytes.
func readAtMost(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
