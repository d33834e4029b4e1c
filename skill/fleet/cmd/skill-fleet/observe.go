package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"textskill/skill/agent"
	"textskill/skill/agent/trace"
	"textskill/skill/fleet"
)

const (
	metricsEvery = 15 * time.Second
	metricsWait  = 3 * time.Second // timeout of the collector
)

// observer returns an observer that sends the spans and metrics of a worker to the collector of
// the environment. end sends the remaining metrics.
func (c *cli) observer() (o fleet.Observer, end func(), err error) {
	address, err := trace.Collector(c.getenv, "METRICS")
	if address == "" || err != nil {
		return o, func() {}, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(c.unsent)) // by default the SDK prints errors itself
	ctx := context.Background()
	out, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(address),
		otlpmetrichttp.WithTimeout(metricsWait))
	if err != nil {
		return o, func() {}, err
	}
	to := &exporter{Exporter: out}
	p := sdk.NewMeterProvider(sdk.WithResource(trace.Resource()),
		sdk.WithReader(sdk.NewPeriodicReader(to, sdk.WithInterval(metricsEvery),
			sdk.WithTimeout(metricsWait))))
	c.measure(&o, p.Meter("textskill/skill/fleet"))
	return o, func() {
		p.Shutdown(ctx) // its error is in to.failed
		c.unsent(to.failed)
	}, nil
}

// measure makes o count the runs and steps of a worker.
func (c *cli) measure(o *fleet.Observer, m metric.Meter) {
	ctx := context.Background()
	used, _ := m.Int64UpDownCounter("skill.fleet.slots.used") // only an invalid name is an error
	takeovers, _ := m.Int64Counter("skill.fleet.takeovers")
	steps, _ := m.Int64Counter("skill.fleet.steps")
	commit, _ := m.Float64Counter("skill.fleet.commit.seconds")
	runs, _ := m.Int64Gauge("skill.fleet.runs")
	waiting, _ := m.Int64Gauge("skill.fleet.waiting")
	o.Run = func(r fleet.Run, cfg *agent.Config) (func(agent.Event), func(error)) {
		used.Add(ctx, 1)
		if r.Lost > 0 {
			takeovers.Add(ctx, 1)
		}
		hear, ended := c.traced(r, cfg)
		return hear, func(failed error) {
			used.Add(ctx, -1)
			ended(failed)
		}
	}
	o.Stored = func(took time.Duration) {
		steps.Add(ctx, 1)
		commit.Add(ctx, took.Seconds())
	}
	status, tenants := map[string]int64{}, map[string]int64{}
	o.Listed = func(list []fleet.Run) {
		zero(status)
		zero(tenants)
		for _, r := range list {
			status[string(r.Status)]++
			if r.Status == fleet.Waiting {
				tenants[r.Tenant]++
			}
		}
		record(runs, "status", status)
		record(waiting, "tenant", tenants)
	}
}

// zero sets all numbers to 0.
func zero(numbers map[string]int64) {
	for key := range numbers {
		numbers[key] = 0
	}
}

// record sets a gauge to numbers. Their keys are the values of an attribute.
func record(g metric.Int64Gauge, attributeName string, numbers map[string]int64) {
	for key, n := range numbers {
		g.Record(context.Background(), n, metric.WithAttributes(attribute.String(attributeName, key)))
	}
}

// An exporter keeps the error of the last export. Otherwise the SDK prints each error.
type exporter struct {
	sdk.Exporter
	failed error
}

func (e *exporter) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	err := e.Exporter.Export(ctx, m)
	if address, ok := errors.AsType[*url.Error](err); ok {
		err = address.Err // without the address, which may have a key
	}
	if e.failed = err; err != nil {
		e.failed = fmt.Errorf("cannot send the metrics: %w", err)
	}
	return nil
}

// traced sends the spans of a run, in the trace of its submitter. MCP servers receive the trace
// with each call of the run.
func (c *cli) traced(r fleet.Run, cfg *agent.Config) (hear func(agent.Event), end func(error)) {
	spans, err := trace.New(c.getenv, *cfg)
	if spans == nil || err != nil {
		c.unsent(err)
		return func(agent.Event) {}, func(error) {}
	}
	spans.Continue(r.Trace)
	cfg.Traceparent = spans.Traceparent
	return spans.Event, func(failed error) { c.unsent(spans.Close(failed)) }
}

// unsent prints why spans or metrics were not sent.
func (c *cli) unsent(err error) {
	if err != nil {
		fmt.Fprintln(c.stderr, "skill-fleet:", err)
	}
}
