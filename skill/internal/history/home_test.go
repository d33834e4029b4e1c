package history

import (
	"os/user"
	"path/filepath"
	"testing"

	"textskill/testdata/needs"
)

// Without HOME (cron, a service, env -i) the history is in the home folder that the system's list of users
// names.
func TestWithoutHome(t *testing.T) {
	u, err := user.Current()
	needs.That(t, err == nil && filepath.IsAbs(u.HomeDir), "a home folder in the system's list of users",
		"run the tests as a user that the system knows")
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	if got, want := userDir(), filepath.Join(u.HomeDir, ".local", "state", "skill"); got != want {
		t.Errorf("the state folder is %s, want %s", got, want)
	}
}
