// Package jetstream implements [fleet.Plane] with NATS JetStream. [StartServer] runs a NATS server
// in this process, and [Check] finds settings with which a cluster may lose accepted data.
//
// Rules:
//
//  1. Three streams store everything: SKILL_RUNS the states and events, SKILL_JOBS the queue,
//     SKILL_BLOBS packs and manifests. States and events of runs expire after 30 days.
//  2. A commit is one atomic batch in SKILL_RUNS. The server accepts a state only if the last
//     message of its subject is at the expected revision.
//  3. While servers are lost, an operation retries until ctx is done. Requests, which a worker
//     may have carried out, are sent once.
//  4. Reads that must be current ask the leader of a stream, because a replica may lag.
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

// Options say how to reach a cluster, and how to make its streams. Only Servers is required.
type Options struct {
	Servers  []string      // URLs; one server must answer
	Creds    string        // a file with credentials; "" for none
	Closed   bool          // refuse a server that does not ask for a login
	Name     string        // of this connection in the servers' lists
	Replicas int           // copies of each stream; 0 means 3, or 1 for a server without a cluster
	Patience time.Duration // 0 means [fleet.Patience]
	// Waiting is the quota: the most jobs of a tenant, class and place, in the queue or with a
	// worker. It never lowers the quota of an existing queue. 0 means 50.
	Waiting int
}

// waiting is the default quota.
const waiting = 50

// keepTime is how long the servers keep a state or an event of a run.
const keepTime = 30 * 24 * time.Hour

// A Plane is a connection to a cluster. The caller closes it.
type Plane struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	patience time.Duration

	jobs, runs, blobs jetstream.Stream
	quota             int

	mu       sync.Mutex
	silences map[string]int // by subject: requests for a job in a row without an answer
	empties  map[string]int // by subject: requests in a row without a job, though it has jobs
	queues   map[string]int // by subject with a consumer: the consumer's quota; 0 for none
}

var _ fleet.Plane = (*Plane)(nil)

// Connect connects to a cluster and makes the streams that it lacks.
func Connect(ctx context.Context, o Options) (*Plane, error) {
	opts := []nats.Option{
		nats.Name(o.Name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		// Without a buffer, nothing is sent late: the caller retries if it still wants to.
		nats.ReconnectBufSize(-1),
		nats.PingInterval(5 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // the default prints to stderr
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
			return nil, fmt.Errorf("%s: a URL is malformed; in a password, write / as %%2F, @ as %%40 "+
				"and : as %%3A", addresses(o.Servers))
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

// addresses lists servers, without users, passwords and tokens.
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

// Close ends the connection. The servers keep accepted data.
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
			// A commit is atomic in one stream only, so the stream also has the states of
			// workspaces. They must not expire: each message of a run has its own expiry.
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
			if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process has just made it
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

// setQuota raises the quota of an existing queue. It never lowers the quota, because other
// machines may need it.
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
