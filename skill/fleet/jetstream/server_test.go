package jetstream

import (
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// TestStartServer refuses a folder or a port that another server uses.
func TestStartServer(t *testing.T) {
	t.Parallel()
	o := ServerOptions{Dir: t.TempDir(), Port: needs.Port(t), SyncLater: true}
	s, err := StartServer(o)
	must(t, err)
	if _, err := StartServer(ServerOptions{Dir: o.Dir}); err == nil ||
		!strings.Contains(err.Error(), "another server is running in "+o.Dir) {
		t.Errorf("the folder of another server: %v", err)
	}
	if _, err := StartServer(ServerOptions{Dir: t.TempDir(), Port: o.Port}); err == nil ||
		!strings.Contains(err.Error(), "cannot start") {
		t.Errorf("the port of another server: %v", err)
	}
	s.Shutdown()
	s, err = StartServer(o)
	must(t, err)
	s.Shutdown()
}
