package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"github.com/nats-io/nats-server/v2/server"
)

// nats checks the configuration of a node: env is what it finds in its environment, peers
// are the hosts of all nodes, and mounted the folders that outlive it.
func nats(config string, env map[string]string, peers, mounted []string) (problems []error) {
	for name, value := range env {
		os.Setenv(name, value)
		defer os.Unsetenv(name)
	}
	var o server.Options
	if err := o.ProcessConfigString(config); err != nil {
		return []error{fmt.Errorf("nats.conf: %w", err)}
	}
	must := func(ok bool, problem string) {
		if !ok {
			problems = append(problems, errors.New("nats.conf: "+problem))
		}
	}
	must(o.JetStream, "jetstream is off")
	must(o.SyncAlways, "sync_interval is not always: a power cut loses accepted steps")
	must(o.MaxPayload == 0 || o.MaxPayload >= 1<<20, "max_payload is less than 1 MiB, which a pack needs")
	must(o.Username != "" && o.Password != "", "who connects needs no password")
	must(o.ServerName != "", "a node has no server_name")
	must(o.HTTPPort == 8222, "http, which probes ask, is not 8222")
	must(slices.ContainsFunc(mounted, func(dir string) bool { return dir == path.Clean(o.StoreDir) }),
		"store_dir "+o.StoreDir+" is no volume")
	var routes []string
	for _, u := range o.Routes {
		routes = append(routes, u.Host)
	}
	var want []string
	for _, host := range peers {
		want = append(want, fmt.Sprintf("%s:%d", host, o.Cluster.Port))
	}
	slices.Sort(routes)
	slices.Sort(want)
	must(len(want) == 3, fmt.Sprintf("there are %d nodes, not 3", len(want)))
	must(slices.Equal(routes, want), fmt.Sprintf("routes are %q, and the nodes %q", routes, want))
	return problems
}
