//go:build !linux

package trial

import (
	"errors"
	"os"
)

var errSystem = errors.New("only Linux can show a command a view of the workspace")

// Run returns an error: this system has no views.
func (t *Trial) Run(string, string, []string, []*os.File) error { return errSystem }

// Check returns an error: this system has no trials.
func (t *Trial) Check(string, bool) error { return errSystem }

// Make returns an error: this system has no trials.
func (t *Trial) Make(string) error { return errSystem }

// Unmade returns an error: this system has no trials.
func (t *Trial) Unmade() error { return errSystem }
