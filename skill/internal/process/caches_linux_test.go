package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The configuration of a program's next run is not written with its cache, and the part that holds
// credentials is not read with its toolchain.
func TestCachesHoldNoConfiguration(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("PATH", strings.Join([]string{home + "/go/bin", home + "/.dotnet", os.Getenv("PATH")}, ":"))
	t.Setenv("GOPATH", home+"/go")
	for _, name := range []string{".ccache/ccache.conf", ".cache/ccache/ccache.conf", ".gradle/gradle.properties", ".gradle/init.d/x", ".gradle/caches/x", ".cargo/config.toml", ".m2/settings.xml", ".m2/repository/x",
		".local/share/uv/credentials/x", ".local/share/uv/python/x", ".local/share/jupyter/runtime/x", ".dotnet/corefx/x.pfx", ".dotnet/dotnet", "go/src/x/x.go", "go/bin/x", "go/pkg/x"} {
		if err := os.MkdirAll(filepath.Dir(home+"/"+name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(home+"/"+name, []byte("secret"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ws := t.TempDir()
	x := newRunner(t, ws, Config{Helper: self(t), Network: true})
	fenced(t, ws)             // skips where there is no whole fence
	tests := map[string]bool{ // whether they are denied
		"echo x >.ccache/ccache.conf": true, "echo x >.cache/ccache/ccache.conf": true, "rm .ccache/ccache.conf": true, "mv .ccache .c": true, "echo x >.ccache/0/x": false, "echo x >.cache/ccache/f/x": false,
		"echo x >.gradle/gradle.properties": true, "echo x >.gradle/init.d/y": true, "cat .gradle/gradle.properties": true, "echo x >.gradle/caches/x": false,
		"cat .cargo/config.toml": true, "echo x >.cargo/config.toml": true, "echo x >.m2/settings.xml": true, "echo x >.m2/repository/x": false,
		"cat .local/share/uv/credentials/x": true, "cat .local/share/uv/python/x": false, "cat .local/share/jupyter/runtime/x": true,
		"cat .dotnet/corefx/x.pfx": true, "cat .dotnet/dotnet": false, "cat go/src/x/x.go": true, "cat go/bin/x go/pkg/x": false,
	}
	for script, denied := range tests {
		if got := mustExec(t, x, sh("cd "+home+" && "+script)); got.Failed() != denied {
			t.Errorf("%s: %d %s%s", script, got.ExitCode, got.Stdout, got.Stderr)
		}
	}
}

// A command gets neither credentials nor what leads to services of the user.
func TestCommandsGetNoCredentials(t *testing.T) {
	hidden := strings.Fields(`GITHUB_TOKEN=x GITHUB_PAT=x GH_TOKEN=x AWS_SECRET_ACCESS_KEY=x AWS_PROFILE=x OPENAI_ADMIN_KEY=x AZURE_OPENAI_API_KEY=x ANTHROPIC_API_KEY=x NPM_TOKEN=x DB_PASS=x DB_PASSWORD=x
		PGPASSWORD=x MYSQL_PWD_PASSWORD=x DATABASE_URL=x REDIS_URL=x SENTRY_DSN=x JWT_SECRET=x CLIENT_SECRET=x SIGNING_KEY=x GOOGLE_APPLICATION_CREDENTIALS=x lower_api_key=x OTEL_EXPORTER_OTLP_HEADERS=x
		STRIPE_KEY=x DD_APP_KEY=x TWILIO_AUTH=x MYSQL_PWD=x HOOK=https://hooks.slack.com/services/T0/B0/x NOTIFY=https://discord.com/api/webhooks/1/x
		PLAIN=ghp_0123456789abcdefghij OTHER=AKIA0123456789ABCDEF WHERE=postgres://user:pass@host/db SSH_AUTH_SOCK=/x DOCKER_HOST=x DBUS_SESSION_BUS_ADDRESS=x XDG_RUNTIME_DIR=/x OPENAI_API_KEY=x MINE=x`)
	shown := []string{"MAX_TOKENS=4096", "TOKENIZERS_PARALLELISM=false", "KEYBOARD=us", "GOPROXY=https://proxy.example", "COMPASS=north", "PATHS=a", "SHOWN_TOKEN=x", "AUTHOR=me", "KEYS_OF=x", "SITE=https://slack.com/services/"}
	for _, v := range slices.Concat(hidden, shown) {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	x := newRunner(t, t.TempDir(), Config{Helper: self(t), Secrets: []string{"MINE"}, PassEnv: []string{"SHOWN_TOKEN"}})
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
