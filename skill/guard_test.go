package skill

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGuardResumes has a session read a file, and another one that begins with its state write
// over it.
func TestGuardResumes(t *testing.T) {
	x, dir := open(t)
	name := filepath.Join(dir, "f")
	long := strings.Repeat("line\n", 9)
	for _, tt := range []struct {
		name    string
		read    ReadFiles
		changed string // what the file holds when the session goes on; "" for what it held
		refused bool
	}{
		{"unchanged", ReadFiles{Files: []FileRange{{Path: "f", To: End}}}, "", false},
		{"changed by others", ReadFiles{Files: []FileRange{{Path: "f", To: End}}}, "others\n", true},
		{"read in part", ReadFiles{Files: []FileRange{{Path: "f", To: 3}}}, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.WriteFile(name, []byte(long), 0o644); err != nil {
				t.Fatal(err)
			}
			before := &Session{Guard: GuardOn}
			if _, err := x.Execute(t.Context(), before, tt.read); err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(before.Snapshot())
			if err != nil {
				t.Fatal(err)
			}
			var saved Snapshot
			if err := json.Unmarshal(data, &saved); err != nil {
				t.Fatal(err)
			}
			after := &Session{Guard: GuardOn}
			after.Restore(saved)
			if tt.changed != "" {
				if err := os.WriteFile(name, []byte(tt.changed), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, err = x.Execute(t.Context(), after, WriteFile{Path: "f", Content: "new\n"})
			if _, stale := errors.AsType[*StaleError](err); stale != tt.refused {
				t.Errorf("%v after %s", err, data)
			}
		})
	}
}

// TestGuardAfterReplace has others change a file that a session has read, before the session
// replaces a text in it. That is not shown, and the session may not write over it.
func TestGuardAfterReplace(t *testing.T) {
	x, dir := open(t)
	name := filepath.Join(dir, "f")
	s := &Session{Guard: GuardOn}
	do := func(args Args) error {
		_, err := x.Execute(t.Context(), s, args)
		return err
	}
	for _, step := range []struct{ theirs, replace string }{{"one\ntwo\ntheirs\n", "one"},
		{"uno\ntwo\nmore\n", "two"}} {
		if err := os.WriteFile(name, []byte("one\ntwo\nthree\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := do(ReadFiles{Files: []FileRange{{Path: "f", To: End}}}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(step.theirs), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := do(ReplaceText{Path: ".", Glob: "f", Old: step.replace, New: "uno", Count: -1}); err != nil {
			t.Fatal(err)
		}
		if _, stale := errors.AsType[*StaleError](do(WriteFile{Path: "f", Content: "mine\n"})); !stale {
			t.Errorf("%q was written over", step.theirs)
		}
	}
}

// TestIsShown finds one line that was not shown, or changed since, among any number of them.
func TestIsShown(t *testing.T) {
	for n := range 20 {
		v := &view{flags: bytes.Repeat([]byte{shown | numbered}, n)}
		if !v.isShown() {
			t.Errorf("%d lines are not shown", n)
		}
		for i := range n {
			for _, f := range []byte{mine, shown | foreign} {
				v.flags[i] = f
				if v.isShown() {
					t.Errorf("%d lines are shown, but for %d, which is %b", n, i, f)
				}
			}
			v.flags[i] = shown | mine
		}
		if v.gaps = map[int]byte{0: foreign}; v.isShown() {
			t.Errorf("%d lines are shown, but lines were taken away", n)
		}
	}
}
