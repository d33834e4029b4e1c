package words

import "strings"

// CredentialName matches the names of variables that hold credentials. Commands do not get
// them, and their values are taken out of what a run prints, sends and records.
var CredentialName = Pattern(`(?i)^(GITHUB|AWS|AZURE)_|(API|ACCESS|ADMIN|ACCOUNT|AUTH|SECRET|PRIVATE|MASTER|SIGNING|ENCRYPTION|DEPLOY)_?KEY|` +
	`(^|_)(KEY|PAT|PASS|AUTH|SECRET|SECRETS|CREDENTIAL|CREDENTIALS|CREDS|JWT|DSN|COOKIE|COOKIES|PW|MNEMONIC|SALT|PEPPER)$|TOKEN$|_PWD$|(^|_)TOKEN_|PASSWORD|PASSWD|PASSPHRASE|SECRET_|_CREDENTIALS|` +
	`^(DATABASE|DB|REDIS|MONGO|MONGODB|POSTGRES|MYSQL|AMQP|RABBITMQ|CELERY_BROKER)_(URL|URI)$|CONNECTION_?STRING|^OTEL_.*HEADERS$|` +
	`CUSTOM_HEADERS$|AUTHORIZATION|^SSHPASS$|^(BW|OP)_SESSION|_AUTH_(CONFIG|IDENT)$|^GIT_CONFIG_(VALUE_\d+|PARAMETERS)$|^BUNDLE_.*__(COM|ORG|NET|IO|DEV)$|SEED_PHRASE|PRIVKEY|(WALLET|SIGNING|MASTER|ROOT|SECRET|PRIVATE)_SEED$`)

// CredentialValue matches the shapes of credentials: keys of well-known services, keys,
// and addresses with a password.
var CredentialValue = Pattern(`^(gh[pousr]_|github_pat_|glpat-|sk-[A-Za-z0-9_-]{16}|sk_live_|xox[abprs]-|npm_[A-Za-z0-9]{30}|pypi-|hf_[A-Za-z]{20}|dop_v1_|A(KI|SI)A[0-9A-Z]{16}$|AIza[0-9A-Za-z_-]{30}|eyJ[A-Za-z0-9_-]+\.eyJ)|` +
	`-----BEGIN |AGE-SECRET-KEY-|(?i:^(authorization|proxy-authorization|x-api-key|cookie)\s*[:=]|^(basic|bearer|token) \S{8})|"auths"\s*:|` +
	`(?i:(^|[;&?\s])(password|passwd|pwd|accountkey|sharedaccesskey|secret|client_secret|access_token|api_?key)=[^;&\s]+)|^https://(hooks\.slack\.com/services|discord(app)?\.com/api/webhooks)/|^[a-z][a-z0-9+.-]*://[^/@\s:]*:[^/@\s]+@`)

var (
	word       = Pattern("[^\\s\"'`]+")
	afterNamed = Pattern(`(?i)^(bearer|basic|token)$`)
	assignment = Pattern(`^-*([A-Za-z0-9_-]+)[=:](.*)$`)
)

// redacted stands in the place of a credential.
const redacted = "[redacted]"

// Redact takes what looks like a credential out of a command line: words of such a shape, values of variables,
// flags and headers with such a name, and what follows Bearer.
func Redact(text string) string {
	secret := false // the next word is one
	return word().ReplaceAllStringFunc(text, func(w string) string {
		was := secret
		secret = false
		switch m := assignment().FindStringSubmatch(w); {
		case was && afterNamed().MatchString(w):
			secret = true
			return w
		case was:
			return redacted
		case m != nil && isCredentialName(m[1]) && m[2] != "":
			return strings.TrimSuffix(w, m[2]) + redacted
		case m != nil && isCredentialName(m[1]):
			secret = true
		case CredentialValue().MatchString(w):
			return redacted
		case m != nil && CredentialValue().MatchString(m[2]):
			return strings.TrimSuffix(w, m[2]) + redacted
		case strings.HasPrefix(w, "--") && isCredentialName(w), strings.EqualFold(w, "bearer"):
			secret = true
		}
		return w
	})
}

func isCredentialName(name string) bool {
	name = strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_")
	return CredentialName().MatchString(name) || strings.EqualFold(name, "authorization")
}
