package process

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls of Landlock, which x/sys has no functions for. They are made here, for
// go-landlock comes with code in C: where there is a C compiler, its linker would have to
// put the program together.

// rulePort is the type of a rule for a port.
const rulePort = 2

type portRule struct{ access, port uint64 }

// landlockABI returns the version of Landlock to use, 0 if the kernel has none.
func landlockABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return min(int(v), newestABI)
}

// newRuleset returns a descriptor of a set without rules, which denies what attr says.
func newRuleset(attr *unix.LandlockRulesetAttr) (fd int, err error) {
	r, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(attr)),
		unsafe.Sizeof(*attr), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}

func addRule[T unix.LandlockPathBeneathAttr | portRule](rules, kind int, rule *T) error {
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), uintptr(kind),
		uintptr(unsafe.Pointer(rule)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
