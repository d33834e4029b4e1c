package llmfallback

import (
	"slices"
	"strings"
	"sync"
)

// functionWords never name a file or a folder unless they are quoted.
var functionWords = wordSet(`
a an the this that these those my our your his her its their it them they i we you he she me us
and or nor but if then else when while unless except without with within into onto in on at to from of for
by as over under below above before after between through via about around across along against during until
not no never don't do does did is are was were be been being am has have had will would can could should may might must shall
what which who whom whose where why how there here everything anything something nothing all any every each both
only just also too very again already still yet called named titled please thanks thank kindly
e.g i.e a.m p.m u.s
`)

// pointing are words that are no name unless "called" stands before them.
var pointing = wordSet(`
one ones some many more most few several other another same different such own now
new existing current present working empty blank previous following given specific particular certain
specified said entire whole full complete first second third last next parent child home root brand
file files folder folders directory directories dir dirs subfolder subfolders subdirectory subdirectories path paths
filename filenames name names title workspace item items entry entries list listing line lines word words text contents content
tree structure hierarchy level levels alphabetical numeric lowercase uppercase camelcase snakecase snake_case kebab-case titlecase
reverse ascending descending today tomorrow yesterday later soon immediately quickly recursively recursive permanently etc vs
order depth detail details columns size sizes date dates permissions owner ownership usage statistics info information metadata
attributes properties timestamps extension extensions explorer manager system systems count number types time case sync place progress question advance turn brief
void memory mind parallel total stdin stdout stderr clipboard exists exist
`)

// topics are languages, programs and the like: "a file in Python" lies in no folder.
var topics = wordSet(`
english german french spanish italian portuguese dutch russian chinese japanese korean arabic hindi latin
python javascript typescript java golang rust ruby php perl kotlin swift scala haskell lua c c++ c# bash shell sql
markdown json yaml xml csv html css pdf latex utf-8 utf8 ascii binary hex base64 unicode
vim vi nano emacs vscode notepad sublime word excel chrome firefox browser editor terminal console finder explorer git github docker
human use trash bin garbage vault repo repository project
`)

// descriptive words are no name in lower case; with a capital they may be one:
// the Shared folder.
var descriptive = wordSet(`
fresh old latest recent final single double multiple various main default local remote target source destination original
duplicate copy temporary permanent private hidden secret secure shared nested separate dedicated special proper personal simple
normal regular standard basic random unique similar related relevant necessary appropriate suitable corresponding matching
remaining big small large long short nice good great better best bad safe clean correct right left wrong daily weekly monthly
yearly document general entitled labeled labelled
read write create make delete remove move rename add append open show display print view check see get put save store
set up find locate search look tell give let want need like help using run execute keep raw
`)

// wordSet makes a set of the words in list, when it is first asked for.
func wordSet(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for w := range strings.FieldsSeq(list) {
			set[w] = true
		}
		return set
	})
}

// knownFiles are file names that have no extension.
var knownFiles = [...]string{
	"makefile", "dockerfile", "containerfile", "jenkinsfile", "pipfile", "procfile", "gemfile", "rakefile", "brewfile", "podfile",
	"vagrantfile", "justfile", "readme", "license", "licence", "changelog", "contributing", "codeowners",
	"fstab", "crontab", "sudoers", "passwd", "known_hosts", "authorized_keys", "id_rsa",
}

// filesInFolders are such names that are ordinary words when they stand alone.
var filesInFolders = [...]string{"hosts", "group", "authors", "notice", "copying", "todo", "version", "profile"}

// hostEndings make a bare word with a point a site rather than a file.
var hostEndings = [...]string{".com", ".org", ".net", ".edu", ".gov"}

// pathBytes reports whether s is made of what an unquoted path is made of.
func pathBytes(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c >= 0x80:
		case strings.IndexByte("._-/~@+", c) >= 0:
		default:
			return false
		}
	}
	return s != "" && s[0] != '-' && s[0] != '@' && s[0] != '+' && (!strings.Contains(s, "@") || strings.Contains(s, "/"))
}

