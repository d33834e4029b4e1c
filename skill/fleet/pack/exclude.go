package pack

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"textskill/skill/internal/search"
)

// credentialFiles are names of files and folders that hold credentials by convention.
// So do names that begin with ".env", except envExamples. Files such as *.pem and
// *.key move: they are mostly certificates, and keys of tests, without which a project does
// not build. Options.Exclude is for those that are not.
var credentialFiles = []string{
	".git-credentials", ".gitcookies", ".netrc", "_netrc", // of git and curl
	".ssh", ".gnupg",
	".pgpass", ".pypirc",
	"id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", // private keys of SSH
}

// credentialPaths are ends of paths of others.
var credentialPaths = []string{
	".git/credentials", ".config/git/credentials", ".config/gh/hosts.yml",
	".aws/credentials", ".docker/config.json", ".kube/config",
}

// envExamples are what ".env" is followed by in files that show which variables there are.
var envExamples = []string{".example", ".sample", ".template", ".dist"}

// holdsCredentials reports whether a file of that name in the folder rel stays on the machine.
func holdsCredentials(rel, name string) bool {
	if rest, ok := strings.CutPrefix(name, ".env"); ok {
		return !slices.Contains(envExamples, rest)
	}
	// of git, while it writes its config file
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

// inGit reports whether a folder is a repository's own, or below one.
func inGit(rel string) bool {
	for part := range strings.SplitSeq(rel, "/") {
		if strings.HasSuffix(part, ".git") {
			return true
		}
	}
	return false
}

// An excluder says which files stay on the machine.
type excluder []exclusion

// An exclusion is a pattern of Options.Exclude.
type exclusion struct {
	glob  search.Glob
	again bool // what matches does not stay after all
}

func newExcluder(patterns []string) (x excluder, err error) {
	for _, text := range patterns {
		rest, again := strings.CutPrefix(text, "!")
		if strings.TrimSpace(rest) == "" || !again && strings.HasPrefix(rest, "#") {
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
		x = append(x, exclusion{glob, again})
	}
	return x, nil
}

// match reports whether a file stays on the machine, folder with all that is in it. The
// folders that it is in do not.
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
			return !e.again
		}
	}
	return false
}
