package words

// CredentialName matches the names of variables that hold credentials. Commands do not get
// them, and their values are taken out of what a run prints, sends and records.
var CredentialName = Pattern(`(?i)^(GITHUB|AWS|AZURE)_|(API|ACCESS|ADMIN|ACCOUNT|AUTH|SECRET|PRIVATE|MASTER|SIGNING|ENCRYPTION|DEPLOY)_?KEY|` +
	`(^|_)(KEY|PAT|PASS|AUTH|SECRET|SECRETS|CREDENTIAL|CREDENTIALS|JWT|DSN|COOKIE|COOKIES|PW|MNEMONIC)$|TOKEN$|_PWD$|(^|_)TOKEN_|PASSWORD|PASSWD|PASSPHRASE|SECRET_|_CREDENTIALS|` +
	`^(DATABASE|DB|REDIS|MONGO|MONGODB|POSTGRES|MYSQL|AMQP|RABBITMQ|CELERY_BROKER)_(URL|URI)$|CONNECTION_?STRING|^OTEL_.*HEADERS$|` +
	`CUSTOM_HEADERS$|AUTHORIZATION|^SSHPASS$|^(BW|OP)_SESSION|_AUTH_(CONFIG|IDENT)$|^GIT_CONFIG_(VALUE_\d+|PARAMETERS)$|^BUNDLE_.*__(COM|ORG|NET|IO|DEV)$|SEED_PHRASE|PRIVKEY`)

// CredentialValue matches the shapes of credentials: keys of well-known services, keys,
// and addresses with a password.
var CredentialValue = Pattern(`^(gh[pousr]_|github_pat_|glpat-|sk-[A-Za-z0-9_-]{16}|sk_live_|xox[abprs]-|npm_[A-Za-z0-9]{30}|pypi-|hf_[A-Za-z]{20}|dop_v1_|A(KI|SI)A[0-9A-Z]{16}$|AIza[0-9A-Za-z_-]{30}|eyJ[A-Za-z0-9_-]+\.eyJ)|` +
	`-----BEGIN |AGE-SECRET-KEY-|(?i:^(authorization|proxy-authorization|x-api-key|cookie)\s*[:=]|^(basic|bearer|token) \S{8})|"auths"\s*:|` +
	`(?i:(^|[;&?\s])(password|passwd|pwd|accountkey|sharedaccesskey|secret|client_secret|access_token|api_?key)=[^;&\s]+)|^https://(hooks\.slack\.com/services|discord(app)?\.com/api/webhooks)/|^[a-z][a-z0-9+.-]*://[^/@\s:]*:[^/@\s]+@`)
