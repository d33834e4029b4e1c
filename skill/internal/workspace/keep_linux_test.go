package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"textskill/skill/internal/workspace/tree"
)

// A meddledFolder lets another program act just before each exchange.
type meddledFolder struct {
	tree.Folder
	meddle func()
}

func (m *meddledFolder) Exchange(name string, to tree.Folder, newName string) error {
	m.meddle()
	return m.Folder.Exchange(name, to, newName)
}

// What other programs put in place while an exchange is taken back is neither lost nor
// replaced by something older.
func TestTakeBack(t *testing.T) {
	for _, test := range []struct {
		name        string
		puts        []string // in place, each before one exchange
		file, image string   // at the end
	}{
		{"alone", nil, "theirs", ""},
		{"meddled once", []string{"second"}, "second", "theirs"},
		{"meddled twice", []string{"second", "third"}, "third", "second"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			put := func(name, content string) string {
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			file, image := put("file", "fresh"), put("image", "theirs")
			tr, err := tree.Open(dir, false)
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Close()
			top, err := tr.OpenFolder(".")
			if err != nil {
				t.Fatal(err)
			}
			defer top.Close()
			f, fresh, err := tree.RegularFile(os.Open(file)) // kept open, as a write does: its number is not given again
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			puts := test.puts
			images := &meddledFolder{top, func() {
				if len(puts) == 0 {
					return
				}
				if err := os.Rename(put("other", puts[0]), file); err != nil {
					t.Error(err)
				}
				puts = puts[1:]
			}}
			err = takeBack(images, "image", top, "file", fresh)
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip("needs a file system that exchanges files")
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(file); string(got) != test.file {
				t.Errorf("the file holds %q, %v; want %q", got, err, test.file)
			}
			got, err := os.ReadFile(image)
			if string(got) != test.image || test.image == "" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the image holds %q, %v; want %q", got, err, test.image)
			}
		})
	}
}
