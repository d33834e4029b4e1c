package jetstream

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"textskill/skill/fleet"
)

const (
	// poll is how often a worker looks for jobs without an announcement: returned jobs, or
	// jobs whose announcement was lost.
	poll = time.Second
	// maxSilent is how many requests in a row a consumer may leave without an answer before it
	// is recreated. After a restart of all servers, 1 of 12 consumers kept counting deliveries
	// that no worker received (NATS 2.15.2).
	maxSilent = 4
	// lookAfter is how many requests in a row may find no job in a subject that has jobs. Then
	// the plane looks for lost jobs. Usually other workers have the jobs.
	lookAfter = 8
	// announced is the topic on which Queue announces a job.
	announced = "skill.queued"
)

// jobSubject returns the queue of a run: the subject of its tenant, class and place.
func jobSubject(r fleet.Run) (string, error) {
	class, place := "normal", "any"
	if r.Urgent {
		class = "urgent"
	}
	switch {
	case r.Pin != "":
		place = "worker-" + r.Pin
	case r.Label != "":
		place = "label-" + r.Label
	}
	return subject("skill.jobs.%.%.%", r.Tenant, class, place)
}

// consumerOf returns the name of a subject's consumer. NATS allows 255 letters and digits.
func consumerOf(subj string) string {
	sum := sha256.Sum256([]byte(subj))
	return hex.EncodeToString(sum[:16])
}

// consumer makes the consumer of a subject if it is missing, or sets its quota. A quota of 0 does
// not change an existing consumer; a new one has no limit then.
func (p *Plane) consumer(ctx context.Context, subj string, quota int) error {
	p.mu.Lock()
	set, known := p.queues[subj]
	p.mu.Unlock()
	if known && (quota == 0 || quota == set) {
		return nil
	}
	err := p.reach(ctx, func(ctx context.Context) error {
		config := jetstream.ConsumerConfig{
			Durable: consumerOf(subj), FilterSubject: subj, AckPolicy: jetstream.AckExplicitPolicy,
			AckWait: p.patience, MaxDeliver: -1, MaxAckPending: cmp.Or(quota, -1),
		}
		if quota > 0 {
			_, err := p.jobs.CreateOrUpdateConsumer(ctx, config)
			return err
		}
		_, err := p.jobs.CreateConsumer(ctx, config)
		if errors.Is(err, jetstream.ErrConsumerExists) {
			return nil
		}
		return err
	})
	if err == nil {
		p.mu.Lock()
		p.queues[subj] = quota
		p.mu.Unlock()
	}
	return err
}

// noteSilence counts requests that the consumer of a subject did not answer. After [maxSilent] in
// a row it recreates the consumer. The new consumer delivers all unacknowledged jobs again;
// workers ignore a job whose run another worker holds.
func (p *Plane) noteSilence(ctx context.Context, subj string, silent bool) {
	p.mu.Lock()
	p.silences[subj]++
	if !silent || p.silences[subj] > maxSilent {
		p.silences[subj] = 0
	}
	broken := p.silences[subj] == maxSilent
	p.mu.Unlock()
	if broken {
		p.recreate(ctx, subj)
	}
}

// noteEmpty counts requests that found no job, though the subject has jobs. If the consumer has
// lost jobs at two looks in a row, noteEmpty recreates it.
func (p *Plane) noteEmpty(ctx context.Context, subj string, empty bool) {
	p.mu.Lock()
	p.empties[subj]++
	if !empty {
		p.empties[subj] = 0
	}
	n := p.empties[subj]
	p.mu.Unlock()
	if n%lookAfter != 0 || n == 0 {
		return
	}
	lost := p.hasLostJobs(ctx, subj)
	if lost && n < 2*lookAfter {
		return
	}
	p.mu.Lock()
	p.empties[subj] = 0
	p.mu.Unlock()
	if lost {
		p.recreate(ctx, subj)
	}
}

// recreate deletes the consumer of a subject. The next use makes it again.
func (p *Plane) recreate(ctx context.Context, subj string) {
	if p.jobs.DeleteConsumer(ctx, consumerOf(subj)) == nil {
		p.forget(subj)
	}
}

