package trace

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Metrics sends numbers to a collector, every 15 seconds. It is safe for concurrent use.
type Metrics struct {
	to      *exporter
	began   time.Time
	mu      sync.Mutex
	points  map[string]*point // by name and attributes
	failed  error             // of the last sending
	stop    chan struct{}
	stopped chan struct{}
}

// metricsEvery is how often metrics are sent.
const metricsEvery = 15 * time.Second

// point is a number under a name.
type point struct {
	name       string
	sum        bool // of all that was added since the start; else a number that goes up and down
	attributes []pair
	value      float64
}

// NewMetrics returns Metrics that send to the collector which the variables name; nil if
// they name none. The caller closes them.
func NewMetrics(getenv func(string) string) (*Metrics, error) {
	to, err := newExporter(getenv, "METRICS")
	if to == nil || err != nil {
		return nil, err
	}
	m := &Metrics{to: to, began: time.Now(), points: map[string]*point{}, stop: make(chan struct{}), stopped: make(chan struct{})}
	go m.work()
	return m, nil
}

// Add adds to a sum. pairs are the names and values of its attributes.
func (m *Metrics) Add(name string, n float64, pairs ...string) { m.change(name, true, n, pairs) }

// Up adds to a number that goes up and down.
func (m *Metrics) Up(name string, n float64, pairs ...string) { m.change(name, false, n, pairs) }

func (m *Metrics) change(name string, sum bool, n float64, pairs []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.point(name, sum, pairs).value += n
}

// Set replaces all numbers of a name by these, whose attribute is the key.
func (m *Metrics) Set(name, attribute string, values map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.points {
		if p.name == name {
			p.value = 0
		}
	}
	for key, n := range values {
		m.point(name, false, []string{attribute, key}).value = float64(n)
	}
}

// point returns the number of a name and attributes. m.mu is held.
func (m *Metrics) point(name string, sum bool, pairs []string) *point {
	key := name + "\x00" + strings.Join(pairs, "\x00")
	p := m.points[key]
	if p == nil {
		p = &point{name: name, sum: sum}
		for i := 0; i+1 < len(pairs); i += 2 {
			p.attributes = append(p.attributes, pair{pairs[i], map[string]any{"stringValue": pairs[i+1]}})
		}
		m.points[key] = p
	}
	return p
}

func (m *Metrics) work() {
	defer close(m.stopped)
	tick := time.NewTicker(metricsEvery)
	defer tick.Stop()
	for open := true; open; {
		select {
		case <-tick.C:
		case <-m.stop:
			open = false
		}
		m.failed = m.send()
	}
}

// send sends all numbers as they are.
func (m *Metrics) send() error {
	type object = map[string]any
	now := strconv.FormatInt(time.Now().UnixNano(), 10)
	m.mu.Lock()
	var list []object
	for _, key := range slices.Sorted(maps.Keys(m.points)) {
		p := m.points[key]
		data := object{"dataPoints": []object{{"attributes": append([]pair{}, p.attributes...), "startTimeUnixNano": strconv.FormatInt(m.began.UnixNano(), 10), "timeUnixNano": now, "asDouble": p.value}}}
		kind := "gauge"
		if p.sum {
			kind, data["aggregationTemporality"], data["isMonotonic"] = "sum", 2, true // 2 is cumulative
		}
		list = append(list, object{"name": p.name, kind: data})
	}
	m.mu.Unlock()
	if list == nil {
		return nil
	}
	body, err := json.Marshal(object{"resourceMetrics": []object{{
		"resource":     object{"attributes": pairs(about().Attributes())},
		"scopeMetrics": []object{{"scope": object{"name": "textskill/skill/fleet"}, "metrics": list}},
	}}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	return m.to.post(ctx, "metrics", body)
}

// Close sends the numbers as they are. Its error is that they could not be sent.
func (m *Metrics) Close() error {
	close(m.stop)
	<-m.stopped
	return m.failed
}
