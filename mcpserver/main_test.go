package mcpserver

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"textskill/dialect"
	"textskill/skill"
)

// processVar holds a workspace when the test binary is to be a server on it.
const processVar = "MCPSERVER_TEST_WORKSPACE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(processVar); dir != "" {
		if err := serve(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serve is a program that serves dir over stdio.
func serve(dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	x, err := skill.New(skill.Config{Dir: dir, NoSync: true})
	if err != nil {
		return err
	}
	defer x.Close()
	s, err := New(Config{Executor: x, Dialects: []*dialect.Dialect{dialect.Filesystem}, Version: "1", Log: os.Stderr})
	if err != nil {
		return err
	}
	return s.Stdio(ctx, os.Stdin, os.Stdout)
}
