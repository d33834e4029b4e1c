package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

func TestLookProgramWithoutPATHSearchesBin(t *testing.T) {
	needs.Shell(t)
	path, err := lookProgram("sh", "/", nil)
	if err != nil || !slices.Contains([]string{"/bin/sh", "/usr/bin/sh"}, path) {
		t.Errorf("%q, %v", path, err)
	}
}

// A variable that a skill requires leads to no code where commands write.
func TestSafeVariable(t *testing.T) {
	dir := t.TempDir()
	x := newRunner(t, dir, Config{})
	list := func(entries ...string) string { return strings.Join(entries, string(os.PathListSeparator)) }
	usual := filepath.VolumeName(dir) + filepath.FromSlash("/usual/lib")
	for _, tt := range []struct{ name, value, want string }{
		{"PYTHONPATH", list(dir, usual, "src", dir+"/lib"), usual},
		{"LD_LIBRARY_PATH", dir, ""},
		{"PYTHONUNBUFFERED", "1", "1"},
		{"NODE_OPTIONS", "--max-old-space-size=4096", "--max-old-space-size=4096"},
		{"NODE_OPTIONS", "--no-warnings --require=./hook.js", ""},
		{"JAVA_TOOL_OPTIONS", "-javaagent:" + dir + "/a.jar", ""},
		{"API_BASE", "https://host/" + dir, "https://host/" + dir},
	} {
		if got := x.SafeVariable(tt.name, tt.value); got != tt.want {
			t.Errorf("%s=%s becomes %q, want %q", tt.name, tt.value, got, tt.want)
		}
	}
}

// Programs that this one starts for itself load no code from folders that variables name.
func TestWithoutLoaders(t *testing.T) {
	env := []string{"PATH=/bin", "LD_PRELOAD=a", "LD_LIBRARY_PATH=", "PYTHONPATH=a", "NODE_OPTIONS=a",
		"PERL5LIB=a", "RUBYOPT=a", "BASH_ENV=a", "ENV=a",
		"BASH_FUNC_git%%=() { :; }", "JAVA_TOOL_OPTIONS=a", "GCONV_PATH=a", "HOME=/", "NODE_EXTRA_CA_CERTS=a",
		"ENVIRONMENT=a", "LDAP=a"}
	want := "PATH=/bin HOME=/ NODE_EXTRA_CA_CERTS=a ENVIRONMENT=a LDAP=a"
	if got := strings.Join(withoutLoaders(env), " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if env[1] != "LD_PRELOAD=a" {
		t.Error("the list itself was changed")
	}
	needs.Shell(t)
	t.Setenv("LD_PRELOAD", "")
	x := newRunner(t, t.TempDir(), Config{Helper: self(t)})
	got, err := x.Run(t.Context(), Command{Name: "sh"},
		Spec{Path: "/bin/sh", Args: []string{"sh", "-c", "echo \"$PYTHONPATH$A\""},
			Env: []string{"PYTHONPATH=b", "A=a"}, Dir: "/"})
	if err != nil || string(got.Stdout) != "a\n" {
		t.Errorf("%s, %v", got.Stdout, err)
	}
}
