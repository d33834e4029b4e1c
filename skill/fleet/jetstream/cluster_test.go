package jetstream

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"textskill/testdata/needs"

	"textskill/skill/fleet"
)

// patience is the patience of the tests' planes. No test machine is suspended for so long.
const patience = 15 * time.Second

// A cluster is a cluster of servers in this process.
type cluster struct {
	t       testing.TB
	options []ServerOptions
	servers []*Server
}

// startCluster starts n servers.
func startCluster(t testing.TB, n int) *cluster {
	t.Helper()
	return startClusterWith(t, n, ServerOptions{})
}

// startClusterWith starts n servers with monitoring ports and the options o.
func startClusterWith(t testing.TB, n int, o ServerOptions) *cluster {
	t.Helper()
	c := &cluster{t: t, servers: make([]*Server, n)}
	ports := needs.Ports(t, 3*n)
	var routes []string
	for i := range n {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
	}
	dir := t.TempDir()
	for i := range n {
		o := o
		o.Dir, o.Name, o.Port, o.Monitor = filepath.Join(dir, fmt.Sprint(i)), fmt.Sprintf("n%d", i),
			ports[n+i], ports[2*n+i]
		if n > 1 {
			o.Cluster, o.Routes = ports[i], routes
		}
		c.options = append(c.options, o)
	}
	for i := range n {
		c.start(i)
	}
	t.Cleanup(func() {
		for i := range n {
			c.stop(i)
		}
	})
	return c
}

func (c *cluster) start(i int) {
	c.t.Helper()
	s, err := StartServer(c.options[i])
	if err != nil {
		c.t.Fatal(err)
	}
	c.servers[i] = s
}

func (c *cluster) stop(i int) {
	if c.servers[i] != nil {
		c.servers[i].Shutdown()
		c.servers[i] = nil
	}
}

// connect returns a plane with a connection of its own.
func (c *cluster) connect() *Plane {
	c.t.Helper()
	o := Options{Patience: patience}
	for _, s := range c.options {
		o.Servers = append(o.Servers, fmt.Sprintf("nats://127.0.0.1:%d", s.Port))
	}
	return c.connectWith(o)
}

func (c *cluster) connectWith(o Options) *Plane {
	c.t.Helper()
	p, err := Connect(within(c.t), o)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(p.Close)
	return p
}

// within returns a context that ends with the test, or after a time that no test needs.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// must ends the test with an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// submit commits the first state of a run and returns it.
func submit(t testing.TB, p *Plane, r fleet.Run) fleet.Run {
	t.Helper()
	if r.Tenant == "" {
		r.Tenant = "t"
	}
	r.Status = fleet.Waiting
	must(t, p.Commit(within(t), fleet.Batch{Run: &r, Events: []fleet.Event{{Kind: fleet.Submitted}}}))
	return r
}
