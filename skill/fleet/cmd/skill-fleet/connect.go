package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"textskill/skill/fleet/jetstream"
)

// options are the flags that all commands share.
type options struct {
	nats   string // URLs of the servers, separated by commas
	creds  string // file with credentials; "" for none
	config string // fleet.toml; "" means the file in the configuration folder
	noAuth bool   // let a worker take runs from a server that asks for no login

	typed *pflag.Flag // --nats
}

// defaultNATS is the default URL of dev's server.
const defaultNATS = "nats://127.0.0.1:4222"

// loginFile has the URL of dev's server with its login. It is in the folder of dev.
const loginFile = "login"

// addNoAuth adds --no-auth, for commands that carry out runs.
func (o *options) addNoAuth(f *pflag.FlagSet) {
	f.BoolVar(&o.noAuth, "no-auth", false,
		"take runs from a server that asks for no login: whoever reaches it can run commands here")
}

func (o *options) add(f *pflag.FlagSet, c *cli) {
	getenv := c.getenv
	f.StringVar(&o.nats, "nats", cmp.Or(getenv("NATS_URL"), c.devURL(), defaultNATS),
		"connect to the NATS servers at `URL`, several separated by commas "+
			"($NATS_URL, else the server of skill-fleet dev)")
	o.typed = f.Lookup("nats")
	o.typed.DefValue = defaultNATS // for the help: the variable may have a password
	f.StringVar(&o.creds, "creds", getenv("NATS_CREDS"), "use the NATS credentials in `FILE` ($NATS_CREDS)")
	f.StringVar(&o.config, "config", "",
		"read the settings of this machine from `FILE` (default skill/fleet.toml in your configuration folder)")
}

// devURL returns the URL in dev's login file, or "".
func (c *cli) devURL() string {
	state, err := c.stateDir()
	if err != nil {
		return ""
	}
	data, _ := os.ReadFile(filepath.Join(state, "dev", loginFile))
	return strings.TrimSpace(string(data))
}

// giveLogin says how to log in without a password that others see in the list of processes.
const giveLogin = "set NATS_URL=nats://USER:PASSWORD@HOST in the environment, or type --creds FILE"

// connect connects to the servers of the flags. With closed, it refuses servers without a login.
// The caller closes the plane.
func (o *options) connect(ctx context.Context, s settings, closed bool) (*jetstream.Plane, error) {
	servers, err := o.servers()
	if err != nil {
		return nil, err
	}
	p, err := jetstream.Connect(ctx, jetstream.Options{
		Servers: servers, Creds: o.creds, Closed: closed, Name: cmp.Or(s.Worker.Name, "skill-fleet"),
		Patience: s.patience(), Waiting: s.jobs(),
	})
	for kind, hint := range map[error]string{
		jetstream.ErrUnreachable: "start a server with skill-fleet dev, or name your servers with --nats",
		jetstream.ErrLogin:       giveLogin,
		jetstream.ErrOpen:        "set up a login there, or type --no-auth",
	} {
		if errors.Is(err, kind) {
			err = fmt.Errorf("%w; %s", err, hint)
		}
	}
	return p, err
}

// servers returns the URLs of the servers. It refuses a login that somebody typed.
func (o *options) servers() (servers []string, err error) {
	if o.typed != nil && o.typed.Changed && strings.Contains(o.nats, "@") {
		return nil, errors.New("--nats has a login, which every user of this machine sees in the list of processes; " +
			giveLogin)
	}
	for server := range strings.SplitSeq(o.nats, ",") {
		if server = strings.TrimSpace(server); server != "" {
			servers = append(servers, server)
		}
	}
	if servers == nil {
		return nil, errors.New("--nats names no server; it is like nats://n1:4222")
	}
	return servers, nil
}

// hosts returns the host names of the servers, without logins.
func (o *options) hosts() (hosts []string, err error) {
	servers, err := o.servers()
	for _, server := range servers {
		if !strings.Contains(server, "://") {
			server = "nats://" + server
		}
		u, err := url.Parse(server)
		if err != nil || u.Hostname() == "" {
			return nil, errors.New("--nats: a URL is malformed; it is like nats://n1:4222")
		}
		hosts = append(hosts, u.Hostname())
	}
	return hosts, err
}

// open reads the settings and connects. The caller closes the plane.
func (o *options) open(ctx context.Context) (*jetstream.Plane, settings, error) {
	s, err := o.settings()
	if err != nil {
		return nil, s, err
	}
	p, err := o.connect(ctx, s, false)
	return p, s, err
}
