package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"

	"textskill/skill/agent"
)

// variables are those of the environment, then those of files.
type variables struct {
	getenv func(string) string
	files  map[string]string
}

// get returns a variable, "" if it is not set.
func (v *variables) get(name string) string {
	if value := v.getenv(name); value != "" {
		return value
	}
	return v.files[name]
}

// load adds the variables of files. If two files define a variable the first counts.
func (v *variables) load(files ...string) error {
	if v.files == nil {
		v.files = map[string]string{}
	}
	for _, file := range files {
		data, err := readRegular(file)
		if err != nil {
			return err
		}
		for _, m := range assignment().FindAllStringSubmatch(strings.TrimPrefix(string(data), "\ufeff"), -1) {
			if _, ok := v.files[m[1]]; !ok {
				v.files[m[1]] = unquoted(m[2])
			}
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
		return strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\\`, `\`).Replace(value[1 : len(value)-1])
	}
	if i := strings.Index(value, " #"); i >= 0 || strings.HasPrefix(value, "#") {
		value = value[:max(i, 0)]
	}
	return strings.TrimSpace(value)
}

// secrets returns the values that must not be recorded or shown: the credentials of
// the environment, and every value of a file that is long enough to be one.
func (v *variables) secrets() (values []string) {
	for _, pair := range os.Environ() {
		if name, value, _ := strings.Cut(pair, "="); agent.CredentialName(name) && len(value) >= agent.ShortCredential {
			values = append(values, value)
		}
	}
	for name, value := range v.files {
		if agent.CredentialName(name) || len(value) >= agent.ShortCredential {
			values = append(values, value)
		}
	}
	return values
}

// readRegular reads a regular file of at most 1 MiB that the command line names.
func readRegular(name string) ([]byte, error) {
	const limit = 1 << 20
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
