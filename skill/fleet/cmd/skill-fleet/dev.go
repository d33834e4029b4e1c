package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/skill"
	"textskill/skill/fleet/jetstream"
)

// devOptions are the flags of skill-fleet dev.
type devOptions struct {
	worker workerSettings
	dir    string
	port   int
}

func (c *cli) devCommand(o *options) *cobra.Command {
	var d devOptions
	cmd := &cobra.Command{
		Use:   "dev [flags]",
		Short: "Run a whole fleet in this process: a server and a worker",
		Long: `dev starts a NATS server and a worker on this machine, to try things out. It keeps its state
in the folder of --dir, and continues from there at the next start. Clients of the server
need its login. dev makes the login once and keeps it in the file login of that folder. The
other commands read it there.`,
		Example: "  skill-fleet dev --slots 8",
		Args:    usage.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.failed(c.dev(cmd.Context(), *o, d))
		},
	}
	f := cmd.Flags()
	addWorker(f, &d.worker)
	o.addNoAuth(f)
	f.StringVar(&d.dir, "dir", "", "keep the server's state in `DIR` (default below XDG_STATE_HOME)")
	f.IntVar(&d.port, "port", 4222, "let the server listen on `PORT` of 127.0.0.1 (0: a free one)")
	return cmd
}

func (c *cli) dev(ctx context.Context, o options, d devOptions) error {
	s, err := o.settings()
	if err != nil {
		return err
	}
	s.Worker = d.worker.or(s.Worker)
	state, err := c.stateDir()
	if d.dir == "" {
		if err != nil {
			return err
		}
		d.dir = filepath.Join(state, "dev")
	}
	if s.Worker.Root == "" {
		s.Worker.Root = filepath.Join(d.dir, "workspaces")
	}
	if _, err := c.workerConfig(&s); err != nil { // check the settings before dev starts the server
		return err
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	server, url, err := c.devServer(d, !o.noAuth)
	if err != nil {
		return err
	}
	defer server.Shutdown()
	o.nats, o.creds, o.typed = url, "", nil
	file, set := filepath.Join(d.dir, loginFile), ""
	if c.devURL() != url {
		set = fmt.Sprintf("  export NATS_URL=\"$(cat %s)\"\n", skill.ShellWord(file))
	}
	fmt.Fprintf(c.stdout, `The fleet is ready at %[1]s
Its login is in %[2]s
In another terminal:
%[3]s  skill-fleet submit EXPERT "QUERY" -C DIR
  skill-fleet runs --follow ID
  skill-fleet fetch ID
`, server.URL(), file, set)
	return c.work(ctx, &o, s)
}

// devServer starts the server of dev, and writes the URL with the login to loginFile.
func (c *cli) devServer(d devOptions, login bool) (server *jetstream.Server, address string, err error) {
	file := filepath.Join(d.dir, loginFile)
	o := jetstream.ServerOptions{Dir: filepath.Join(d.dir, "nats"), Port: d.port, Errors: c.stderr}
	var user *url.Userinfo
	if login {
		o.User, o.Password = "dev", password(file)
		user = url.UserPassword(o.User, o.Password)
	}
	if server, err = jetstream.StartServer(o); err != nil {
		return nil, "", fmt.Errorf("%w; choose another port with --port, another folder with --dir", err)
	}
	u, err := url.Parse(server.URL())
	if err == nil {
		u.User = user
		if err = os.Remove(file); err == nil || errors.Is(err, os.ErrNotExist) {
			err = os.WriteFile(file, []byte(u.String()+"\n"), 0o600)
		}
	}
	if err != nil {
		server.Shutdown()
		return nil, "", err
	}
	return server, u.String(), nil
}

// password returns the password in a login file, so that clients of an earlier start can still
// connect. Without a file it returns a new password.
func password(file string) string {
	data, _ := os.ReadFile(file)
	if old, err := url.Parse(strings.TrimSpace(string(data))); err == nil {
		if kept, ok := old.User.Password(); ok {
			return kept
		}
	}
	return rand.Text()
}
