package words

import (
	"bytes"
	"slices"
	"strings"
)

// gitSections are the sections of git's settings that hold no credential by their nature.
var gitSections = strings.Fields(`advice alias am apply author blame branch checkout clean color column commit committer core diff difftool fetch filter format gc gpg
	grep help i18n index init interactive lfs log maintenance man merge mergetool notes pack pager protocol pull push rebase remote rerere safe
	stash status submodule tag transfer ui user versionsort`)

// GitSettings returns the lines of a file of git's settings that name no address and hold no
// credential.
func GitSettings(data []byte) (kept []byte) {
	keep, goesOn := false, false
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		if header, ok := strings.CutPrefix(text, "["); ok && !goesOn {
			name, _, _ := strings.Cut(header, "]")
			section, _, _ := strings.Cut(name, " ")
			section, _, _ = strings.Cut(section, ".")
			keep = slices.Contains(gitSections, strings.ToLower(section)) && !strings.Contains(header, "@")
		}
		if keep && !holdsCredential(text) {
			kept = append(kept, line...)
		} else if goesOn {
			kept = bytes.TrimSuffix(kept, []byte("\\\n"))
		}
		goesOn = strings.HasSuffix(text, `\`)
	}
	return kept
}

// holdsCredential reports whether a line of git's settings has an address or looks like a credential.
func holdsCredential(line string) bool {
	name, value, _ := strings.Cut(line, "=")
	if CredentialName().MatchString(strings.TrimSpace(name)) || strings.Contains(line, "://") {
		return true
	}
	parts := strings.FieldsFunc(value+" "+name,
		func(r rune) bool { return strings.ContainsRune(" \t\"'", r) })
	return slices.ContainsFunc(append(parts, strings.Trim(strings.TrimSpace(value), `"`)),
		CredentialValue().MatchString)
}
