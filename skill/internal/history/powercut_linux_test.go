package history

import (
	"os"
	"testing"
)

// A power cut may take the number in the lock file. A change that was acknowledged stays in force,
// whatever happened to its file since.
func TestPowerCutTakesNumber(t *testing.T) {
	for _, later := range []string{"removed", "written", "moved"} {
		t.Run(later, func(t *testing.T) {
			base := t.TempDir()
			os.Mkdir(base+"/ws", 0o755)
			o := Options{Root: base + "/ws", Dir: base + "/state", NoSync: true}
			s := open(t, o)
			os.WriteFile(base+"/ws/f", []byte("old"), 0o644)
			writeBy(t, s, "f", "new")
			switch later {
			case "removed":
				os.Remove(base + "/ws/f")
			case "written":
				os.WriteFile(base+"/ws/f", []byte("the user's"), 0o644)
			case "moved":
				os.Rename(base+"/ws/f", base+"/ws/g")
			}
			last := treeOf(t, base+"/ws")
			if err := os.Truncate(s.Path()+"/"+lockName, 0); err != nil {
				t.Fatal(err)
			}
			s.Close()
			tx, err := open(t, o).Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer tx.End()
			if got := treeOf(t, base+"/ws"); got != last {
				t.Errorf("there is\n%s\nwant\n%s", got, last)
			}
			if !tx.InForceNow(1) {
				t.Error("the change is not in force")
			}
		})
	}
}

// writeBy gives a file a new content, as a tool does.
func writeBy(t testing.TB, s *Store, name, content string) {
	t.Helper()
	tx, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.End()
	d, base, err := s.parent(Name(name))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	before, err := At(d, base, Entry{Kind: File, Sum: "wanted"})
	if err != nil {
		t.Fatal(err)
	}
	n, err := d.CreateUnnamed(0o644)
	if err != nil {
		t.Skip(err)
	}
	defer n.Close()
	n.WriteString(content)
	after := Entry{Kind: File, Mode: before.Mode}.Holds([]byte(content))
	op := &Op{Kind: "write", Deltas: []Delta{{Path: Name(name), Before: tx.Describe(Name(name), before), After: after}}}
	if err := tx.Add(op); err != nil {
		t.Fatal(err)
	}
	info, err := d.Lstat(base)
	if err != nil {
		t.Fatal(err)
	}
	k := tx.Keeper(op, 0)
	done, err := k.Exchange(n, d, base, info)
	if err == nil && !done {
		if err = d.LinkUnnamed(n, TempName); err == nil {
			err = d.Rename(TempName, d, base, true)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	tx.Made()
}