// hasLostJobs reports whether a subject has jobs that neither wait nor are with a worker.
func (p *Plane) hasLostJobs(ctx context.Context, subj string) bool {
	ctx, cancel := context.WithTimeout(ctx, oneTry)
	defer cancel()
	c, err := p.jobs.Consumer(ctx, consumerOf(subj))
	if err != nil || c.CachedInfo().NumPending > 0 || c.CachedInfo().NumAckPending > 0 {
		return false
	}
	found, err := subjects(ctx, p.jobs, subj)
	return err == nil && found[subj] > 0
}

// forget makes the next call of consumer ask the servers for the consumer of a subject.
func (p *Plane) forget(subj string) {
	p.mu.Lock()
	delete(p.queues, subj)
	p.mu.Unlock()
}

// Queue implements [fleet.Plane]. Jobs count against the quota until they are done.
func (p *Plane) Queue(ctx context.Context, r fleet.Run) error {
	subj, err := jobSubject(r)
	if err != nil {
		return err
	}
	if err := p.consumer(ctx, subj, 0); err != nil {
		return err
	}
	m := nats.NewMsg(subj)
	m.Data = []byte(r.ID)
	m.Header.Set(jetstream.MsgIDHeader, cryptorand.Text()) // a retry does not add a second job
	err = p.reach(ctx, func(ctx context.Context) error {
		_, err := p.publish(ctx, m)
		return err
	})
	if errors.Is(err, errFull) {
		return fleet.OverQuota(r.Tenant, p.quota)
	}
	if err == nil {
		_ = p.nc.Publish(announced, nil) // may be lost: workers also poll
	}
	return err
}

// Queued implements [fleet.Plane].
func (p *Plane) Queued(ctx context.Context, r fleet.Run) (map[string]bool, error) {
	queued := map[string]bool{}
	return queued, p.queue(ctx, r, func(_ context.Context, run string, _ uint64) error {
		queued[run] = true
		return nil
	})
}

// Unqueue implements [fleet.Plane].
func (p *Plane) Unqueue(ctx context.Context, r fleet.Run) error {
	return p.queue(ctx, r, func(ctx context.Context, run string, sequence uint64) (err error) {
		if run == r.ID {
			err = p.jobs.DeleteMsg(ctx, sequence)
		}
		if errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) { // a worker removes the job
			return nil
		}
		return err
	})
}

