package main

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pelletier/go-toml/v2"

	"textskill/internal/usage"
	"textskill/skill/fleet"
)

// settingsFile has the settings of this machine.
const settingsFile = "fleet.toml"

// settings are the contents of fleet.toml.
type settings struct {
	Worker  workerSettings            `toml:"worker"`
	Tenants map[string]tenantSettings `toml:"tenants"`
	Repeat  []string                  `toml:"repeat"` // tools that a worker may call twice
}

type workerSettings struct {
	Name     string   `toml:"name"`
	Slots    int      `toml:"slots"`
	Labels   []string `toml:"labels"`
	Root     string   `toml:"root"`
	Model    string   `toml:"model"`
	Provider string   `toml:"provider"`
	Patience string   `toml:"patience"` // like "30s"
	Network  bool     `toml:"network"`
}

type tenantSettings struct {
	Running int      `toml:"running"` // runs at once in the fleet; 0 means no limit
	Waiting int      `toml:"waiting"` // waiting runs; 0 means the quota of the queue
	KeyFile string   `toml:"key-file"`
	Trust   bool     `toml:"trust"`
	Exclude []string `toml:"exclude"`
}

// settings reads fleet.toml. Without --config it may be missing.
func (o *options) settings() (s settings, err error) {
	file := o.config
	if file == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return s, nil
		}
		file = filepath.Join(dir, "skill", settingsFile)
	}
	data, err := os.ReadFile(file)
	if o.config == "" && (errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) {
		return s, nil
	}
	switch {
	case err != nil && o.config != "": // err has the name of the file
		return s, fmt.Errorf("--config: %w", err)
	case err != nil:
		return s, err
	}
	if err = decodeSettings(data, &s); err != nil && !errors.As(err, new(*os.PathError)) {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return s, err
}

// decodeSettings parses a fleet.toml, which may begin with a byte order mark. Unknown keys are errors.
func decodeSettings(data []byte, s *settings) error {
	err := toml.NewDecoder(strings.NewReader(strings.TrimPrefix(string(data), "\ufeff"))).DisallowUnknownFields().Decode(s)
	if missing, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		line, _ := missing.Errors[0].Position()
		return fmt.Errorf("line %d: unknown key %s", line, strings.Join(missing.Errors[0].Key(), "."))
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := wrong.Position()
		return fmt.Errorf("line %d, column %d: %s", line, column, usage.WrongTOML(err))
	}
	if err == nil {
		err = s.Worker.check()
	}
	for name, t := range s.Tenants {
		err = cmp.Or(err, fleet.CheckName("tenant", name), atLeast0("tenants."+name+": running", t.Running),
			atLeast0("tenants."+name+": waiting", t.Waiting))
	}
	return err
}

func atLeast0(what string, n int) error {
	if n < 0 {
		return fmt.Errorf("%s is %d; it must be at least 0", what, n)
	}
	return nil
}

// jobs returns the quota that the queue needs: the most jobs of a tenant, waiting and with a
// worker. 0 means the default.
func (s settings) jobs() (most int) {
	for _, t := range s.Tenants {
		most = max(most, t.Waiting+t.Running)
	}
	return most
}

// tenant returns the settings of a tenant, with its key.
func (s settings) tenant(name string) (t fleet.Tenant, err error) {
	own := s.Tenants[name]
	t = fleet.Tenant{Exclude: own.Exclude, Trust: own.Trust, Waiting: own.Waiting}
	if own.KeyFile != "" {
		if t.Key, err = readKey(own.KeyFile); err != nil {
			err = fmt.Errorf("tenants.%s: key-file: %w", name, err)
		}
	}
	return t, err
}

// readKey reads a key: 32 bytes, or 64 hexadecimal digits.
func readKey(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil || len(data) == 32 {
		return data, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("%s: a key is 64 hexadecimal digits; openssl rand -hex 32 prints a new key", file)
	}
	return key, nil
}

// check checks the settings of a worker.
func (w workerSettings) check() error {
	switch d, err := time.ParseDuration(cmp.Or(w.Patience, "1s")); {
	case w.Slots < 0:
		return fmt.Errorf("worker: slots is %d; it must be at least 1", w.Slots)
	case err != nil:
		return fmt.Errorf("worker: patience %q must be a time like 30s", w.Patience)
	case d < time.Second:
		return fmt.Errorf("worker: patience %q: it must be at least 1s", w.Patience)
	}
	return nil
}

// patience returns the patience of the fleet; 0 means the default.
func (s settings) patience() time.Duration {
	d, _ := time.ParseDuration(s.Worker.Patience) // check has parsed it
	return d
}

// stateDir returns the folder for the state of this program.
func (c *cli) stateDir() (string, error) {
	if dir := c.getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "skill-fleet"), nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "state", "skill-fleet"), err
}
