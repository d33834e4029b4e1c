//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"textskill/testdata/needs"
)

// TestOwnership runs the parts of testdata/ownership.sh, as this user and, if that is root, as another one.
func TestOwnership(t *testing.T) {
	needs.Program(t, "bash")
	needs.Program(t, "git")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/ownership.sh")
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(data), "\n## ")
	bin, err := os.MkdirTemp("", "owner") // other users may not enter the folder of t
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(bin) })
	program, err := os.ReadFile(self)
	if err == nil {
		err = errors.Join(os.Chmod(bin, 0o755), os.WriteFile(filepath.Join(bin, "skill"), program, 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	users := []int{os.Geteuid()}
	if users[0] == 0 {
		users = append(users, 65534)
	}
	for _, user := range users {
		for part := range strings.SplitSeq(rest, "\n## ") {
			name, script, _ := strings.Cut(part, "\n")
			t.Run(fmt.Sprintf("%d/%s", user, name), func(t *testing.T) {
				t.Parallel()
				base, err := os.MkdirTemp("", "owner")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.RemoveAll(base) })
				for _, dir := range []string{"", "ws", "home"} {
					at := filepath.Join(base, dir)
					os.MkdirAll(at, 0o755)
					if err := os.Chown(at, user, -1); err != nil {
						t.Fatal(err)
					}
				}
				cmd := exec.Command("bash", "-ec", head+"\n"+script)
				cmd.Dir = filepath.Join(base, "ws")
				cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"),
					"HOME=" + filepath.Join(base, "home"), "GIT_CONFIG_NOSYSTEM=1", "TMPDIR=" + base}
				if user != os.Geteuid() {
					cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user),
						Gid: uint32(user)}}
				}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}
