package process

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestPatience has an hour pass between two looks, as for a machine that was stopped.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := patient(time.Second)
		if time.Sleep(time.Hour); p.over() {
			t.Error("it is over after a stop")
		}
		begin := time.Now()
		for !p.over() {
			time.Sleep(p.step())
		}
		if took := time.Since(begin); took != time.Second-patienceStep {
			t.Errorf("the rest of it was %v", took)
		}
	})
}

func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan int, 1)
		begin := time.Now()
		if _, ok := within(c, time.Second); ok || time.Since(begin) != time.Second {
			t.Errorf("received %v after %v", ok, time.Since(begin))
		}
		c <- 1
		if v, ok := within(c, 0); !ok || v != 1 {
			t.Error("what was there was not received")
		}
		time.AfterFunc(time.Minute, func() { close(c) })
		if _, ok := within(c, time.Hour); !ok {
			t.Error("the channel was closed")
		}
	})
}

// ended is a command that has ended.
type ended chan Ending

func (e ended) Done() <-chan Ending { return e }
func (ended) Stop()                 {}
func (ended) Kill()                 {}

// TestFollowSeesTheEndFirst reads late how a command has ended, when its time is over as well.
func TestFollowSeesTheEndFirst(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // a select takes any
		p := make(ended, 1)
		p <- Ending{Executed: Executed{ExitCode: 7}}
		e := follow(ctx, p, time.Now().Add(-time.Hour), time.Second, "x")
		if e.ExitCode != 7 || e.TimedOut || e.Cancelled {
			t.Fatalf("%+v", e)
		}
	}
}
