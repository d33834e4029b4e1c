package needs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// settings are the variables by which a user sets up git, models, proxies, languages
// and the tools of projects.
var settings = regexp.MustCompile(`^(?i:(GIT|OPENAI|ANTHROPIC|BRAVE|SEARXNG|SKILL|LC|PIP|NPM_CONFIG|NODE)_.*|PYTHON.*|.*_PROXY|LANG|LANGUAGE|TZ|CI|CDPATH|NO_COLOR|POSIXLY_CORRECT|VIRTUAL_ENV)$`)

// clean takes the settings of the user away from this process and those that it
// starts, and gives it the usual umask.
func clean() {
	if config, err := os.UserConfigDir(); err == nil && os.Getenv("GOENV") == "" {
		os.Setenv("GOENV", filepath.Join(config, "go", "env")) // go keeps its settings
	}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if settings.MatchString(name) && !strings.HasPrefix(name, "SKILL_TEST_") {
			os.Unsetenv(name)
		}
	}
	os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	os.Setenv("XDG_CONFIG_HOME", os.DevNull)
	umask()
}
