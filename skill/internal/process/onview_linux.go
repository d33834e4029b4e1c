package process

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// enterName is the name by which a process knows that it is to enter a view.
const enterName = "skill: trial"

// OnView runs a helper (see [Config].Helper) with arguments, the name first, on a view of a folder, with
// three streams, and more descriptors from 4 up. All that it starts sees the view at the path of the folder: an overlay, whose upper layer is the folder upper
// of dir. work of dir must be empty. OnView returns the exit code. Its error says why there is no view.
func OnView(program, folder, dir string, argv []string, streams []*os.File) (code int, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	cmd := &exec.Cmd{Path: program, Args: append([]string{enterName, folder, dir}, argv...), Dir: "/",
		Stdin: streams[0], Stdout: streams[1], Stderr: streams[2], ExtraFiles: append([]*os.File{w}, streams[3:]...),
		SysProcAttr: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}}
	if needsUsers() {
		id := func(n int) []syscall.SysProcIDMap {
			return []syscall.SysProcIDMap{{ContainerID: n, HostID: n, Size: 1}}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWUSER,
			UidMappings: id(os.Geteuid()), GidMappings: id(os.Getegid()),
			// the overlay has the capabilities of the process that mounts it
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN}}
	}
	err = startChild(cmd)
	w.Close()
	if err != nil {
		return 0, fmt.Errorf("this system allows no view of the workspace: %w", err)
	}
	said := make([]byte, 4096) // closed without a word when the program begins
	n, _ := r.Read(said)
	waitChild(cmd)
	if n > 0 {
		return 0, errors.New(string(said[:n]))
	}
	state := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if state.Signaled() {
		return 128 + int(state.Signal()), nil
	}
	return state.ExitStatus(), nil
}

// enterMain turns this process into the program of [OnView] if it was started as one, and then does not
// return.
func enterMain() {
	if len(os.Args) < 4 || os.Args[0] != enterName {
		return
	}
	err := enter(os.Args[1], os.Args[2])
	if err == nil {
		unix.CloseOnExec(3)
		err = unix.Exec("/proc/self/exe", os.Args[3:], os.Environ())
	}
	fmt.Fprintf(os.NewFile(3, "report"), "this system allows no view of the workspace: %v", err)
	os.Exit(1)
}

// enter mounts the view.
func enter(folder, dir string) error {
	lower, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	own, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := takeMode(lower, dir+"/upper"); err != nil {
		return err
	}
	at := fmt.Sprintf("lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%[2]d/upper,workdir=/proc/self/fd/%[2]d/work",
		lower, own)
	options := at + ",redirect_dir=off,metacopy=off,index=off"
	if os.Geteuid() != 0 {
		options = at + ",userxattr"
	}
	err = unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	err = cmp.Or(err, unix.Mount("skill", folder, "overlay", 0, options))
	err = cmp.Or(err, unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
	return cmp.Or(err, unix.Chdir(folder))
}

// takeMode gives the upper layer the mode and the owner of the folder.
func takeMode(lower int, upper string) error {
	var st unix.Stat_t
	if err := unix.Fstat(lower, &st); err != nil {
		return err
	}
	unix.Chown(upper, int(st.Uid), int(st.Gid)) // only root may
	return unix.Chmod(upper, st.Mode&0o7777)
}
