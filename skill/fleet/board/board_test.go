package board_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"textskill/skill/fleet"
	"textskill/skill/fleet/board"
	"textskill/skill/fleet/jetstream"
	"textskill/skill/page"
)

// connect returns a plane of a server that ends with the test.
func connect(t *testing.T) *jetstream.Plane {
	t.Helper()
	s, err := jetstream.StartServer(jetstream.ServerOptions{Dir: t.TempDir(), SyncLater: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	p, err := jetstream.Connect(t.Context(), jetstream.Options{Servers: []string{s.URL()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// calls returns an expert's event: a tool call with a text.
func calls(step int, text string) fleet.Event {
	data := fmt.Appendf(nil, `{"type":"callTool","runId":"one","stepNumber":%d,"toolCall":{"id":"t","toolName":"write","args":{"text":%q}}}`, step, text)
	return fleet.Event{Kind: fleet.Agent, Time: time.Now(), Step: step, Agent: data}
}

func commit(t *testing.T, p fleet.Plane, r *fleet.Run, events ...fleet.Event) {
	t.Helper()
	r.Updated = time.Now()
	if err := p.Commit(t.Context(), fleet.Batch{Run: r, Events: events}); err != nil {
		t.Fatal(err)
	}
}

func TestBoardShowsARunAndItsTakeover(t *testing.T) {
	p := connect(t)
	b := board.Of(p, "")
	defer b.Close()
	r := fleet.Run{ID: "one", Tenant: "t", Workspace: "one", Expert: "e", Query: "do it",
		Status: fleet.Running, Worker: "w1", Epoch: 1, Step: 1, Cost: 0.25}
	large := calls(1, strings.Repeat("x", 700<<10))
	sum := sha256.Sum256(large.Agent)
	large.Blob = hex.EncodeToString(sum[:])
	if err := fleet.EventBlobs(p, "one").Put(t.Context(), large.Blob, large.Agent); err != nil {
		t.Fatal(err)
	}
	large.Agent = nil
	commit(t, p, &r, fleet.Event{Kind: fleet.Claimed, Text: "worker w1 begins"}, large)
	s, events, before, err := b.Run(t.Context(), "one", 100)
	if err != nil || before != 0 || len(events) != 2 ||
		s.Holder != "w1" || !s.Live || s.Cost != "$0.2500" {
		t.Fatalf("%+v, %d events, %d before, %v", s, len(events), before, err)
	}
	if e := events[1]; e.What != "calls write" || len(e.Text) < 8<<10 || len(e.Text) > 16<<10 {
		t.Errorf("the large event is %q with %d bytes", e.What, len(e.Text))
	}

	live, err := json.Marshal(fleet.Event{Kind: fleet.Words, Text: "let me see"})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // live events may be lost
		if err := p.Tell(fleet.Live+"one", live); err != nil {
			t.Fatal(err)
		}
		if _, events, _, err = b.Run(t.Context(), "one", 100); err != nil {
			t.Fatal(err)
		}
		if len(events) == 3 && strings.HasPrefix(events[2].Words, "let me see") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the model's words are not shown: %+v", events)
		}
	}

	for _, text := range []string{"first", "second"} {
		live, err := json.Marshal(calls(2, text))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Tell(fleet.Live+"one", live); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(time.Minute); len(events) < 4; time.Sleep(time.Millisecond) {
		if _, events, _, err = b.Run(t.Context(), "one", 100); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatalf("the calls after the words are not shown: %+v", events)
		}
	}
	if events[2].ID == events[3].ID {
		t.Errorf("two events have the ID %s", events[2].ID)
	}

	r.Worker, r.Epoch = "w2", 2
	const takeover = "worker w1 lost, continued on w2 from step 1"
	commit(t, p, &r, fleet.Event{Kind: fleet.Claimed, Text: takeover}, calls(2, "short"))
	s, events, _, err = b.Run(t.Context(), "one", 100)
	if err != nil || len(events) != 4 || events[2].What != takeover || s.Holder != "w2" {
		t.Errorf("%+v, %+v, %v", s, events, err)
	}
	r.Status, r.Reason = fleet.Failed, "the model failed"
	commit(t, p, &r, fleet.Event{Kind: fleet.Ended, Text: "failed after step 1: the model failed"})
	s, events, before, err = b.Run(t.Context(), "one", 2)
	if err != nil || s.Live || !s.Failed ||
		s.Problem != r.Reason || len(events) != 2 || before != 3 ||
		!events[1].Failed {
		t.Errorf("%+v, %+v, %d before, %v", s, events, before, err)
	}
	if _, _, _, err := b.Run(t.Context(), "two", 2); err == nil {
		t.Error("a run that does not exist is shown")
	}
}

// TestBoardIsBounded looks at many runs, and at a run with many events.
func TestBoardIsBounded(t *testing.T) {
	p := connect(t)
	b := board.Of(p, "t")
	defer b.Close()
	const many = 500
	for i := range many {
		commit(t, p, &fleet.Run{ID: fmt.Sprint("r", i), Tenant: "t", Status: fleet.Waiting})
	}
	other := fleet.Run{ID: "other", Tenant: "u", Status: fleet.Waiting}
	commit(t, p, &other)
	list, more, err := b.List(t.Context(), 10)
	if err != nil || len(list) != 10 || more != many-10 || list[0].ID != fmt.Sprint("r", many-1) {
		t.Errorf("%d runs, %d more, %v: %+v", len(list), more, err, list)
	}

	r := fleet.Run{ID: "long", Tenant: "t", Status: fleet.Running}
	var batch []fleet.Event
	for i := range 500 {
		batch = append(batch, calls(i, strings.Repeat("x", 1000)))
	}
	const batches = 20
	for range batches {
		commit(t, p, &r, batch...)
	}
	used := memory()
	for range 3 {
		_, events, before, err := b.Run(t.Context(), "long", 2000)
		if err != nil || len(events)+before != batches*len(batch) || len(events) > 1000 {
			t.Fatalf("%d events, %d before, %v", len(events), before, err)
		}
	}
	if now := memory(); now > used+16<<20 {
		t.Errorf("%d KB are kept of a run", (now-used)>>10)
	}
	for i := range 50 {
		if _, _, _, err := b.Run(t.Context(), fmt.Sprint("r", i), 10); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, _, err := b.Run(ctx, "long", 10); err == nil {
		t.Error("a client that is gone is answered")
	}
}

func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

var _ page.Runs = (*board.Board)(nil)
