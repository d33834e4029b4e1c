package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/pflag"

	"textskill/skill/fleet/jetstream"
)

// options are the flags that all commands share.
type options struct {
	nats   string // URLs of the servers, separated by commas
	creds  string // file of credentials; "" for none
	config string // fleet.toml; "" means that of the configuration
}

// defaultNATS is where dev lets its server listen.
const defaultNATS = "nats://127.0.0.1:4222"

func (o *options) add(f *pflag.FlagSet, getenv func(string) string) {
	f.StringVar(&o.nats, "nats", cmp.Or(getenv("NATS_URL"), defaultNATS), "connect to the NATS servers at `URL`, several separated by commas (NATS_URL)")
	f.Lookup("nats").DefValue = defaultNATS // what help says; the variable may hold a password
	f.StringVar(&o.creds, "creds", getenv("NATS_CREDS"), "use the NATS credentials in `FILE` (NATS_CREDS)")
	f.StringVar(&o.config, "config", "", "read the settings of this machine from `FILE` (default fleet.toml in the folder skill of the configuration)")
}

// connect returns the plane that the flags name. The caller closes it.
func (o *options) connect(ctx context.Context, s settings) (*jetstream.Plane, error) {
	servers, err := o.servers()
	if err != nil {
		return nil, err
	}
	p, err := jetstream.Connect(ctx, jetstream.Options{
		Servers: servers, Creds: o.creds, Name: cmp.Or(s.Worker.Name, "skill-fleet"), Patience: s.patience(), Waiting: s.jobs(),
	})
	if errors.Is(err, jetstream.ErrUnreachable) {
		err = fmt.Errorf("%w; start one with skill-fleet dev, or name those of the fleet with --nats", err)
	}
	return p, err
}

// servers returns the URLs of the servers.
func (o *options) servers() (servers []string, err error) {
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

// hosts returns the names of the servers, without what is secret in their URLs.
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

// open reads the settings and returns the plane. The caller closes it.
func (o *options) open(ctx context.Context) (*jetstream.Plane, settings, error) {
	s, err := o.settings()
	if err != nil {
		return nil, s, err
	}
	p, err := o.connect(ctx, s)
	return p, s, err
}
