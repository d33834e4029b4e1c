package pack

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

func TestMain(m *testing.M) {
	os.Exit(needs.Run(m))
}

// TestRepository copies a git repository. The copy works: it has no changes, and the address of
// its remote has no password.
func TestRepository(t *testing.T) {
	needs.Program(t, "git")
	dir, to, o := t.TempDir(), t.TempDir(), Options{Blobs: newMemory(), Key: make([]byte, 32)}
	git := func(dir string, args ...string) string {
		out, err := exec.Command("git",
			append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"},
				args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git(dir, "init", "-q", "-b", "main")
	git(dir, "remote", "add", "origin", "https://u:secret@example.com/a/b.git")
	git(dir, "config", "http.https://example.com/.extraheader", "AUTHORIZATION: basic secret")
	write(t, dir, map[string]string{"a/b.txt": "text\n", "run.sh": "echo\n"})
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	git(dir, "add", ".")
	git(dir, "commit", "-q", "-m", "first")
	if _, err := Restore(t.Context(), o, snapshot(t, open(t, o, dir)), to); err != nil {
		t.Fatal(err)
	}
	git(to, "fsck", "--strict")
	for _, tt := range []struct{ args, want string }{
		{"status --porcelain", ""},
		{"remote get-url origin", "https://example.com/a/b.git"},
		{"rev-parse HEAD", git(dir, "rev-parse", "HEAD")},
	} {
		if got := git(to, strings.Fields(tt.args)...); got != tt.want {
			t.Errorf("git %s is %q, not %q", tt.args, got, tt.want)
		}
	}
	config, err := os.ReadFile(filepath.Join(to, ".git", "config"))
	if err != nil || strings.Contains(string(config), "secret") {
		t.Errorf("the config file is %q, %v", config, err)
	}
	git(to, "commit", "-q", "--allow-empty", "-m", "second")
}
