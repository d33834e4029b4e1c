package needs

import "os"

// OwnState lets the histories of workspaces be kept in a folder of the tests, not in that of
// the developer, also by the processes that they start. remove removes it.
func OwnState() (remove func()) {
	const mark = "SKILL_TEST_STATE"
	if os.Getenv(mark) != "" { // by the process that started this one
		return func() {}
	}
	dir, err := os.MkdirTemp("", "skill-state")
	if err != nil {
		panic(err)
	}
	os.Setenv(mark, dir)
	os.Setenv("XDG_STATE_HOME", dir)
	return func() { os.RemoveAll(dir) }
}
