package skill

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// TestUnfenced runs commands without a helper only where the program says so.
func TestUnfenced(t *testing.T) {
	for _, unfenced := range []bool{false, true} {
		x, err := New(Config{Dir: t.TempDir(), Unfenced: unfenced})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		for _, op := range []Args{Exec{Command: "go", Args: []string{"version"}},
			StartServer{Command: "go version", Port: 1}} {
			r, err := x.Execute(t.Context(), &Session{}, op)
			refused := errors.Is(err, fs.ErrPermission) && strings.Contains(err.Error(), "Helper") &&
				strings.Contains(err.Error(), "Unfenced")
			if refused == unfenced {
				t.Errorf("Unfenced %v: %T answers %v, %v", unfenced, op, r, err)
			}
			if _, ok := op.(Exec); ok && unfenced && err != nil {
				t.Error(err)
			}
		}
	}
}
