package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"textskill/contrib"
	"textskill/skill/hook"
)

// A fault is what doctor finds wrong and can mend.
type fault struct {
	what string
	mend func() error
}

// faults returns what doctor can mend. dirs are the folders of histories.
func (c *cli) faults(o *options, dirs []string) []fault {
	program, err := os.Executable()
	if err != nil {
		return nil
	}
	return append(append(openFolders(append(dirs, c.stateDir())), c.movedServers(o, program)...), c.movedHooks(program)...)
}

// openFolders returns the folders that other users of the machine can look into.
func openFolders(dirs []string) (list []fault) {
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if runtime.GOOS == "windows" || err != nil || !info.IsDir() || info.Mode()&0o077 == 0 {
			continue
		}
		what := fmt.Sprintf("other users of this machine can look into %s, which holds contents of files", dir)
		list = append(list, fault{what, func() error { return os.Chmod(dir, info.Mode().Perm()&^0o077) }})
	}
	return list
}

// isGone reports whether an absolute path names nothing.
func isGone(program string) bool {
	_, err := os.Stat(program)
	return filepath.IsAbs(program) && errors.Is(err, fs.ErrNotExist)
}

// movedServers returns the hosts that start a program which is not there.
func (c *cli) movedServers(o *options, program string) (list []fault) {
	p, err := c.places()
	if err != nil {
		return nil
	}
	for _, h := range hosts {
		names := []string{h.file(p)}
		if h.inside != "" {
			names = append(names, filepath.Join(o.workspace, filepath.FromSlash(h.inside)))
		}
		for _, name := range names {
			file, before, err := readHost(name)
			if err != nil || len(before) == 0 {
				continue
			}
			words, err := h.command(before)
			if err != nil || len(words) == 0 || !isGone(words[0]) {
				continue
			}
			what := fmt.Sprintf("%s starts %s, which is not there, by %s", h.title, words[0], file)
			list = append(list, fault{what, func() error {
				after, err := h.edit(before, h.entry(program, words[1:]))
				if err == nil {
					_, err = replaceFile(file, before, after)
				}
				return err
			}})
		}
	}
	return list
}

// movedHooks returns the hosts whose hooks call a program which is not there.
func (c *cli) movedHooks(program string) (list []fault) {
	for i := range hook.Setups {
		s := &hook.Setups[i]
		h, err := c.hookPlace(s, "", "")
		if err != nil || bytes.Equal(h.before, h.after) {
			continue
		}
		line := regexp.MustCompile(`"((?:[^"\\]|\\.)+?) hook ` + regexp.QuoteMeta(s.Host) + `(?: --state ('[^']*'|\S+))? 2>`).FindSubmatch(h.before)
		if line == nil || !isGone(shellUnquoted(string(line[1]))) {
			continue
		}
		state := string(line[2])
		what := fmt.Sprintf("hooks of %s call %s, which is not there, by %s", s.Title, shellUnquoted(string(line[1])), h.file)
		list = append(list, fault{what, func() error {
			h, err := c.hookPlace(s, program, state)
			if err == nil {
				_, err = replaceFile(h.file, h.before, h.after)
			}
			return err
		}})
	}
	return append(list, c.movedFiles(program)...)
}

// shellUnquoted returns a word as it was before shellWord.
func shellUnquoted(word string) string {
	if inside, ok := strings.CutPrefix(word, "'"); ok {
		word = strings.ReplaceAll(strings.TrimSuffix(inside, "'"), `'\''`, "'")
	}
	return word
}

// movedFiles returns the hosts for which a file of this program calls one that is not there.
func (c *cli) movedFiles(program string) (list []fault) {
	p, err := c.places()
	if err != nil {
		return nil
	}
	named := regexp.MustCompile(`(?m)(?:^|["' ])(/[^"'\n]*skill)["' ]`)
	for _, s := range hook.Setups {
		files := contrib.HookOf(s.Host)
		if files == nil {
			continue
		}
		missing, err := files.Missing(p.home, program)
		if err != nil {
			continue
		}
		for _, name := range missing {
			name = filepath.Join(p.home, filepath.FromSlash(name))
			text, err := os.ReadFile(name)
			called := named.FindSubmatch(text)
			if err != nil || called == nil || !isGone(string(called[1])) {
				continue
			}
			what := fmt.Sprintf("hooks of %s call %s, which is not there, by %s", s.Title, called[1], name)
			list = append(list, fault{what, func() error {
				_, err := files.Install(p.home, program)
				return err
			}})
			break
		}
	}
	return list
}

// treat says what is wrong, and mends it with fix.
func (c *cli) treat(list []fault, fix bool) (lines []string, err error) {
	for _, f := range list {
		switch {
		case !fix:
			lines = append(lines, f.what+"; "+c.program()+" doctor --fix mends it")
		default:
			if mendErr := f.mend(); mendErr != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", f.what, mendErr))
				continue
			}
			lines = append(lines, "mended: "+f.what)
		}
	}
	return lines, err
}
