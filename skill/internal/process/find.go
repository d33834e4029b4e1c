package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// A Found is the file of a program.
type Found struct {
	Path string // without symbolic links
	Name string // as PATH names it, for programs that ask how they were called
}

// FindProgram returns the first of the named programs that PATH has. It passes over files
// that a command may write. Its error is a [*SpawnError].
func (x *Runner) FindProgram(names ...string) (Found, error) {
	var passedOver []string
	for _, name := range names {
		if runtime.GOOS == "windows" {
			if path, err := exec.LookPath(name); err == nil {
				return Found{path, path}, nil
			}
			continue
		}
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			path := filepath.Join(dir, name)
			info, err := os.Stat(path)
			if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
				continue
			}
			real, err := filepath.EvalSymlinks(path)
			if err == nil && filepath.IsAbs(dir) && !x.commandsWrite(path) {
				return Found{real, path}, nil
			}
			passedOver = append(passedOver, path)
		}
	}
	return Found{}, &SpawnError{Command: strings.Join(names, `" or "`), Err: syscall.ENOENT,
		PassedOver: strings.Join(passedOver, ", ")}
}

// SafePath is [Runner.SafePathOf] of the PATH of this process.
func (x *Runner) SafePath() string { return x.SafePathOf(os.Getenv("PATH")) }

// SafePathOf returns a PATH without the directories in which a command may write. Relative
// directories are left out too.
func (x *Runner) SafePathOf(path string) string {
	dirs := slices.DeleteFunc(filepath.SplitList(path),
		func(dir string) bool { return !filepath.IsAbs(dir) || x.commandsWrite(dir) })
	if len(dirs) == 0 {
		return os.DevNull // an empty PATH means the current directory
	}
	return strings.Join(dirs, string(os.PathListSeparator))
}
