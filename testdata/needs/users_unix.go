//go:build unix

package needs

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// Users needs a process that may start itself as another user, who may enter the folder
// for temporary files.
func Users(t testing.TB) {
	t.Helper()
	Root(t)
	cmd := exec.Command("/proc/self/exe", "-test.run=^$") // runs no test
	cmd.Dir = os.TempDir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	err := cmd.Start()
	if err == nil {
		cmd.Process.Kill() // before it makes a folder that it would leave
		cmd.Wait()
	}
	That(t, err == nil, fmt.Sprintf("a test binary and a TMPDIR that other users may enter (%v)", err), "set umask to 022 and TMPDIR to /tmp")
}
