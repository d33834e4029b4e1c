package trace

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A reporter makes spans and sends them, every few seconds and at its end. It is safe for
// concurrent use.
type reporter struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	to       *exporter
}

// newReporter returns a reporter of a package below skill, which sends to the collector that
// the variables name; nil if they name none.
func newReporter(getenv func(string) string, scope string,
	options ...sdk.TracerProviderOption) (*reporter, error) {
	to, err := newExporter(getenv)
	if to == nil || err != nil {
		return nil, err
	}
	otel.SetErrorHandler(to) // the SDK would print
	provider := sdk.NewTracerProvider(append(options, sdk.WithResource(Resource()),
		sdk.WithBatcher(to, sdk.WithExportTimeout(maxWait)))...)
	return &reporter{provider, provider.Tracer("textskill/skill/" + scope), to}, nil
}

// end ends a span at a time, now if that is zero. The error is that of a span that failed.
func (r *reporter) end(s trace.Span, at time.Time, failed bool, errorType string,
	attributes ...attribute.KeyValue) {
	s.SetAttributes(attributes...)
	if failed {
		s.SetAttributes(attribute.String("error.type", errorType))
		s.SetStatus(codes.Error, "")
	}
	if s.IsRecording() {
		r.to.unsent.Add(1)
	}
	s.End(trace.WithTimestamp(at))
}

// Close sends what was not sent before. Its error is that spans could not be sent.
func (r *reporter) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*maxWait) // also after an interrupt
	defer cancel()
	if err := r.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("the spans cannot be sent: %w", err)
	}
	err := r.to.failed
	if n := r.to.unsent.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("lost spans: %d", n))
	}
	if wrong := r.to.wrong.Load(); wrong != nil {
		err = errors.Join(*wrong, err)
	}
	return err
}

const (
	maxWait  = 3 * time.Second // for the collector
	maxSpans = 4096            // that are kept for a collector that does not take them
)

// An exporter sends spans as OTLP in JSON over HTTP. One goroutine at a time uses it, but for
// what is atomic.
type exporter struct {
	url    string
	header http.Header

	kept   []sdk.ReadOnlySpan    // that could not be sent yet
	failed error                 // why; nil if there are none
	unsent atomic.Int64          // spans that ended and were not sent
	wrong  atomic.Pointer[error] // what the SDK finds wrong with other variables
}

// Collector returns the address to which a signal is sent, TRACES or METRICS, as the variables
// have it by the specification of OpenTelemetry; "" if they name none.
func Collector(getenv func(string) string, signal string) (address string, err error) {
	address = getenv("OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT")
	if base := getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); address == "" && base != "" {
		address = strings.TrimRight(base, "/") + "/v1/" + strings.ToLower(signal)
	}
	if address == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return "", nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", errors.New("OTEL_EXPORTER_OTLP_ENDPOINT is not an address like http://localhost:4318")
	}
	return address, nil
}

// Resource returns what sends signals, as the variables of the process have it.
func Resource() *resource.Resource {
	r, err := resource.New(context.Background(),
		resource.WithAttributes(attribute.String("service.name", "skill")),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		otel.Handle(fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err))
	}
	return r
}

func newExporter(getenv func(string) string) (*exporter, error) {
	address, err := Collector(getenv, "TRACES")
	if address == "" || err != nil {
		return nil, err
	}
	e := &exporter{url: address, header: http.Header{"Content-Type": {"application/json"}}}
	for _, pair := range strings.Split(cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS"),
		getenv("OTEL_EXPORTER_OTLP_HEADERS")), ",") {
		name, value, ok := strings.Cut(pair, "=")
		if value, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil {
			e.header.Set(strings.TrimSpace(name), value)
		}
	}
	return e, nil
}

// Handle keeps the first error that the SDK has no other place for.
func (e *exporter) Handle(err error) { e.wrong.CompareAndSwap(nil, &err) }

// ExportSpans sends spans. Those that cannot be sent are sent with the next ones; Close tells
// what became of them.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	e.kept = append(e.kept, spans...)
	e.kept = e.kept[max(len(e.kept)-maxSpans, 0):]
	refused, err := e.send(ctx, e.kept)
	switch {
	case err == nil:
		e.unsent.Add(-int64(len(e.kept)))
		e.kept = nil
	case refused:
		e.kept = nil
	}
	e.failed = err
	return nil
}

// Shutdown does nothing: the SDK has given all spans before.
func (e *exporter) Shutdown(context.Context) error { return nil }

// A span is one as OTLP has it in JSON.
type span struct {
	TraceID    trace.TraceID  `json:"traceId"`
	SpanID     trace.SpanID   `json:"spanId"`
	ParentID   trace.SpanID   `json:"parentSpanId,omitzero"`
	Links      []link         `json:"links,omitempty"`
	Name       string         `json:"name"`
	Kind       trace.SpanKind `json:"kind"`
	Start      int64          `json:"startTimeUnixNano,string"`
	End        int64          `json:"endTimeUnixNano,string"`
	Attributes []pair         `json:"attributes"`
	Status     *status        `json:"status,omitempty"`
}

// A link is to a span that is not a parent.
type link struct {
	TraceID trace.TraceID `json:"traceId"`
	SpanID  trace.SpanID  `json:"spanId"`
}

type pair struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

type status struct {
	Code int `json:"code"` // 2 is an error
}

func otlpSpan(s sdk.ReadOnlySpan) span {
	o := span{
		TraceID: s.SpanContext().TraceID(), SpanID: s.SpanContext().SpanID(), ParentID: s.Parent().SpanID(),
		Name: s.Name(), Kind: s.SpanKind(),
		Start: s.StartTime().UnixNano(), End: s.EndTime().UnixNano(), Attributes: pairs(s.Attributes()),
	}
	for _, l := range s.Links() {
		o.Links = append(o.Links, link{l.SpanContext.TraceID(), l.SpanContext.SpanID()})
	}
	if s.Status().Code == codes.Error {
		o.Status = &status{2}
	}
	return o
}

func pairs(attributes []attribute.KeyValue) []pair {
	list := make([]pair, len(attributes))
	for i, a := range attributes {
		value := map[string]any{"stringValue": a.Value.String()}
		if a.Value.Type() == attribute.INT64 {
			value = map[string]any{"intValue": a.Value.String()}
		}
		list[i] = pair{string(a.Key), value}
	}
	return list
}

// send sends spans, which are of one reporter. refused says that the same would be refused again.
func (e *exporter) send(ctx context.Context, spans []sdk.ReadOnlySpan) (refused bool, err error) {
	list := make([]span, len(spans))
	for i, s := range spans {
		list[i] = otlpSpan(s)
	}
	type m = map[string]any
	body, err := json.Marshal(m{"resourceSpans": []m{{
		"resource":   m{"attributes": pairs(spans[0].Resource().Attributes())},
		"scopeSpans": []m{{"scope": m{"name": spans[0].InstrumentationScope().Name}, "spans": list}},
	}}})
	if err != nil {
		return true, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return true, err
	}
	request.Header = e.header
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the address, which may hold a key
		}
		return false, fmt.Errorf("the spans cannot be sent: %w", err)
	}
	resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return resp.StatusCode/100 == 4 && resp.StatusCode != http.StatusTooManyRequests,
			fmt.Errorf("the spans are refused: status %d", resp.StatusCode)
	}
	return false, nil
}
