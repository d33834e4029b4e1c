package agent

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"textskill/skill"
	"textskill/testdata/needs"
)

// The power fails while the setting of a run is written again: it is there, and confirmed.
func TestPowerCutInSetting(t *testing.T) {
	needs.EachDisk(t, 1, "SKILL_TEST_CUTS", func(t *testing.T, cuts int, disks []*needs.Disk) {
		for _, at := range []moment{beforeChange, beforeFlush} {
			disk := disks[0]
			dir := filepath.Join(disk.Dir, "ws")
			if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o777)); err != nil {
				t.Fatal(err)
			}
			x, err := skill.New(skill.Config{Dir: dir, State: filepath.Join(disk.Dir, "state")})
			if err != nil {
				t.Fatal(err)
			}
			s, err := openStore(t.Context(), x, "run")
			if err != nil {
				t.Fatal(err)
			}
			s.point = func(moment) {}
			if err := s.createSetting(t.Context(), RunSetting{RunID: "run", Input: Input{"first"}},
				Redactor{}); err != nil {
				t.Fatal(err)
			}
			folder := filepath.Join(dir, runsDir, "run")
			s.point = func(now moment) {
				if now != at {
					return
				}
				if f, err := os.Open(folder); err == nil { // all names are on the disk
					f.Sync()
					f.Close()
				}
				disk.Cut()
			}
			s.updateSetting(t.Context(), RunSetting{RunID: "run", Input: Input{"second"}}, Redactor{})
			s.close()
			x.Close()
			disk.Remount()
			x, err = skill.New(skill.Config{Dir: dir, State: filepath.Join(disk.Dir, "state")})
			if err != nil {
				t.Fatal(err)
			}
			records, known, err := Records{Executor: x}.Confirmed("run")
			var got RunSetting
			if err == nil {
				err = records.read(t.Context(), filepath.Join(runsDir, "run", settingFile), &got)
			}
			if text, _ := json.Marshal(got.Input); err != nil || !known || got.Input.Text != "first" {
				t.Errorf("cut at %d: %s, %v, %v", at, text, known, err)
			}
			x.Close()
		}
	})
}