// queue calls visit with each job in the queue of r.
func (p *Plane) queue(ctx context.Context, r fleet.Run,
	visit func(ctx context.Context, run string, sequence uint64) error) error {
	subj, err := jobSubject(r)
	for next := uint64(1); err == nil; {
		err = p.reach(ctx, func(ctx context.Context) error {
			m, err := p.jobs.GetMsg(ctx, next, jetstream.WithGetMsgSubject(subj))
			if err == nil {
				err = visit(ctx, string(m.Data), m.Sequence)
			}
			if err == nil {
				next = m.Sequence + 1
			}
			return err
		})
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	return err
}

// Jobs implements [fleet.Plane]. It takes no job before Next.
func (p *Plane) Jobs(ctx context.Context, w fleet.Worker) (fleet.Jobs, error) {
	j := &jobs{plane: p, places: map[string]bool{"any": true}, quotas: map[string]int{},
		news: make(chan bool, 1)}
	mine, err := token("worker-" + w.Name)
	if err != nil {
		return nil, err
	}
	j.places[mine] = true
	for _, label := range w.Labels {
		place, err := token("label-" + label)
		if err != nil {
			return nil, err
		}
		j.places[place] = true
	}
	for tenant, quota := range w.Quotas {
		t, err := token(tenant)
		if err != nil {
			return nil, err
		}
		j.quotas[t] = quota
	}
	j.sub, err = p.nc.Subscribe(announced, func(*nats.Msg) {
		select {
		case j.news <- true:
		default:
		}
	})
	if err != nil {
		return nil, err
	}
	return j, nil
}

// jobs are the jobs that one worker may take.
type jobs struct {
	plane  *Plane
	places map[string]bool // tokens of places
	quotas map[string]int  // by the token of a tenant
	news   chan bool       // a job was queued
	sub    *nats.Subscription
}

func (j *jobs) Close() { _ = j.sub.Unsubscribe() }

// Next implements [fleet.Jobs].
func (j *jobs) Next(ctx context.Context) (fleet.Job, error) {
	for {
		for _, subj := range j.subjects(ctx) {
			job, err := j.take(ctx, subj)
			if err != nil || job != nil {
				return job, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-j.news:
		case <-time.After(poll/2 + rand.N(poll)):
		}
	}
}

// subjects returns the subjects that have jobs for the worker: urgent subjects first, tenants in
// random order. It returns nil while no server answers.
func (j *jobs) subjects(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, oneTry)
	defer cancel()
	found, err := subjects(ctx, j.plane.jobs, "skill.jobs.>")
	if err != nil {
		return nil
	}
	var list []string
	full := j.full(ctx, found)
	for subj := range found {
		if j.places[part(subj, 4)] && !full[part(subj, 2)] {
			list = append(list, subj)
		}
	}
	rand.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
	slices.SortStableFunc(list, func(a, b string) int {
		return strings.Compare(part(b, 3), part(a, 3)) // urgent, normal
	})
	return list
}

// full returns the tenants whose quota is used up. The server enforces a quota for one consumer
// only, so full counts the jobs of tenants with several consumers. Two workers that ask at once
// may still exceed the quota by one.
func (j *jobs) full(ctx context.Context, found map[string]uint64) map[string]bool {
	queues := map[string][]string{}
	for subj := range found {
		queues[part(subj, 2)] = append(queues[part(subj, 2)], subj)
	}
	full := map[string]bool{}
	for tenant, quota := range j.quotas {
		if quota == 0 || len(queues[tenant]) < 2 {
			continue
		}
		busy := 0
		for _, subj := range queues[tenant] {
			if c, err := j.plane.jobs.Consumer(ctx, consumerOf(subj)); err == nil {
				busy += c.CachedInfo().NumAckPending
			}
		}
		full[tenant] = busy >= quota
	}
	return full
}

// part returns a token of a subject.
func part(subj string, n int) string { return strings.Split(subj, ".")[n] }

// take asks for one job of a subject. It returns nil if there is no job now.
func (j *jobs) take(ctx context.Context, subj string) (fleet.Job, error) {
	if err := j.plane.consumer(ctx, subj, j.quotas[part(subj, 2)]); err != nil {
		return nil, err
	}
	// If this side stopped waiting first, a delivered job would be lost until the patience is
	// over. So the server's timeout is much shorter. The answer has its own inbox, because some
	// jobs sent to the shared inbox of requests never arrived.
	once, cancel := context.WithTimeout(context.WithoutCancel(ctx), oneTry)
	defer cancel()
	inbox := nats.NewInbox()
	sub, err := j.plane.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, nil
	}
	defer sub.Unsubscribe()
	if err := j.plane.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.SKILL_JOBS."+consumerOf(subj), inbox,
		[]byte(`{"batch":1,"no_wait":true,"expires":250000000}`)); err != nil {
		return nil, nil
	}
	m, err := sub.NextMsgWithContext(once)
	j.plane.noteSilence(ctx, subj, errors.Is(err, context.DeadlineExceeded))
	if errors.Is(err, nats.ErrNoResponders) {
		j.plane.forget(subj) // another process may have removed the consumer
	}
	if err != nil { // the servers may be electing a leader
		return nil, nil
	}
	j.plane.noteEmpty(ctx, subj, m.Reply == "")
	if m.Reply == "" {
		return nil, nil
	}
	job := &job{plane: j.plane, run: string(m.Data), reply: m.Reply}
	if ctx.Err() != nil {
		_ = job.answer(once, "-NAK")
		return nil, ctx.Err()
	}
	return job, nil
}

type job struct {
	plane *Plane
	run   string
	reply string // the subject for acknowledgements
}

func (j *job) Run() string    { return j.run }
func (j *job) Working() error { return j.plane.send(j.reply, []byte("+WPI")) }

func (j *job) Done(ctx context.Context) error { return j.answer(ctx, "+ACK") }

func (j *job) Later(ctx context.Context, d time.Duration) error {
	return j.answer(ctx, fmt.Sprintf(`-NAK {"delay": %d}`, d.Nanoseconds()))
}

// answer acknowledges a job. It returns after the server has stored the acknowledgement. It gives
// up after the patience, when the server delivers the job again anyway.
func (j *job) answer(ctx context.Context, ack string) error {
	ctx, cancel := context.WithTimeout(ctx, j.plane.patience)
	defer cancel()
	return j.plane.reach(ctx, func(ctx context.Context) error {
		_, err := j.plane.nc.RequestWithContext(ctx, j.reply, []byte(ack))
		return err
	})
}
