package main

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"textskill/skill/dialect"
)

// bare matches a word that a shell takes as it is.
var bare = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w@%+=:,./-]+$`) })

// shellLine returns a line for a POSIX shell that runs a program.
func shellLine(program string, args []string) string {
	line := program
	for _, arg := range args {
		line += " " + shellWord(arg)
	}
	return line
}

// shellWord quotes a word for a POSIX shell where that is needed.
func shellWord(word string) string {
	if bare().MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// joined returns words as one prompt, with quotes around words that have spaces: to delete
// "my file.txt" is not to delete file.txt. tools is the dialect that is named, or "".
func joined(words []string, tools string) string {
	spaces := func(w string) bool { return strings.ContainsAny(w, " \t\r\n") }
	quoted := slices.Clone(words)
	for i, w := range words {
		switch {
		case tools != "" && tools != dialect.Achilles.Name, len(words) < 2, spaces(words[0]), !spaces(w):
		case !strings.Contains(w, `"`):
			quoted[i] = `"` + w + `"`
		case !strings.Contains(w, "'"):
			quoted[i] = "'" + w + "'"
		}
	}
	return strings.Join(quoted, " ")
}
