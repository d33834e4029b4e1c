package agent

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	rawjson "textskill/parser/json"
)

// redacted takes the place of a secret.
const redacted = "[redacted]"

// A Redactor puts [redacted] in the place of secrets. The zero Redactor knows none.
type Redactor struct{ replace *strings.Replacer }

// NewRedactor returns a Redactor for these values, of which it passes over those
// shorter than four bytes. They are found also as JSON has them, and lines of a
// longer one also alone.
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
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) // the longest counts
	var pairs []string
	for _, v := range slices.Compact(all) {
		pairs = append(pairs, v, redacted)
	}
	if pairs == nil {
		return Redactor{}
	}
	return Redactor{strings.NewReplacer(pairs...)}
}

// escaped is a text as it stands in JSON between the quotes.
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

// ShortCredential is how many bytes a value has at least that counts as a credential
// whatever its variable is called. Shorter ones are words that texts are full of.
const ShortCredential = 8

var credentialName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL`)
})

// CredentialName tells whether a variable holds a credential, as far as its name
// says.
func CredentialName(name string) bool { return credentialName().MatchString(name) }

// harmless are variables that many programs require and that hold no credential:
// where things are, and how they are shown. Without their values no path could be
// told.
var harmless = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TZ", "PWD", "TMPDIR", "NODE_PATH", "DISPLAY",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
}

// credentialFlag is what an argument looks like that holds a credential, or is
// followed by one.
var credentialFlag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^-.*(?:key|token|secret|passw|credential)[^=]*(?:=(.*))?$`)
})

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
