package mcpserver

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"textskill/skill"
	"textskill/skill/dialect"
	"textskill/testdata/needs"
)

// processVar holds a dialect and a workspace when the test binary is to be a server.
const processVar = "MCPSERVER_TEST"

func TestMain(m *testing.M) {
	skill.HelperMain()
	if name, dir, ok := strings.Cut(os.Getenv(processVar), " "); ok {
		if err := serve(name, dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(needs.Run(m))
}

// serve is a program that serves dir over stdio.
func serve(name, dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	helper, err := os.Executable()
	if err != nil {
		return err
	}
	x, err := skill.New(skill.Config{Dir: dir, NoSync: true, Helper: helper})
	if err != nil {
		return err
	}
	defer x.Close()
	d := dialect.Filesystem
	if name == dialect.Perstack.Name {
		d = dialect.Perstack
	}
	s, err := New(Config{Executor: x, Dialects: []*dialect.Dialect{d}, Version: "1", Log: os.Stderr})
	if err != nil {
		return err
	}
	return s.Stdio(ctx, os.Stdin, os.Stdout)
}
