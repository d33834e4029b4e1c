// Package jetstream implements [fleet.Plane] with NATS JetStream.
//
//	connect.go  the connection and the streams
//	names.go    what a name is called in a subject
//	reach.go    trying again while servers are lost
//	state.go    commits, and the states of runs and workspaces
//	events.go   the events of a run
//	jobs.go     the queue
//	blobs.go    packs and manifests
//	call.go     requests and messages that are not stored
//	server.go   a server in this process
//	check.go    whether a cluster keeps what it has accepted
package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"textskill/skill/fleet"
)

// Options say how to reach a cluster and how to make its streams. Only Servers is needed.
type Options struct {
	Servers  []string      // URLs; one must answer
	Creds    string        // a file of credentials; "" for none
	Closed   bool          // refuse a server that lets clients in without a login
	Name     string        // of this connection, as the servers list it
	Replicas int           // copies of each stream; 0 means 3, or 1 for a server without a cluster
	Patience time.Duration // 0 means [fleet.Patience]
	// jobs of a tenant, class and place, those with a worker included; a queue that has more keeps
	// that; 0 means 50
	Waiting int
}

// waiting is the quota of a queue that is made without one.
const waiting = 50

// keep is how long the state and the events of a run are kept after they were written.
const keep = 30 * 24 * time.Hour

// A Plane is a connection to a cluster. The caller closes it.
type Plane struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	patience time.Duration

	jobs, runs, blobs jetstream.Stream
	quota             int

	mu       sync.Mutex
	silences map[string]int // requests for jobs in a row that were not answered, by subject
	empties  map[string]int // those for which there was no job, though the subject has some
	queues   map[string]int // the quota of the consumer of each subject of jobs that has one; 0 for none
}

var _ fleet.Plane = (*Plane)(nil)

// Connect connects to a cluster and makes the streams that it lacks.
func Connect(ctx context.Context, o Options) (*Plane, error) {
	opts := []nats.Option{
		nats.Name(o.Name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		// Nothing is sent late: what could not be sent is tried again by who still wants it.
		nats.ReconnectBufSize(-1),
		nats.PingInterval(5 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // else it prints to standard error
	}
	if o.Creds != "" {
		opts = append(opts, nats.UserCredentials(o.Creds))
	}
	nc, err := nats.Connect(strings.Join(o.Servers, ","), opts...)
	if err != nil {
		if file, ok := errors.AsType[*fs.PathError](err); ok {
			return nil, fmt.Errorf("the credentials cannot be read: %w", file)
		}
		if errors.As(err, new(*url.Error)) {
			return nil, fmt.Errorf("%s: a URL is malformed; in a password, write / as %%2F, @ as %%40 and : as %%3A", addresses(o.Servers))
		}
		if errors.Is(err, nats.ErrAuthorization) {
			return nil, fmt.Errorf("%w at %s", ErrLogin, addresses(o.Servers))
		}
		return nil, fmt.Errorf("%w at %s: %w", ErrUnreachable, addresses(o.Servers), err)
	}
	if o.Closed && !nc.AuthRequired() {
		nc.Close()
		return nil, fmt.Errorf("%w at %s", ErrOpen, addresses(o.Servers))
	}
	p := &Plane{nc: nc, patience: cmp.Or(o.Patience, fleet.Patience), queues: map[string]int{},
		silences: map[string]int{}, empties: map[string]int{}}
	if p.js, err = jetstream.New(nc); err == nil {
		err = p.makeStreams(ctx, o)
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	return p, nil
}

// addresses lists servers without the users, passwords and tokens of their URLs.
func addresses(servers []string) string {
	var list []string
	for _, server := range servers {
		if at := strings.LastIndex(server, "@"); at >= 0 {
			server = "nats://" + server[at+1:]
		}
		list = append(list, server)
	}
	return strings.Join(list, ", ")
}

// Close ends the connection. Accepted data stays.
func (p *Plane) Close() { p.nc.Close() }

func (p *Plane) makeStreams(ctx context.Context, o Options) error {
	replicas := o.Replicas
	if replicas == 0 {
		replicas = 3
		if p.nc.ConnectedClusterName() == "" {
			replicas = 1
		}
	}
	for _, s := range []struct {
		stream *jetstream.Stream
		config jetstream.StreamConfig
	}{
		{&p.jobs, jetstream.StreamConfig{
			Name: "SKILL_JOBS", Subjects: []string{"skill.jobs.*.*.*"},
			Retention: jetstream.WorkQueuePolicy, Duplicates: time.Hour,
			Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
			MaxMsgsPerSubject: int64(cmp.Or(o.Waiting, waiting)),
		}},
		{&p.runs, jetstream.StreamConfig{
			Name: "SKILL_RUNS", Subjects: []string{"skill.runs.*.*", "skill.ws.*.state"},
			AllowAtomicPublish: true, AllowRollup: true,
			// The messages of runs expire one by one, for a commit is atomic in one stream
			// only and the states of workspaces in it must not expire.
			AllowMsgTTL: true,
		}},
		{&p.blobs, jetstream.StreamConfig{
			Name: "SKILL_BLOBS", Subjects: []string{"skill.blobs.*.*"},
			Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1,
			AllowDirect: true,
		}},
	} {
		s.config.Storage, s.config.Replicas = jetstream.FileStorage, replicas
		err := p.reach(ctx, func(ctx context.Context) (err error) {
			*s.stream, err = p.js.Stream(ctx, s.config.Name)
			if errors.Is(err, jetstream.ErrStreamNotFound) {
				*s.stream, err = p.js.CreateStream(ctx, s.config)
			}
			if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // somebody else has just made it
				*s.stream, err = p.js.Stream(ctx, s.config.Name)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("making stream %s: %w", s.config.Name, err)
		}
	}
	return p.setQuota(ctx, o.Waiting)
}

// setQuota raises the quota of a queue that was made with a lower one. It never lowers it:
// other machines may need it.
func (p *Plane) setQuota(ctx context.Context, quota int) error {
	config := p.jobs.CachedInfo().Config
	p.quota = int(config.MaxMsgsPerSubject)
	if quota <= p.quota {
		return nil
	}
	p.quota, config.MaxMsgsPerSubject = quota, int64(quota)
	return p.reach(ctx, func(ctx context.Context) error {
		_, err := p.js.UpdateStream(ctx, config)
		return err
	})
}
