package process

import (
	"os"
	"strings"
	"testing"
	"time"
)

// The logs of commands and servers show no value of a variable that holds a credential.
func TestLogsHideSecrets(t *testing.T) {
	const secret = "hunterTWO-9f8e7d6c"
	t.Setenv("SOME_API_KEY", secret)
	x := newRunner(t, t.TempDir(), Config{Helper: self(t)})
	const script = "echo first " + secret + "; printf hunterTWO-; sleep 0.05; echo 9f8e7d6c; seq 1 100"
	got := mustExec(t, x, Command{Name: "sh", Args: []string{"-c", script}, Log: true, MaxOutput: 20})
	s, err := x.StartServer(t.Context(), "", ServerCommand{Command: script + "; sleep 100"})
	if err != nil {
		t.Fatal(err)
	}
	server := ""
	for wait := patient(10 * time.Second); !strings.Contains(server, "\n100\n") && !wait.over(); {
		text, _ := os.ReadFile(s.Log)
		server = string(text)
		time.Sleep(time.Millisecond)
	}
	if _, err := x.StopServer(ServerName{ID: s.ID}); err != nil {
		t.Error(err)
	}
	log, err := os.ReadFile(got.Log)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(log), server} {
		if !strings.HasPrefix(text, "first [redacted]\n[redacted]\n1\n") || !strings.HasSuffix(text, "\n100\n") {
			t.Errorf("%.100q", text)
		}
	}
}
