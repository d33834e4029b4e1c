// The bodies of the functions that launch_linux.go links to package runtime are not here.
