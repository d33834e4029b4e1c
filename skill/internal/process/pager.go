package process

import (
	"bytes"
	"os"
	"os/exec"
)

// RunPager shows a text by a program of the user, such as less, and waits for its end. The
// program has the environment and the terminal of this process, no fence, and no helper. It
// may end before it has read all of the text. The error is that it could not be run.
func RunPager(program string, args []string, text []byte, terminal *os.File) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return err
	}
	cmd := exec.Command(path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), terminal, os.Stderr
	if err := startChild(cmd); err != nil {
		return err
	}
	err = waitChild(cmd)
	if code := cmd.ProcessState.ExitCode(); code == 126 || code == 127 { // of a shell that cannot run it
		return err
	}
	return nil
}