// quotedPath reports whether the text between two quotes can be a path:
// one line, no pattern, no variable.
func quotedPath(s string) bool {
	return s != "" && strings.TrimSpace(s) == s && !strings.ContainsAny(s, "*?[]{}$<>|\"`\\;") &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) && !strings.Contains(s, "://")
}

// slashed reports whether an unquoted word is a path by its slashes.
// Alternatives like files/directories are none.
func slashed(s string) bool {
	if s == "." || s == ".." {
		return true
	}
	if !strings.Contains(s, "/") || !pathBytes(s) || strings.Contains(s, "//") {
		return false
	}
	if strings.IndexByte("./~", s[0]) >= 0 || strings.HasSuffix(s, "/") {
		return true
	}
	for segment := range strings.SplitSeq(s, "/") {
		if !functionWords()[segment] && !pointing()[segment] && !descriptive()[segment] {
			return true
		}
	}
	return false
}

// fileShaped reports whether the last segment looks like a file: an extension,
// a dot file, or one of the names that files have without.
func fileShaped(s string) bool {
	base := s[strings.LastIndexByte(s, '/')+1:]
	low := lower(base)
	if base == "" || base == "." || base == ".." || functionWords()[low] {
		return false
	}
	if slices.Contains(knownFiles[:], low) || base != s && slices.Contains(filesInFolders[:], low) {
		return true
	}
	dot := strings.LastIndexByte(base, '.')
	if dot == 0 {
		return len(base) > 1 && strings.ContainsFunc(base, isLetter)
	}
	if dot < 0 || len(base)-dot > 12 || !extension(base[dot+1:]) {
		return false
	}
	return base != s || !slices.Contains(hostEndings[:], low[dot:])
}

// quotedFile is fileShaped for a name in quotes, which may be called "myfile".
func quotedFile(s string) bool {
	return fileShaped(s) || strings.HasSuffix(s, "file") && !strings.Contains(s, " ")
}

func extension(s string) bool {
	letters := false
	for _, r := range s {
		if !isLetter(r) && (r < '0' || r > '9') {
			return false
		}
		letters = letters || isLetter(r)
	}
	return letters
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= 0x80 }

// bareName reports whether an unquoted word can be a name by its place alone.
func bareName(s string) bool { return adjacentName(s) && !topics()[lower(s)] }

// adjacentName reports whether an unquoted word can be the name before "folder".
func adjacentName(s string) bool { return followingName(s) && !descriptive()[s] }

// followingName reports whether an unquoted word can be the name after "folder".
func followingName(s string) bool { return givenName(s) && !pointing()[lower(s)] }

// madeName reports whether an unquoted word can be the name of a folder to be
// made, behind "folder". There even dir may be one.
func madeName(s string) bool {
	switch lower(s) {
	case "dir", "dirs", "file", "files", "name", "root", "home", "parent", "child", "text", "order", "date", "count", "info", "information",
		"statistics", "metadata", "properties", "usage", "sync", "time", "place", "case", "types", "memory", "void", "total", "clipboard":
		return givenName(s)
	}
	return followingName(s)
}

// givenName reports whether an unquoted word can be the name after "called".
func givenName(s string) bool {
	return pathBytes(s) && !strings.Contains(s, "/") && !functionWords()[lower(s)] &&
		strings.ContainsFunc(s, func(r rune) bool { return isLetter(r) || '0' <= r && r <= '9' })
}

// titled reports whether a word can stand inside an unquoted name of several
// words: it begins with a capital or a digit, or is a path.
func titled(s string) bool {
	if !pathBytes(s) {
		return s == "-" || s == "&"
	}
	return 'A' <= s[0] && s[0] <= 'Z' || '0' <= s[0] && s[0] <= '9' || strings.Contains(s, "/")
}
