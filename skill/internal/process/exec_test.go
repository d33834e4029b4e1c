package process

import (
	"testing"

	"textskill/skill/internal/workspace"
)

// The history names a command by the words that ran: the script of a shell, else all words.
func TestLine(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"sh", []string{"-c", "make; ls"}, "make; ls"},
		{"/bin/bash", []string{"-c", "make", "name", "-c"}, "make"},
		{"bash", []string{"-lc", "make"}, "make"},
		{"bash", []string{"--norc", "-o", "pipefail", "-ec", "make"}, "make"},
		{"bash", []string{"-c", "-e", "make"}, "make"},
		{"sh", []string{"-c", "--", "make"}, "make"},
		{"bash", []string{"-euo", "pipefail", "-c", "make"}, "make"},
		{"sh", []string{"build.sh", "-c", "x"}, "sh build.sh -c x"},
		{"sh", []string{"-c"}, "sh -c"},
		{"gcc", []string{"-c", "m.c", "-o", "m.o"}, "gcc -c m.c -o m.o"},
		{"tar", []string{"-c", "-f", "x.tar", "m.c"}, "tar -c -f x.tar m.c"},
		{"git", []string{"switch", "-c", "new"}, "git switch -c new"},
		{"git", []string{"-c", "k=v", "submodule", "add", "x"}, "git -c k=v submodule add x"},
		{"psql", []string{"-c", "insert into t"}, "psql -c insert into t"},
		{"rsync", []string{"-c", "m.c", "q.c"}, "rsync -c m.c q.c"},
		{"python3", []string{"-c", "print(1)"}, "python3 -c print(1)"},
	} {
		x := &Runner{ws: new(workspace.Workspace)}
		if got := x.lineOf(Command{Name: tt.name, Args: tt.args}); got != tt.want {
			t.Errorf("%s %q: %q, want %q", tt.name, tt.args, got, tt.want)
		}
	}
}
