package browser_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"textskill/testdata/needs"
)

// TestBrowserKeepsItsSandbox takes a picture as a user other than root, inside the fence
// and with the browser's own sandbox.
func TestBrowserKeepsItsSandbox(t *testing.T) {
	needs.Browser(t)
	needs.Users(t)
	site, _ := counted(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>seen</title>")
	})
	top, err := os.MkdirTemp("/tmp", "shot")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(top)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err = errors.Join(err, os.WriteFile(top+"/shoot", binary, 0o755), os.Mkdir(top+"/ws", 0o755),
		os.Chown(top, 65534, 65534), os.Chown(top+"/ws", 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(top + "/shoot")
	cmd.Dir = top + "/ws"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + top, "TMPDIR=" + top, "XDG_STATE_HOME=" + top,
		"BROWSER_TEST_URL=" + site.URL}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "seen" {
		t.Errorf("%v: %s", err, out)
	}
}
