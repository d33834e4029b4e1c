package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// shells says how to ask a shell what it completes $LINE to, a line each. Zsh completes only
// in its editor, so its list is printed instead.
var shells = map[string][]string{
	"bash": {"--norc", "-c", `
source <(skill completion bash)
COMP_LINE=$LINE COMP_POINT=${#LINE}
read -ra COMP_WORDS <<<"$LINE"
[[ $LINE == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_TYPE=9
eval "$(complete -p skill | sed 's/.*-F \([^ ]*\) .*/\1/')"
printf '%s\n' "${COMPREPLY[@]}"`},
	"zsh": {"-f", "-c", `
compdef() { }
eval "$(skill completion zsh)"
_describe() { print -l -- "${(@M)completions:#${words[-1]}*}" }
words=(${(z)LINE})
[[ $LINE == *' ' ]] && words+=('')
CURRENT=${#words}
_skill`},
	"fish": {"--no-config", "-c", `
skill completion fish | source
complete -C "$LINE"`},
}

// TestCompletionInShells completes commands, experts, changes and the values of flags in the
// shells themselves.
func TestCompletionInShells(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	const project = "[experts.helper]\ninstruction = \"i\"\ndescription = \"Helps\"\n[experts.hero]\ninstruction = \"i\"\n"
	if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte(project), 0o666); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), noSleep, "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home,
		"XDG_DATA_HOME="+home, "TERM=dumb")
	program, err := exec.LookPath("skill")
	if err != nil {
		t.Fatal(err)
	}
	change := exec.Command(program, "writeFile", "made.txt", "content:", "x")
	if change.Dir, change.Env = dir, env; change.Run() != nil {
		t.Fatal("no change was made")
	}
	for shell, ask := range shells {
		t.Run(shell, func(t *testing.T) {
			needs.Program(t, shell, "sed")
			for _, tt := range []struct{ line, want, not string }{
				{"skill se", "setup", "undo"},
				{"skill run he", "helper hero", "setup"},
				{"skill setup cu", "cursor", "codex"},
				{"skill --fence ", "auto require off", "on"},
				{"skill undo ", "1", "made.txt"},
				{"skill write", "writeFile", "readFile"},
			} {
				cmd := exec.Command(shell, ask...)
				cmd.Dir, cmd.Env = dir, append(env, "LINE="+tt.line)
				out, err := cmd.CombinedOutput()
				var got []string
				for line := range strings.Lines(string(out)) {
					word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
					word, _, _ = strings.Cut(word, ":")
					word, _, _ = strings.Cut(word, " ")
					got = append(got, word)
				}
				words := " " + strings.Join(got, " ") + " "
				for _, want := range strings.Fields(tt.want) {
					if !strings.Contains(words, " "+want+" ") || strings.Contains(words, " "+tt.not+" ") {
						t.Errorf("%q completes to %q, %v; want %s", tt.line, out, err, tt.want)
					}
				}
			}
		})
	}
}
