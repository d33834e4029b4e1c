//go:build unix

package fleet_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"textskill/skill/fleet"
)

// TestSubmitPipe refuses a project file that is a pipe, without waiting for a writer.
func TestSubmitPipe(t *testing.T) {
	t.Parallel()
	p, dir := connect(t, patience, newServer(t)), newFolder(t)
	project := filepath.Join(dir, "perstack.toml")
	if err := os.Remove(project); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(project, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := fleet.Submit(t.Context(), p,
		fleet.Submission{Run: fleet.Run{Tenant: "t", Expert: "e", Query: "go"}, Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "perstack.toml in "+dir+
		" cannot be read: it is not a file") {
		t.Error(err)
	}
}
