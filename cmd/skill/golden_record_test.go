package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoldenOfAnotherBuild records the session of a client by one build, and plays it by the next.
func TestGoldenOfAnotherBuild(t *testing.T) {
	own := released
	defer func() { released = own }()
	name := filepath.Join(t.TempDir(), "session.txtar")
	released = "v1.2.3"
	const session = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"ping"}
`
	if out, errs, code := play(t, &cli{}, session, "-C", t.TempDir(), "mcp", "--record", name); code != exitOK ||
		!strings.Contains(out, `"version":"v1.2.3"`) {
		t.Fatal(out, errs, code)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, ages := range []string{"v1.2.3", "Files are those"} {
		if strings.Contains(string(data), ages) {
			t.Errorf("%q is in the file:\n%s", ages, data)
		}
	}
	released = "v2.0.0"
	if out, errs, code := play(t, &cli{}, "", "test", name); code != exitOK {
		t.Errorf("the next build: %d\n%s%s", code, out, errs)
	}
}

// TestRecordRefuses has a prompt that the format of golden files cannot hold leave no file.
func TestRecordRefuses(t *testing.T) {
	for _, line := range []string{"-- b.txt --", "-- want --"} {
		name := filepath.Join(t.TempDir(), "g.txtar")
		_, errs, code := play(t, &cli{}, "", "test", "--record", name, "writeFile a.txt content: one\n"+line+"\ntwo\n")
		if _, err := os.Lstat(name); err == nil || code != exitFailed || !strings.Contains(errs, `the line "`+line+`" of a prompt`) {
			t.Errorf("%s: %d, %v, %s", line, code, err, errs)
		}
	}
	name := filepath.Join(t.TempDir(), "g.txtar")
	call := `{"tool_calls":[{"id":"1","type":"function","function":{"name":"write_file","arguments":"{\"path\":\"a.txt\",\"content\":\"one\\n-- b.txt --\\ntwo\\n\"}"}}]}`
	if out, errs, code := play(t, &cli{}, "", "test", "--record", name, call); code != exitOK {
		t.Error(out, errs, code)
	}
	if out, errs, code := play(t, &cli{}, "", "test", name); code != exitOK {
		t.Error(out, errs, code)
	}
}

// TestRecordedFiles records files with lines that are almost markers, and leaves out those with markers.
func TestRecordedFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"almost.md": "-- --\n--  --\n-- a\nb --\n-- --", "marker.md": "-- a --\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := filesToRecord(dir); err != nil || len(files) != 1 || files[0].Name != "almost.md" {
		t.Errorf("%q, %v", files, err)
	}
}
