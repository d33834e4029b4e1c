package process

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A program that reads single keys does not serve.
func TestReadsKeys(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("it needs a terminal: ", err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if readsKeys(int(terminal.Fd())) {
		t.Error("a terminal that gives whole lines counts as one that gives keys")
	}
	mode, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	mode.Lflag &^= unix.ICANON
	if err := unix.IoctlSetTermios(int(terminal.Fd()), unix.TCSETS, mode); err != nil {
		t.Fatal(err)
	}
	if !readsKeys(int(terminal.Fd())) {
		t.Error("a terminal that gives keys counts as one that gives whole lines")
	}
}
