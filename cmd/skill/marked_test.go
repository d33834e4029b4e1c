package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestByteOrderMark reads files of settings that begin with a byte order mark.
func TestByteOrderMark(t *testing.T) {
	dir := t.TempDir()
	file := func(text string) string {
		name := filepath.Join(dir, "f")
		if err := os.WriteFile(name, []byte("\ufeff"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	if s, err := readSettings(file("read-only = true\n")); err != nil || s.flags["read-only"] != true {
		t.Errorf("skill.toml: %v, %v", s.flags, err)
	}
	if _, err := readPrices(file(`{}`)); err != nil {
		t.Errorf("prices: %v", err)
	}
	var v variables
	if err := v.load(file("A=1\n"), true); err != nil || v.files["A"].value != "1" {
		t.Errorf(".env: %v, %v", v.files, err)
	}
	if secret, err := secretIn(file("s3cret\n"), "--key-file", "key", os.ReadFile); err != nil || secret != "s3cret" {
		t.Errorf("a key: %q, %v", secret, err)
	}
	schema := file(`{"type":"object"}`)
	if data, err := readText(schema); err != nil || data[0] != '{' {
		t.Errorf("a schema: %q, %v", data, err)
	}
}
