package agent

import (
	"cmp"
	"encoding/json"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"textskill/parser/rawjson"
	"textskill/skill"
	"textskill/skill/internal/words"
)

// redacted takes the place of a secret.
const redacted = "[redacted]"

// A Redactor puts [redacted] in the place of secrets. The zero Redactor knows none.
type Redactor struct {
	replace *strings.Replacer
	longest int // bytes of a secret
}

// NewRedactor returns a Redactor for these values, except values
// shorter than four bytes. It also finds their JSON form, and single lines of a
// longer value.
func NewRedactor(values []string) Redactor {
	var all []string
	for _, v := range values {
		if len(v) < 4 {
			continue
		}
		all = append(all, v, escaped(v))
		if !strings.Contains(v, "\n") {
			continue
		}
		for line := range strings.Lines(v) {
			if line = strings.TrimSpace(line); len(line) >= 16 {
				all = append(all, line, escaped(line))
			}
		}
	}
	// the longest counts
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, v := range slices.Compact(all) {
		pairs = append(pairs, v, redacted)
	}
	if pairs == nil {
		return Redactor{}
	}
	return Redactor{strings.NewReplacer(pairs...), len(all[0])}
}

// escaped returns a text as JSON has it between the quotes.
func escaped(s string) string {
	b := rawjson.Encode(s)
	return string(b[1 : len(b)-1])
}

// Text returns s without secrets, in valid UTF-8.
func (r Redactor) Text(s string) string {
	if r.replace != nil {
		s = r.replace.Replace(s)
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// JSON returns a JSON value, which must be valid, without secrets in its strings.
func (r Redactor) JSON(raw json.RawMessage) json.RawMessage {
	if r.replace == nil {
		return raw
	}
	var out []byte
	copied := 0
	for from, to := range rawjson.EachString(raw) {
		text := rawjson.Unquote(raw[from:to])
		if clean := r.replace.Replace(text); clean != text {
			out = rawjson.AppendString(append(out, raw[copied:from]...), clean)
			copied = to
		}
	}
	return append(out, raw[copied:]...)
}

// snapshot returns the state of a session without secrets. A path that holds one is left out: the session
// goes on in the workspace's folder then, and has not seen the file.
func (r Redactor) snapshot(s skill.Snapshot) skill.Snapshot {
	for i := range s.Todos {
		s.Todos[i].Title = r.Text(s.Todos[i].Title)
	}
	if r.holds(s.Dir) {
		s.Dir = ""
	}
	s.Seen = slices.DeleteFunc(s.Seen, func(f skill.SeenFile) bool { return r.holds(f.Path) })
	return s
}

// holds reports whether a text holds a secret.
func (r Redactor) holds(s string) bool { return r.replace != nil && r.replace.Replace(s) != s }

// redactedNote tells a model what redacted is. Without it, models write it into files.
const redactedNote = "- " + redacted +
	" stands for a credential that is not shown to you. Files hold the value itself: never write " +
	redacted + " into one."

// Credentials returns what a variable's value has that is a credential: nothing, if neither
// its name nor its shape says so, or the value is a common word, a number, a path or a host, of
// which texts are full; else the value, and the password in it if it is a URL, or the
// values of the headers that a variable of OpenTelemetry lists.
func Credentials(name, value string) []string {
	value = strings.TrimSpace(value)
	if !words.CredentialName().MatchString(name) && !words.CredentialValue().MatchString(value) ||
		ordinary(value) {
		return nil
	}
	if u, err := url.Parse(value); err == nil && u.Host != "" {
		if password, _ := u.User.Password(); password != "" {
			return []string{value, password}
		}
	}
	list := []string{value}
	if strings.HasSuffix(strings.ToUpper(name), "HEADERS") {
		for header := range strings.SplitSeq(value, ",") {
			if _, text, ok := strings.Cut(header, "="); ok && !ordinary(strings.TrimSpace(text)) {
				list = append(list, strings.TrimSpace(text))
			}
		}
	}
	return list
}

// commonWords are values of eight letters or more that are settings, not credentials.
// Fewer letters and nothing else are always taken for a word.
var commonWords = []string{
	"localhost", "production", "development", "staging", "testing", "disabled", "enabled", "optional",
	"required", "undefined",
	"anonymous", "internal", "external", "password", "username", "changeme", "administrator", "postgres",
	"postgresql", "keychain",
}

// ordinary reports whether a value is a common word, a boolean, a number, a path or a host.
func ordinary(value string) bool {
	word := strings.ToLower(value)
	if !strings.ContainsFunc(word, func(c rune) bool { return !unicode.IsLetter(c) }) {
		return len(word) < 8 || slices.Contains(commonWords, word)
	}
	if _, err := strconv.ParseFloat(value, 64); err == nil && len(value) < 16 {
		return true
	}
	return isPath(value) || isHost(value)
}

// isPath reports whether a value is a path: relative by its beginning, or absolute in a
// folder that exists. A credential in base64 may begin with a slash, too.
func isPath(value string) bool {
	for _, prefix := range []string{"./", "../", "~/"} {
		if strings.HasPrefix(value, prefix) {
			return true
		}
	}
	dir := filepath.Dir(value)
	if !filepath.IsAbs(value) || dir == filepath.Dir(dir) && filepath.Clean(value) != dir {
		_, err := os.Lstat(value)
		return err == nil && filepath.IsAbs(value)
	}
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

var hostName = words.Pattern(`^(localhost|([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,24})$`)

// isHost reports whether a value is a host, with a port or without, or a URL that names
// a host and no user, query or long segment.
func isHost(value string) bool {
	if u, err := url.Parse(value); err == nil && u.Host != "" {
		long := slices.ContainsFunc(strings.Split(u.Path, "/"),
			func(segment string) bool { return len(segment) >= 20 })
		return u.User == nil && u.RawQuery == "" && u.Fragment == "" && !long
	}
	host := value
	if h, _, err := net.SplitHostPort(value); err == nil {
		host = h
	}
	_, err := netip.ParseAddr(host)
	return err == nil || hostName().MatchString(host)
}

// credentialFlag is what an argument looks like that holds a credential, or is
// followed by one.
var credentialFlag = words.Pattern(`(?i)^-.*(?:key|token|secret|passw|credential)[^=]*(?:=(.*))?$`)

// spelled returns the credentials that a skill's configuration spells out.
func (c SkillConfig) spelled() (values []string) {
	if u, err := url.Parse(c.Endpoint); err == nil {
		password, _ := u.User.Password()
		values = append(values, password, u.User.String(), u.RawQuery)
	}
	for i, arg := range c.Args {
		switch m := credentialFlag().FindStringSubmatch(arg); {
		case m == nil:
		case m[1] != "":
			values = append(values, m[1])
		case i+1 < len(c.Args) && !strings.HasPrefix(c.Args[i+1], "-"):
			values = append(values, c.Args[i+1])
		}
	}
	return values
}
