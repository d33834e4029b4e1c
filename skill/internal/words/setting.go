package words

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// settings are the values that commands get although [CredentialName] matches the name of the
// variable: no credential looks like that. A row is about names that its first pattern matches.
var settings = []struct {
	name, value func() *regexp.Regexp
	words       bool // and no part of the value looks random
}{
	{Pattern(``), Pattern(`^(true|false|yes|no|on|off|none|null|\d{1,3})$`), false},
	{Pattern(`(MIN|MAX|LEN|LENGTH|LIMIT|COUNT|SIZE|ROUNDS|BITS|VERSION|RETRIES|PORT)$`), Pattern(`^\d{1,9}$`), false},
	{Pattern(`(TTL|TIMEOUT|AGE|LIFETIME|EXPIRY|EXPIRES|EXPIRES_IN|EXPIRATION|INTERVAL|DAYS|HOURS|MINUTES|SECONDS)$`),
		Pattern(`^\d{1,9}(ms|s|m|h|d|w|min| ?days?| ?hours?| ?minutes?| ?seconds?)?$`), false},
	{Pattern(`(REGION|ZONE|LOCATION)$`), Pattern(`^([a-z]{2,4}(-[a-z]{3,12}){1,2}-?\d{0,2}[a-z]?|[a-z]{5,13}\d?)$`), false},
	{Pattern(`^AWS_ACCOUNT_ID$`), Pattern(`^\d{12}$`), false},
	{Pattern(`ADDRESS$`), Pattern(`^0x[0-9A-Fa-f]{40}$`), false},
	{Pattern(`^(NEXT_|NUXT_|EXPO_)?PUBLIC_|^PUBLIC_?KEY$`), Pattern(``), false}, // for pages that everybody reads
	{Pattern(`(^|_)(CACHE|SORT|PARTITION|PRIMARY|FOREIGN|GROUP|ORDER|INDEX)_KEY$`),
		Pattern(`^(v?\d{1,4}|[a-z]{1,12}([-_:.][a-z]{1,12}){0,2}(-?v?\d{1,3})?)$`), true},
	{Pattern(`_(NAME|HEADER|TYPE|ALG|ALGORITHM|PREFIX|PROVIDER|BACKEND|STORE|MODE|PROFILE|BUCKET|OUTPUT|POLICY)$`),
		Pattern(`^[A-Za-z]{1,12}([-_/.][A-Za-z]{1,12}){0,3}\d{0,3}$`), true},
	{Pattern(`_(HASH|HASHER|ALG|ALGORITHM|SCHEME)$`), Pattern(`^(argon2(id|i|d)?|b?crypt|scrypt|pbkdf2([-_]?sha\d{1,3})?|[HERP]S\d{3}|sha\d{1,3}|md5)$`), false},
	{Pattern(``), Pattern(`^(\.{1,2}|~|/(app|data|etc|home|mnt|opt|private|root|run|srv|tmp|usr|var|Users|workspace))` +
		`(/\.?[\w@+]{1,24}([-.][\w@+]{1,16})*){1,12}/?$`), true},
	{Pattern(`(FILE|PATH|FILENAME)$`), Pattern(`^\.?[A-Za-z]\w{0,15}([-/.]\w{1,12}){0,5}\.[a-z][a-z0-9]{1,4}$`), true},
}

// IsSecret reports whether a variable holds a credential. The shape of its value says so, or else its
// name, unless the value is a setting: a number, a region, a file name or an address without a password.
func IsSecret(name, value string) bool {
	if value == "" || CredentialValue().MatchString(value) {
		return value != ""
	}
	upper := strings.ToUpper(name)
	if !CredentialName().MatchString(name) {
		return false
	}
	for _, s := range settings {
		if s.name().MatchString(upper) && s.value().MatchString(value) && !(s.words && looksRandom(value)) {
			return false
		}
	}
	return !isOpenAddress(value)
}

var (
	userName   = Pattern(`^[a-z][a-z_-]{0,15}$`)
	hostName   = Pattern(`^(\[[0-9a-f:]+\]|[A-Za-z0-9.:_-]+)(:\d+)?$`)
	plainQuery = Pattern(`^[\w.=&,/-]{0,80}$`)
	sqliteFile = Pattern(`^(sqlite3?|file):(//)?/?(\.{1,2}/)?[\w.-]{1,24}(/[\w.-]{1,24}){0,8}(\?mode=\w+)?$`)
)

// isOpenAddress reports whether a value is a URL in which nothing can be a credential: no password,
// no token in the place of a user, and no part that looks random.
func isOpenAddress(value string) bool {
	if looksRandom(value) {
		return false
	}
	if sqliteFile().MatchString(value) {
		return true
	}
	u, err := url.Parse(strings.TrimPrefix(value, "jdbc:"))
	if err != nil || u.Host == "" || u.Fragment != "" || !hostName().MatchString(u.Host) ||
		!plainQuery().MatchString(u.RawQuery) || len(u.Path) > 80 {
		return false
	}
	_, secret := u.User.Password()
	person := u.User == nil || userName().MatchString(u.User.String()) && !strings.HasPrefix(u.Scheme, "http")
	for key, values := range u.Query() {
		for _, v := range values {
			secret = secret || IsSecret(key, v)
		}
	}
	return person && !secret
}

// looksRandom reports whether a text has a run of letters and digits that is no word: one that is long,
// or goes from letters to digits, or from small to capital letters, again and again.
func looksRandom(text string) bool {
	kind := func(r rune) int {
		switch {
		case unicode.IsDigit(r):
			return 1
		case unicode.IsUpper(r):
			return 2
		}
		return 0
	}
	for run := range strings.FieldsFuncSeq(text,
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		switches, last := 0, -1
		for _, r := range run {
			if k := kind(r); k != last {
				switches, last = switches+1, k
			}
		}
		if len(run) > 20 || len(run) >= 8 && switches > 4 || len(run) >= 16 && switches > 2 {
			return true
		}
	}
	return false
}
