package main

import (
	"cmp"
	"context"
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
	patience, err := s.patience()
	if err != nil {
		return nil, err
	}
	return jetstream.Connect(ctx, jetstream.Options{
		Servers: strings.Split(o.nats, ","), Creds: o.creds, Name: cmp.Or(s.Worker.Name, "skill-fleet"), Patience: patience, Waiting: s.jobs(),
	})
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
