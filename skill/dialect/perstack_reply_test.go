package dialect

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"textskill/parser/rawjson"
	"textskill/skill"
)

// TestPerstackWords has what each tool says of each thing that can be wrong, in
// the order in which it looks.
func TestPerstackWords(t *testing.T) {
	b := newBase(t, skill.Config{})
	for name, content := range map[string]string{
		"f.txt": "text", "ro.txt": "x", "d/": "", "full/f": "x", "ro/": "", "in": "->f.txt", "ind": "->d",
		"dang": "->nowhere", "loop": "->loop",
		"out": "->/etc/hostname", "outd": "->/etc", "perstack/run": "x", ".perstack/run": "x",
		"toRuns": "->perstack", ".skill/journal": "x",
	} {
		b.file(name, content)
	}
	for _, name := range []string{"ro.txt", "ro"} {
		if err := os.Chmod(filepath.Join(b.dir, name), 0o555); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("n", 300)
	notBelow := "Access denied - path outside allowed directories: %s not in root"
	for _, tt := range []struct{ tool, path, want string }{
		{"readTextFile", "no", "File no does not exist."},
		{"readTextFile", "dang", "File dang does not exist."},
		{"readTextFile", "loop", "File loop does not exist."},
		{"readTextFile", "a\x00b", "File a\x00b does not exist."},
		{"readTextFile", "a\x00b/c", "Parent directory does not exist: root/a\x00b"},
		{"readTextFile", long, "File " + long + " does not exist."},
		{"readTextFile", "no/f", "Parent directory does not exist: root/no"},
		{"readTextFile", "f.txt/g", "File f.txt/g does not exist."},
		{"readTextFile", "dang/f", "Parent directory does not exist: root/dang"},
		{"readTextFile", "outd/hostname", "Parent directory does not exist: root/outd"},
		{"readTextFile", "out", "Operation denied: target is a symbolic link"},
		{"readTextFile", "outd", "Operation denied: target is a symbolic link"},
		{"readTextFile", "/etc/hostname", fmt.Sprintf(notBelow, "/etc/hostname")},
		{"readTextFile", "../no", fmt.Sprintf(notBelow, filepath.Dir(b.dir)+"/no")},
		{"readTextFile", "d", "EISDIR: illegal operation on a directory, read"},
		{"readTextFile", "perstack/run", "Access denied - perstack directory is not allowed"},
		{"readTextFile", "./d/../PerStack", "Access denied - perstack directory is not allowed"},
		{"readTextFile", ".perstack/run", "Access denied - .perstack directory is not allowed"},
		{"readTextFile", "toRuns/run", "Access denied - perstack directory is not allowed"},
		{"readTextFile", ".skill/journal",
			"Access denied - root/.skill/journal: it holds this program's own records"},

		{"writeTextFile", "ro.txt", "File ro.txt is not writable"},
		{"writeTextFile", "out", "Operation denied: target is a symbolic link"},
		{"writeTextFile", "dang", "Operation denied: target is a symbolic link"},
		{"writeTextFile", "loop", "Operation denied: target is a symbolic link"},
		{"writeTextFile", "outd/new", "Parent directory does not exist: root/outd"},
		{"writeTextFile", "outd/no/new", "Parent directory does not exist: root/outd/no"},
		{"writeTextFile", "d", "EISDIR: illegal operation on a directory, open 'root/d'"},
		{"writeTextFile", "f.txt/g", "EEXIST: file already exists, mkdir 'root/f.txt'"},
		{"writeTextFile", "f.txt/g/h", "Parent directory does not exist: root/f.txt/g"},
		{"writeTextFile", long, "ENAMETOOLONG: name too long, open 'root/" + long + "'"},
		{"writeTextFile", "a\x00b",
			`path holds a NUL byte: "root/a\x00b"`},
		{"writeTextFile", "perstack/x", "Access denied - perstack directory is not allowed"},
		{"writeTextFile", ".git/config",
			"Access denied - root/.git/config: changing .git can make other programs run code; --allow-config allows it"},
		{"writeTextFile", "perstack.toml",
			"Access denied - root/perstack.toml: changing perstack.toml can make other programs run code; --allow-config allows it"},

		{"appendTextFile", "no", "File no does not exist."},
		{"appendTextFile", "ro.txt", "File ro.txt is not writable"},
		{"appendTextFile", "out", "Operation denied: target is a symbolic link"},
		{"appendTextFile", "d", "EISDIR: illegal operation on a directory, open 'root/d'"},

		{"editTextFile", "no", "File no does not exist."},
		{"editTextFile", "ro.txt", "File ro.txt is not writable"},
		{"editTextFile", "out", "Operation denied: target is a symbolic link"},
		{"editTextFile", "d", "EISDIR: illegal operation on a directory, read"},
		{"editTextFile", "in", "Could not find exact match for oldText in file root/f.txt"},

		{"deleteFile", "no", "File no does not exist."},
		{"deleteFile", "d", "Path d is a directory. Use delete directory tool instead."},
		{"deleteFile", ".", "Path . is a directory. Use delete directory tool instead."},
		{"deleteFile", "ro.txt", "File ro.txt is not writable"},

		{"getFileInfo", "no", "File or directory no does not exist"},
		{"getFileInfo", "dang", "File or directory dang does not exist"},
		{"getFileInfo", "out", fmt.Sprintf(notBelow, "root/out")},

		{"listDirectory", "no", "Directory no does not exist."},
		{"listDirectory", "f.txt", "Path f.txt is not a directory."},
		{"listDirectory", "outd", fmt.Sprintf(notBelow, "root/outd")},
		{"listDirectory", ".", "ENOENT: no such file or directory, stat 'root/dang'"},

		{"createDirectory", "d", "Directory d already exists"},
		{"createDirectory", "f.txt", "Directory f.txt already exists"},
		{"createDirectory", "", "Directory  already exists"},
		{"createDirectory", "out", "Directory out already exists"},
		{"createDirectory", "ro/x", "Parent directory root/ro is not writable"},
		{"createDirectory", "ro/x/y", "Parent directory root/ro is not writable"},
		{"createDirectory", "f.txt/x", "ENOTDIR: not a directory, mkdir 'root/f.txt/x'"},
		{"createDirectory", "dang", "ENOENT: no such file or directory, mkdir 'root/dang'"},
		{"createDirectory", "dang/x", "Parent directory does not exist: root/dang"},

		{"deleteDirectory", "no", "Directory no does not exist."},
		{"deleteDirectory", "dang", "Directory dang does not exist."},
		{"deleteDirectory", "f.txt", "Path f.txt is not a directory. Use deleteFile tool instead."},
		{"deleteDirectory", "in", "Path in is not a directory. Use deleteFile tool instead."},
		{"deleteDirectory", "out", "Path out is not a directory. Use deleteFile tool instead."},
		{"deleteDirectory", "ro", "Directory ro is not writable"},
		{"deleteDirectory", "full", "ENOTEMPTY: directory not empty, rmdir 'root/full'"},
		{"deleteDirectory", ".", "ENOTEMPTY: directory not empty, rmdir 'root'"},

		{"readImageFile", "no.png", "File no.png does not exist."},
		{"readImageFile", "f.txt", "File f.txt is not supported."},
		{"readImageFile", "d", "File d is not supported."},
		{"readImageFile", "out", fmt.Sprintf(notBelow, "root/out")},
		{"readPdfFile", "no.pdf", "File no.pdf does not exist."},
		{"readPdfFile", "f.txt", "File f.txt is not a PDF file."},
		{"readPdfFile", "ind", "File ind is not a PDF file."},

		{"no such tool", "", "MCP error -32602: Tool no such tool not found"},
	} {
		args := string(object("path", tt.path, "text", "x", "oldText", "zz", "newText", ""))
		got := b.call(tt.tool, args)
		if message, ok := strings.CutPrefix(got, "MCP error"); ok {
			got = "MCP error" + message
		} else {
			got = said(got)
		}
		if got != tt.want {
			t.Errorf("%s %q\n got %s\nwant %s", tt.tool, tt.path, got, tt.want)
		}
	}
}

// TestPerstackFolders has what exec says of folders where nothing can be run.
func TestPerstackFolders(t *testing.T) {
	b := newBase(t, skill.Config{})
	b.file("f", "x")
	b.file("loop", "->loop")
	for cwd, want := range map[string]string{
		"f":                      "spawn ENOTDIR",
		"f/x":                    "spawn ENOTDIR",
		"loop":                   "spawn ELOOP",
		strings.Repeat("n", 256): "spawn ENAMETOOLONG",
		"no":                     "spawn pwd ENOENT",
		"a\x00b":                 "cwd holds a NUL byte, which no program can be given",
	} {
		got := b.call("exec", fmt.Sprintf(`{"command":"pwd","args":[],"env":{},"cwd":%s,"stdout":true,"stderr":true}`, rawjson.Encode(cwd)))
		if got != `{"error":"`+want+`"}` {
			t.Errorf("%.20q\n got %s\nwant %s", cwd, got, want)
		}
	}
}

// TestPerstackSpawn names why a program was not started.
func TestPerstackSpawn(t *testing.T) {
	a := perstackExecArgs{Command: "pwd"}
	for errno, want := range map[syscall.Errno]string{
		syscall.E2BIG: "spawn E2BIG", syscall.ENOEXEC: "spawn ENOEXEC", syscall.ENOMEM: "spawn ENOMEM",
		syscall.EACCES: "spawn pwd EACCES", syscall.EAGAIN: "spawn pwd EAGAIN",
		syscall.EINPROGRESS: "spawn UNKNOWN",
	} {
		if got := a.spawnMessage(&skill.SpawnError{Command: "pwd", Err: errno}); got != want {
			t.Errorf("%d: %s, want %s", errno, got, want)
		}
	}
}

// TestPerstackLineEnds edits with texts whose line ends are not the file's.
func TestPerstackLineEnds(t *testing.T) {
	for _, tt := range []struct{ content, old, new, want string }{
		{"a\nb\n", "a", "x\r\ny", "x\ny\nb\n"},
		{"a b", "b", "x\r\ny", "a x\ny"},
		{"a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n"},
		{"a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n"},
	} {
		b := newBase(t, skill.Config{})
		b.file("f", tt.content)
		b.call("editTextFile", string(object("path", "f", "oldText", tt.old, "newText", tt.new)))
		if got, err := os.ReadFile(filepath.Join(b.dir, "f")); string(got) != tt.want {
			t.Errorf("%q: %q for %q gives %q, %v; want %q", tt.content, tt.new, tt.old, got, err, tt.want)
		}
	}
}

// TestPerstackMoves has what moveFile says, of the source before the destination.
func TestPerstackMoves(t *testing.T) {
	b := newBase(t, skill.Config{})
	for name, content := range map[string]string{"f": "x", "g": "y", "d/": "", "ro": "x", "dang": "->nowhere",
		"out": "->/etc/hostname"} {
		b.file(name, content)
	}
	if err := os.Chmod(filepath.Join(b.dir, "ro"), 0o444); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ from, to, want string }{
		{"no", "g", "Source file no does not exist."},
		{"no", "/etc/x", "Access denied - path outside allowed directories: /etc/x not in root"},
		{"ro", "g", "Source file ro is not writable"},
		{"f", "g", "Destination g already exists."},
		{"f", "f", "Destination f already exists."},
		{"f", "dang", "Destination dang already exists."},
		{"f", "out", "Destination out already exists."},
		{"f", "", "Destination  already exists."},
		{"d", "d/e/f", "EINVAL: invalid argument, rename 'root/d' -> 'root/d/e/f'"},
		{".", "x/y", "EINVAL: invalid argument, rename 'root' -> 'root/x/y'"},
		{"f", "out/x", "Parent directory does not exist: root/out"},
		{"f", "g/x", "EEXIST: file already exists, mkdir 'root/g'"},
		{"f", "x\x00y", `destination holds a NUL byte: "root/x\x00y"`},
	} {
		if got := said(b.call("moveFile", string(object("source", tt.from, "destination", tt.to)))); got != tt.want {
			t.Errorf("%q to %q\n got %s\nwant %s", tt.from, tt.to, got, tt.want)
		}
	}
	if got := b.call("moveFile", `{"source":"f","destination":"new/deep/f"}`); got != `{"source":"root/f","destination":"root/new/deep/f"}` {
		t.Errorf("a move into new folders: %s", got)
	}
}
