package trace_test

import (
	"context"
	"log"
	"os"

	"textskill/skill/agent"
	"textskill/skill/agent/trace"
)

// A run is reported to the collector that the environment names, if it names one.
func ExampleRecorder() {
	var cfg agent.Config // of the run
	r, err := trace.New(os.Getenv, cfg)
	if err != nil || r == nil {
		return // r is nil without a collector
	}
	cfg.Traceparent = r.Traceparent
	var failed error
	for e, err := range agent.Run(context.Background(), cfg, "the query") {
		if failed = err; err == nil {
			r.Event(e)
		}
	}
	if err := r.Close(failed); err != nil {
		log.Print(err)
	}
}
