package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"textskill/skill/internal/patch"
)

// LocalName returns the path that a client means: of file:///tmp/a, that is /tmp/a. It refuses a
// path below ~, because nobody means a folder that is called ~.
func LocalName(name string) (string, error) {
	if name == "~" || strings.HasPrefix(name, "~/") {
		return "", fmt.Errorf("%s is relative to a home folder, which is outside the workspace; a folder named ~ is ./~", name)
	}
	if !strings.HasPrefix(name, "file://") {
		return name, nil
	}
	u, err := url.Parse(name)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s is not a URL: %w", name, errors.Unwrap(err))
	case u.Host != "" && u.Host != "localhost" || u.Path == "":
		return "", fmt.Errorf("%s names no file of this machine; a path does, or file:///path", name)
	}
	return u.Path, nil
}

// Alike returns the name of a file that looks like abs, which does not exist: it differs in
// kinds of blanks, quotes or dashes, in case, or in how letters are composed. "" means that there
// is none, or several.
func (x *Executor) Alike(abs string) string {
	dir, name := filepath.Split(filepath.Clean(abs))
	if _, err := x.ws.Stat(dir, true); errors.Is(err, fs.ErrNotExist) {
		if dir = x.Alike(dir); dir == "" {
			return ""
		}
		if both := filepath.Join(dir, name); x.exists(both) {
			return both
		}
	}
	entries, err := x.ws.ReadDir(dir)
	if err != nil {
		return ""
	}
	found, looks := "", look(name)
	for _, e := range entries {
		if e.Name == name || look(e.Name) != looks {
			continue
		}
		if found != "" {
			return ""
		}
		found = filepath.Join(dir, e.Name)
	}
	return found
}

func (x *Executor) exists(abs string) bool {
	_, err := x.ws.Stat(abs, false)
	return err == nil
}

// look is the same for names that look alike.
func look(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		switch {
		case r == '\u200b' || r == '\u200c' || r == '\u200d' || r == '\ufeff':
			return -1
		case r > utf8.RuneSelf && unicode.Is(unicode.Zs, r):
			return ' '
		}
		return patch.Straight(r)
	}, norm.NFC.String(name)))
}
