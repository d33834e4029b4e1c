package pack

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"textskill/skill/internal/search"
)

// credentialFiles are names of files and folders that hold credentials by convention. Names that
// begin with ".env" do too, except envExamples. Files like *.pem and *.key are stored: most are
// certificates and keys of tests, and projects need them to build. Options.Exclude can name them.
var credentialFiles = []string{
	".git-credentials", ".gitcookies", ".netrc", "_netrc", // of git and curl
	".ssh", ".gnupg",
	".pgpass", ".pypirc",
	"id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", // private keys of SSH
}

// credentialPaths are ends of paths that hold credentials.
var credentialPaths = []string{
	".git/credentials", ".config/git/credentials", ".config/gh/hosts.yml",
	".aws/credentials", ".docker/config.json", ".kube/config",
}

// envExamples are the endings of ".env" files that list variables without values.
var envExamples = []string{".example", ".sample", ".template", ".dist"}

// holdsCredentials reports whether a file in the folder rel holds credentials, by its name.
func holdsCredentials(rel, name string) bool {
	if rest, ok := strings.CutPrefix(name, ".env"); ok {
		return !slices.Contains(envExamples, rest)
	}
	// Git writes a new config file under the name config.lock.
	if slices.Contains(credentialFiles, name) || name == "config.lock" && inGit(rel) {
		return true
	}
	for _, end := range credentialPaths {
		folder, last := path.Split(end)
		if folder = folder[:len(folder)-1]; name == last &&
			(rel == folder || strings.HasSuffix(rel, "/"+folder)) {
			return true
		}
	}
	return false
}

// inGit reports whether a path has a git directory, such as ".git" or "x.git".
func inGit(rel string) bool {
	for part := range strings.SplitSeq(rel, "/") {
		if strings.HasSuffix(part, ".git") {
			return true
		}
	}
	return false
}

// An excluder decides which files are not stored. Its last matching pattern decides.
type excluder []exclusion

// An exclusion is a pattern of Options.Exclude.
type exclusion struct {
	glob    search.Glob
	include bool // the pattern began with "!": store matching files
}

func newExcluder(patterns []string) (x excluder, err error) {
	for _, text := range patterns {
		rest, include := strings.CutPrefix(text, "!")
		if strings.TrimSpace(rest) == "" || !include && strings.HasPrefix(rest, "#") {
			continue
		}
		if strings.Contains(strings.TrimSuffix(rest, "/"), "/") {
			rest = strings.TrimPrefix(rest, "/")
		} else {
			rest = "**/" + rest
		}
		glob, err := search.ParseGlob(rest)
		if err != nil {
			return nil, fmt.Errorf("the pattern %q of files to exclude %w", text, err)
		}
		x = append(x, exclusion{glob, include})
	}
	return x, nil
}

// match reports whether a file, or a folder with all its files, is not stored. The caller has
// checked the parent folders.
func (x excluder) match(rel, name string, folder bool) bool {
	if holdsCredentials(rel, name) {
		return true
	}
	if len(x) == 0 {
		return false
	}
	whole := join(rel, name)
	for _, e := range slices.Backward(x) {
		if e.glob.Match(whole, folder) {
			return !e.include
		}
	}
	return false
}
