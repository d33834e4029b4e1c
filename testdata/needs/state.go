package needs

import "os"

// Run runs the tests of a package without the settings of the user, with the histories of
// workspaces in a folder of the tests. TestMain ends with it.
func Run(m interface{ Run() int }) int {
	clean()
	defer ownState()()
	return m.Run()
}

// ownState lets the histories of workspaces be kept in a folder of the tests, not in that of
// the developer, also by the processes that they start. remove removes it.
func ownState() (remove func()) {
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
