package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// TestReleasedProgram runs what the action runs to find a released program.
func TestReleasedProgram(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the action compiles the program here")
	}
	for _, name := range []string{"bash", "curl", "tar", "awk"} {
		needs.Program(t, name)
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	files := tar.NewWriter(zip)
	const program = "#!/bin/sh\necho released\n"
	if err := files.WriteHeader(&tar.Header{Name: "./skill", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(files, program)
	files.Close()
	zip.Close()
	archive := fmt.Sprintf("textskill_1.2.0_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	sum := fmt.Sprintf("%x", sha256.Sum256(packed.Bytes()))
	for _, row := range []struct {
		name, tag, sum string
		out, errs      string
		fails          bool
	}{
		{"a release", "v1.2.0", sum, "found=true\n", "", false},
		{"a release that is not there", "v1.3.0", sum, "found=false\n",
			"has no checksums.txt for v1.3.0\n", false},
		{"a commit", "8629941aa0", sum, "found=false\n", "'8629941aa0' is not the tag of a release\n", false},
		{"a path in place of a tag", "v1/../x", sum, "found=false\n", "is not the tag of a release\n", false},
		{"another program", "v1.2.0", strings.Repeat("0", 64), "", "and the release lists 000", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			release := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/o/r/releases/download/v1.2.0/checksums.txt":
					fmt.Fprintf(w, "%s  other.tar.gz\n%s  %s\n", strings.Repeat("1", 64), row.sum, archive)
				case "/o/r/releases/download/v1.2.0/" + archive:
					w.Write(packed.Bytes())
				default:
					http.NotFound(w, r)
				}
			}))
			defer release.Close()
			folder := filepath.Join(t.TempDir(), "bin")
			cmd := exec.Command("../../.ci/package/released", release.URL+"/o/r", row.tag, folder)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Run(); (err != nil) != row.fails || out.String() != row.out ||
				!strings.Contains(errs.String(), row.errs) {
				t.Errorf("%v, %q, %q, want %q, %q", err, out.String(), errs.String(), row.out, row.errs)
			}
			got, _ := os.ReadFile(filepath.Join(folder, "skill"))
			if want := map[bool]string{true: program}[row.out == "found=true\n"]; string(got) != want {
				t.Errorf("the folder holds %q, want %q", got, want)
			}
		})
	}
}
