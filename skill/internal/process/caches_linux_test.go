package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"textskill/skill/internal/egress"
	"textskill/testdata/needs"
)

// Commands write caches of their own and not the user's, and read what the user has downloaded but not
// the settings and credentials beside it.
func TestCachesAreApart(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", home+"/.cache")
	t.Setenv("PATH", strings.Join([]string{home + "/go/bin", home + "/.dotnet", os.Getenv("PATH")}, ":"))
	t.Setenv("GOPATH", home+"/go")
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "CARGO_HOME", "MAVEN_ARGS",
		"GRADLE_RO_DEP_CACHE"} {
		t.Setenv(name, "")
	}
	for _, name := range []string{".cache/black/x", ".cache/pylint/x", ".cache/typescript/5/.npmrc",
		".cache/go-build/x", ".npm/x", ".cargo/config.toml", ".cargo/registry/x", ".m2/settings.xml",
		".m2/repository/x",
		".gradle/gradle.properties", ".gradle/caches/x", ".local/share/uv/credentials/x",
		".local/share/uv/python/x", ".local/share/jupyter/runtime/x", ".dotnet/corefx/x.pfx",
		".dotnet/dotnet",
		"go/src/x/x.go", "go/bin/x", "go/pkg/mod/golang.org/toolchain@v1/x"} {
		if err := os.MkdirAll(filepath.Dir(home+"/"+name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(home+"/"+name, []byte("secret"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	fenced(t, t.TempDir()) // skips where there is no whole fence
	const writes = "echo x > .cache/black/x; echo x > .cache/pylint/x; echo x > .cache/typescript/5/.npmrc; echo x > .npm/x; echo x > .gradle/caches/x; echo x > .m2/repository/x; echo x > go/pkg/mod/x; echo x > .cargo/registry/x"
	for _, cfg := range []Config{{}, {Network: true},
		{Egress: egress.Rules{Allow: []string{"go", "cargo"}}}} {
		cfg.Helper = self(t)
		x := newRunner(t, t.TempDir(), cfg)
		got := mustExec(t, x, sh("cd "+home+"; "+writes+
			"; echo x > .cache/go-build/x; cat .cache/go-build/x .npm/x .cargo/config.toml .m2/settings.xml .gradle/gradle.properties go/src/x/x.go"))
		if len(got.Stdout) != 0 || strings.Count(string(got.Stderr), "\n") != 15 {
			t.Errorf("%s%s", got.Stdout, got.Stderr)
		}
		got = mustExec(t, x, sh("cd "+home+
			"; cat .cargo/registry/x .m2/repository/x .gradle/caches/x .local/share/uv/python/x .dotnet/dotnet go/bin/x go/pkg/mod/*/*/x"))
		if got.Failed() || string(got.Stdout) != strings.Repeat("secret", 7) {
			t.Errorf("%s%s", got.Stdout, got.Stderr)
		}
		got = mustExec(t, x, sh("mkdir -p $XDG_CACHE_HOME/a $GOCACHE $npm_config_cache && echo made > $GOCACHE/x && cat $GOCACHE/x; echo $GRADLE_RO_DEP_CACHE; cat $GOMODCACHE/golang.org/toolchain@v1/x; echo $GOPROXY; echo ${CARGO_HOME##*/}"))
		want := "made\n" + home + "/.gradle/caches\n\n\n"
		if x.downloadsFrom("proxy.golang.org") {
			want = "made\n" + home + "/.gradle/caches\nsecrethttps://proxy.golang.org|direct|file://" +
				home + "/go/pkg/mod/cache/download\ncargo\n"
		}
		if string(got.Stdout) != want || strings.Contains(x.cacheDir(), home+"/.cache") {
			t.Errorf("%s%s, want %s", got.Stdout, got.Stderr, want)
		}
	}
	for _, shared := range []string{home + "/.cache/go-build", home + "/new/go-build"} {
		t.Setenv("XDG_CACHE_HOME", filepath.Dir(shared))
		x := newRunner(t, t.TempDir(), Config{Helper: self(t), ShareGo: true})
		got := mustExec(t, x, sh("cd "+home+"; echo shared > "+shared+"/x; cat "+shared+
			"/x; echo $GOCACHE; echo x > .cache/black/x"))
		if string(got.Stdout) != "shared\n"+shared+"\n" || !got.Failed() {
			t.Errorf("%s%s", got.Stdout, got.Stderr)
		}
	}
}

// A command gets neither credentials nor what leads to services of the user.
func TestCommandsGetNoCredentials(t *testing.T) {
	hidden := strings.Fields(`GITHUB_TOKEN=x GITHUB_PAT=x GH_TOKEN=x AWS_SECRET_ACCESS_KEY=x OPENAI_ADMIN_KEY=x AZURE_OPENAI_API_KEY=x ANTHROPIC_API_KEY=x NPM_TOKEN=x DB_PASS=x DB_PASSWORD=x
		PGPASSWORD=x MYSQL_PWD_PASSWORD=x DATABASE_URL=x REDIS_URL=x SENTRY_DSN=x JWT_SECRET=x CLIENT_SECRET=x SIGNING_KEY=x GOOGLE_APPLICATION_CREDENTIALS=x lower_api_key=x OTEL_EXPORTER_OTLP_HEADERS=x
		STRIPE_KEY=x DD_APP_KEY=x TWILIO_AUTH=x MYSQL_PWD=x HOOK=https://hooks.slack.com/services/T0/B0/x NOTIFY=https://discord.com/api/webhooks/1/x
		PLAIN=ghp_0123456789abcdefghij OTHER=AKIA0123456789ABCDEF WHERE=postgres://user:pass@host/db SSH_AUTH_SOCK=/x DOCKER_HOST=x DBUS_SESSION_BUS_ADDRESS=x XDG_RUNTIME_DIR=/x OPENAI_API_KEY=x MINE=x
		BW_SESSION=x OP_SESSION_my=x SSHPASS=x DOCKER_AUTH_CONFIG=x GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=http.extraheader GIT_CONFIG_VALUE_0=x GIT_CONFIG_PARAMETERS=x BUNDLE_GEMS__EXAMPLE__COM=x
		ANTHROPIC_CUSTOM_HEADERS=x YARN_NPM_AUTH_IDENT=x NGROK_AUTHTOKEN=x SYSTEM_ACCESSTOKEN=x MNEMONIC=x HEADER=Authorization:x SETTINGS={"auths":{}} IDENTITY=AGE-SECRET-KEY-1X SERVICE_CREDS=x AUTH_SALT=x WALLET_SEED=x ENGINE=Server=db;Password=x`)
	hidden = append(hidden, "LINE=Bearer abcdefgh", "PEM=x -----BEGIN CERTIFICATE-----")
	shown := []string{"MAX_TOKENS=4096", "TOKENIZERS_PARALLELISM=false", "KEYBOARD=us",
		"GOPROXY=https://proxy.example", "COMPASS=north", "PATHS=a", "SHOWN_TOKEN=x", "AUTHOR=me",
		"KEYS_OF=x", "SITE=https://slack.com/services/",
		"MODE=basic auth", "IMAGE=python:3.11", "XDG_SESSION_TYPE=tty", "PASSAGE=x", "BUNDLE_PATH=/x",
		"OPTIONS=a=b&c=d", "PASSWORD_MIN_LENGTH=8", "RANDOM_SEED=12345", "NATS_CREDS=/etc/nats/a.creds", "AWS_REGION=eu-west-1", "AWS_PROFILE=x",
		"POSTGRES_URL=postgres://localhost/app"}
	for _, v := range slices.Concat(hidden, shown) {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	x := newRunner(t, t.TempDir(),
		Config{Helper: self(t), Secrets: []string{"MINE"}, PassEnv: []string{"SHOWN_TOKEN"}})
	got := strings.Split(string(mustExec(t, x, sh("env")).Stdout), "\n")
	for _, v := range hidden {
		if slices.Contains(got, v) {
			t.Errorf("a command sees %s", v)
		}
	}
	for _, v := range shown {
		if !slices.Contains(got, v) {
			t.Errorf("a command does not see %s", v)
		}
	}
}

// Commands read the user's settings of git without what holds credentials, and change a copy only.
func TestGitSettingsAreFiltered(t *testing.T) {
	needs.Program(t, "git")
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home+"/.config")
	t.Setenv("GIT_CONFIG_GLOBAL", "")
	os.Unsetenv("GIT_CONFIG_GLOBAL")
	if err := os.MkdirAll(home+"/.config/git", 0o755); err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{
		"/.config/git/config": "[user]\n\temail = e@example.org\n[http]\n\textraHeader = AUTHORIZATION: basic c2VjcmV0\n",
		"/.gitconfig": "[user]\n\tname = N\n[url \"https://x-access-token:secret@github.com/\"]\n\tinsteadOf = https://github.com/\n[github]\n\ttoken = secret\n" +
			"[credential]\n\thelper = \"!echo secret\"\n[alias]\n\tst = status\n\tx = \"!curl https://secret@host\"\n\ty = a \\\n ghp_secretsecret \\\n b\n[core]\n\tabbrev = 9\n[push]\n\ttoken = secret\n",
	}
	for name, text := range settings {
		if err := os.WriteFile(home+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x := newRunner(t, t.TempDir(), Config{Helper: self(t)})
	fenced(t, t.TempDir()) // skips where there is no whole fence
	got := mustExec(t, x, sh("git config --global --list; cat ~/.gitconfig ~/.config/git/config; git config --global user.name Other; git config user.name"))
	said := string(got.Stdout)
	if strings.Contains(said, "secret") || strings.Contains(said, "c2VjcmV0") ||
		!strings.HasPrefix(said, "user.email=e@example.org\nuser.name=N\nalias.st=status\n") ||
		!strings.HasSuffix(said, "core.abbrev=9\nOther\n") {
		t.Errorf("%s%s", said, got.Stderr)
	}
	if data, err := os.ReadFile(home + "/.gitconfig"); err != nil || string(data) != settings["/.gitconfig"] {
		t.Errorf("the user's settings are %s, %v", data, err)
	}
}
