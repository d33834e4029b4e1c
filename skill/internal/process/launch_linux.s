// Lets launch_linux.go declare functions without bodies, which it links to the runtime.
