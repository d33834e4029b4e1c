package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	rawjson "textskill/parser/json"
	"textskill/skill/agent"
)

// variables are the variables of the environment, then of files.
type variables struct {
	getenv func(string) string
	files  map[string]variable
}

// A variable is one that a file defines.
type variable struct {
	value string
	from  string // the workspace's file; "" for a file that the user named outside of it
}

// get returns a variable, "" if it is not set.
func (v *variables) get(name string) string {
	if value := v.getenv(name); value != "" {
		return value
	}
	return v.files[name].value
}

// first returns the name of the first of some variables that is set, "" for none.
func (v *variables) first(names []string) string {
	for _, name := range names {
		if v.get(name) != "" {
			return name
		}
	}
	return ""
}

// power returns the variable as a power of the workspace. ok is false if it is not set,
// or not by a file of the workspace.
func (v *variables) power(name string) (p agent.Power, ok bool) {
	f := v.files[name]
	if v.getenv(name) != "" || f.value == "" || f.from == "" {
		return p, false
	}
	return agent.Power{Setting: f.from + ": " + name, Value: string(rawjson.Encode(f.value))}, true
}

// load adds the variables of a file, of the workspace unless users is set. If two files
// define a variable the first counts.
func (v *variables) load(file string, users bool) error {
	if v.files == nil {
		v.files = map[string]variable{}
	}
	data, err := readRegular(file)
	if err != nil {
		return err
	}
	from := ""
	if !users {
		if from, err = filepath.Abs(file); err != nil {
			return err
		}
		from = realDir(from)
	}
	for _, m := range assignment().FindAllStringSubmatch(strings.TrimPrefix(string(data), "\ufeff"), -1) {
		if _, ok := v.files[m[1]]; !ok {
			v.files[m[1]] = variable{unquoted(m[2]), from}
		}
	}
	return nil
}

// assignment is a line like NAME=value or export NAME="value" # comment. A value
// in quotes may go over several lines.
var assignment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.]*)[ \t]*=[ \t]*("(?:[^"\\]|\\[\s\S])*"|'[^']*'|[^\r\n]*)`)
})

// unquoted returns a value without its quotes, or without the comment after it.
func unquoted(value string) string {
	switch {
	case len(value) > 1 && value[0] == '\'' && value[len(value)-1] == '\'':
		return value[1 : len(value)-1]
	case len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"':
		return strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\\`,
			`\`).Replace(value[1 : len(value)-1])
	}
	if i := strings.Index(value, " #"); i >= 0 || strings.HasPrefix(value, "#") {
		value = value[:max(i, 0)]
	}
	return strings.TrimSpace(value)
}

// secrets returns the credentials of the environment and of the files, which must not be
// recorded or shown.
func (v *variables) secrets() (values []string) {
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		values = append(values, agent.Credentials(name, value)...)
	}
	for name, f := range v.files {
		values = append(values, agent.Credentials(name, f.value)...)
	}
	return values
}

// secretIn returns the secret in the file of a flag, without white space around it.
func secretIn(file, flag, what string, read func(string) ([]byte, error)) (string, error) {
	data, err := read(file)
	secret := strings.TrimSpace(string(data))
	if err == nil && secret == "" {
		err = &fs.PathError{Op: "read", Path: file, Err: errors.New("it holds no " + what)}
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	return secret, nil
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
