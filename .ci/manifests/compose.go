package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// compose checks a compose file.
func compose(ctx context.Context, data []byte, p program) (problems []error) {
	project, err := loader.LoadWithContext(ctx, types.ConfigDetails{
		WorkingDir:  ".",
		ConfigFiles: []types.ConfigFile{{Filename: "compose.yaml", Content: data}},
		Environment: types.Mapping{"NATS_PASSWORD": "secret"},
	}, func(o *loader.Options) { o.SkipResolveEnvironment = true })
	if err != nil {
		return []error{err}
	}
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	var nodes []string
	volumes := map[string]string{}
	for name, s := range project.Services {
		if s.Privileged || s.NetworkMode == "host" || !slices.Equal(s.CapDrop, []string{"ALL"}) {
			bad("%s: it has rights over the machine", name)
		}
		if strings.HasPrefix(s.Image, "nats:") {
			nodes = append(nodes, name)
			if s.Hostname != name {
				bad("%s: its hostname is %q", name, s.Hostname)
			}
			for _, v := range s.Volumes {
				if other, taken := volumes[v.Source]; taken {
					bad("%s and %s share the volume %s", name, other, v.Source)
				}
				volumes[v.Source] = name
			}
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				bad("%s: port %d is open to other machines", name, port.Target)
			}
		}
	}
	for _, name := range nodes {
		s := project.Services[name]
		var mounted []string
		for _, v := range s.Volumes {
			mounted = append(mounted, v.Target)
		}
		if len(s.Configs) != 1 || !slices.Contains(s.Command, s.Configs[0].Target) {
			bad("%s: it does not read its configuration", name)
			continue
		}
		problems = append(problems, nats(project.Configs[s.Configs[0].Source].Content, environment(s, name),
			nodes, mounted)...)
	}
	worker, ok := project.Services["worker"]
	if !ok {
		bad("there is no worker")
		return problems
	}
	if err := p(worker.Command); err != nil {
		problems = append(problems, err)
	}
	for _, name := range nodes {
		if _, waits := worker.DependsOn[name]; !waits {
			bad("worker: it does not wait for %s", name)
		}
	}
	return append(problems, servers(environment(worker, "worker")["NATS_URL"], nodes)...)
}

// environment is what a service finds.
func environment(s types.ServiceConfig, hostname string) map[string]string {
	env := map[string]string{"HOSTNAME": hostname}
	for name, value := range s.Environment {
		if value != nil {
			env[name] = *value
		}
	}
	return env
}

// servers checks that a client has the addresses of all nodes.
func servers(urls string, nodes []string) (problems []error) {
	var hosts []string
	for _, each := range strings.Split(urls, ",") {
		u, err := url.Parse(each)
		if err != nil {
			return []error{fmt.Errorf("NATS_URL: %w", err)}
		}
		if _, ok := u.User.Password(); !ok {
			problems = append(problems, fmt.Errorf("NATS_URL: %s has no password", u.Host))
		}
		hosts = append(hosts, u.Hostname())
	}
	slices.Sort(hosts)
	nodes = slices.Sorted(slices.Values(nodes))
	if !slices.Equal(hosts, nodes) {
		problems = append(problems, fmt.Errorf("NATS_URL leads to %q, and the nodes are %q", hosts, nodes))
	}
	return problems
}
