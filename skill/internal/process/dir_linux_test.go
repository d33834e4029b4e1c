package process

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"textskill/skill/internal/workspace"
)

func TestOpenDirHandleRefusesAReplacedDirectory(t *testing.T) {
	x := newRunner(t, t.TempDir(), Config{})
	os.Mkdir(x.ws.Dir()+"/a", 0o755)
	os.Mkdir(x.ws.Dir()+"/b", 0o755)
	info, err := x.ws.Stat(x.ws.Dir()+"/a", true)
	if err != nil {
		t.Fatal(err)
	}
	handle, release, err := openDirHandle(x.ws.Dir()+"/a", info.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	os.Rename(x.ws.Dir()+"/a", x.ws.Dir()+"/elsewhere")
	os.Symlink("/", x.ws.Dir()+"/a")
	if got, err := os.Readlink(handle); err != nil || got != x.ws.Dir()+"/elsewhere" {
		t.Errorf("the handle links to %q, %v", got, err)
	}
	for path, want := range map[string]error{"/a": unix.ENOTDIR, "/b": unix.ESTALE, "/c": fs.ErrNotExist} {
		if _, _, err := openDirHandle(x.ws.Dir()+path, info.ID); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if _, _, err := openDirHandle(x.ws.Dir()+"/b", workspace.FileID{}); err != unix.ESTALE {
		t.Errorf("no id: %v", err)
	}
}
