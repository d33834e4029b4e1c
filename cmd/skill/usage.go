package main

import (
	"strings"

	"github.com/spf13/cobra"

	"textskill/skill"
)

// similar returns the subcommand whose name a word begins or resembles, "" if no
// subcommand does.
func similar(root *cobra.Command, word string) string {
	const shortest, longest = 3, 16 // letters
	if len(word) < shortest || len(word) > longest || strings.ContainsAny(word, " \t\r\n") {
		return ""
	}
	word = strings.ToLower(word)
	best, least := "", longest
	for _, sub := range root.Commands() {
		name := sub.Name()
		if strings.HasPrefix(name, word) {
			return name
		}
		if d := skill.Distance(word, name); d <= len(name)/3 && d < least {
			best, least = name, d
		}
	}
	return best
}
