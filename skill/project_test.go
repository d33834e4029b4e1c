package skill

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestScanProject scans several directories.
func TestScanProject(t *testing.T) {
	dir, xs := inside(t, map[string]string{
		"p/Dockerfile": "", "p/.git/HEAD": "", "p/node_modules/m/index.js": "", "p/src/deep/a.go": "",
		"p/src/b.go": "", "p/z": "", "q/package.json/x": "",
	}, 1)
	for link, target := range map[string]string{"p/dlink": "src", "p/broken": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	p := did[Project](t, xs[0], ScanProject{Path: "p"})
	if got, want := strings.Join(p.Files, " "), "Dockerfile broken z src/b.go src/deep/a.go"; got != want {
		t.Errorf("files are %s, want %s", got, want)
	}
	if got, want := strings.Join(p.Dirs, " "), ".git dlink node_modules src src/deep"; got != want {
		t.Errorf("folders are %s, want %s", got, want)
	}
	if p.Name != "p" || p.Total != 10 || p.AtLeast ||
		!p.Git || !p.Image || p.Python || p.Node {
		t.Errorf("p is %+v", p)
	}
	p = did[Project](t, xs[0], ScanProject{Path: "p", Limit: 3})
	if got := strings.Join(append(p.Dirs, p.Files...), " "); got != ".git Dockerfile broken" ||
		p.Total != 10 {
		t.Errorf("the first three of %d are %s", p.Total, got)
	}
	if p = did[Project](t, xs[0], ScanProject{}); p.Name != filepath.Base(dir) {
		t.Errorf("the workspace is called %s, want %s", p.Name, filepath.Base(dir))
	}
	if p = did[Project](t, xs[0], ScanProject{Path: "q"}); !p.Node {
		t.Error("a folder called package.json does not count, as it does for the original")
	}
	if p = did[Project](t, xs[0], ScanProject{Path: "p/z"}); p.Name != "z" || p.Total != 0 || p.Git {
		t.Errorf("a file is %+v", p)
	}
}

// TestLoadContext reads the files that exist.
func TestLoadContext(t *testing.T) {
	dir, xs := inside(t, map[string]string{"AGENTS.md": "", "TOOLS.md": "t", "tools.md": "x"}, 1)
	c := did[Context](t, xs[0], LoadContext{})
	if len(c.Files) != 2 || c.Files[0] != (ContextFile{Name: "AGENTS.md"}) ||
		c.Files[1] != (ContextFile{Name: "TOOLS.md", Content: "t"}) {
		t.Errorf("loaded %+v", c.Files)
	}
	if err := os.WriteFile(filepath.Join(dir, "SOUL.md"), bytes.Repeat([]byte("a line\n"), 1<<18), 0o644); err != nil {
		t.Fatal(err)
	}
	c = did[Context](t, xs[0], LoadContext{})
	if len(c.Files) != 3 || len(c.Files[1].Content) > 1<<20 || c.Files[1].Next != (1<<20)/len("a line\n") ||
		c.Files[2].Content != "t" {
		t.Errorf("of a large file %d bytes are loaded, the next line is %d", len(c.Files[1].Content),
			c.Files[1].Next)
	}
}
