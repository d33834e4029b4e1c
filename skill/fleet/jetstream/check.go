package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// minVersion is the first version of NATS with atomic batches.
const minVersion = "2.12"

// servers is the size of the smallest cluster that survives the loss of a server.
const servers = 3

// A Check finds settings with which a cluster may lose accepted data.
type Check struct {
	Monitors   []string      // URLs of the servers' monitoring ports, such as http://n1:8222
	AcceptLoss time.Duration // a power cut of all servers may lose the data of this time
	AcceptFew  bool          // one server or one copy is enough
}

// Run asks each server, and returns a line about each. Its error joins all faults.
func (c Check) Run(ctx context.Context) (report []string, err error) {
	var wrong []error
	if len(c.Monitors) < servers && !c.AcceptFew {
		wrong = append(wrong, fmt.Errorf("%d monitoring ports are named, but the fleet needs %d servers; "+
			"name the ports of all servers with --monitor or --nats", len(c.Monitors), servers))
	}
	for _, monitor := range c.Monitors {
		s, err := inspect(ctx, monitor)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		report = append(report, fmt.Sprintf("%s: version %s, %s, cluster of %d", s.name, s.version,
			s.syncs(), s.size))
		for _, reason := range c.judge(s) {
			wrong = append(wrong, fmt.Errorf("%s: %s", s.name, reason))
		}
	}
	return report, errors.Join(wrong...)
}

// A serverState is the answer of a monitoring port.
type serverState struct {
	name, version string
	jetStream     bool
	syncAlways    bool
	syncInterval  time.Duration
	size          int            // servers in the cluster
	replicas      map[string]int // copies of the fleet's streams
}

func (s serverState) syncs() string {
	if s.syncAlways {
		return "writes to the disk before it accepts"
	}
	return "writes to the disk every " + s.syncInterval.String()
}

// judge returns the faults of a server.
func (c Check) judge(s serverState) (reasons []string) {
	if !s.jetStream {
		return []string{"JetStream is off; start it with a jetstream block in its configuration"}
	}
	if !newEnough(s.version) {
		reasons = append(reasons, fmt.Sprintf("version %s has no atomic batches; %s or later is needed",
			s.version, minVersion))
	}
	if !s.syncAlways && s.syncInterval > c.AcceptLoss {
		reasons = append(reasons, fmt.Sprintf("a power cut of all servers loses up to %s of accepted steps; "+
			"set sync_interval: always in its jetstream block, or type --accept-loss %[1]s", s.syncInterval))
	}
	if c.AcceptFew {
		return reasons
	}
	if s.size < servers {
		reasons = append(reasons,
			fmt.Sprintf("its cluster has %d servers; with fewer than %d, the fleet stops when one is lost",
				s.size, servers))
	}
	for stream, n := range s.replicas {
		if n < servers {
			reasons = append(reasons, fmt.Sprintf("stream %s has %d copies, fewer than %d; "+
				"run nats stream edit %[1]s --replicas %[3]d", stream, n, servers))
		}
	}
	return reasons
}

func newEnough(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, _ := strconv.Atoi(major)
	b, _ := strconv.Atoi(minor)
	return a > 2 || a == 2 && b >= 12
}

// inspect asks the monitoring port of a server.
func inspect(ctx context.Context, monitor string) (serverState, error) {
	var general struct {
		Name      string `json:"server_name"`
		Version   string `json:"version"`
		JetStream struct {
			Config *struct {
				SyncAlways   bool          `json:"sync_always"`
				SyncInterval time.Duration `json:"sync_interval"`
			} `json:"config"`
		} `json:"jetstream"`
	}
	var stored struct {
		Meta struct {
			Size int `json:"cluster_size"`
		} `json:"meta_cluster"`
		Accounts []struct {
			Streams []struct {
				Config struct {
					Name     string `json:"name"`
					Replicas int    `json:"num_replicas"`
				} `json:"config"`
			} `json:"stream_detail"`
		} `json:"account_details"`
	}
	monitor = strings.TrimSuffix(monitor, "/")
	if err := get(ctx, monitor+"/varz", &general); err != nil {
		return serverState{}, err
	}
	if err := get(ctx, monitor+"/jsz?accounts=true&streams=true&config=true", &stored); err != nil {
		return serverState{}, err
	}
	s := serverState{name: general.Name, version: general.Version, size: max(stored.Meta.Size, 1),
		replicas: map[string]int{}}
	if config := general.JetStream.Config; config != nil {
		s.jetStream, s.syncAlways, s.syncInterval = true, config.SyncAlways, config.SyncInterval
	}
	for _, account := range stored.Accounts {
		for _, stream := range account.Streams {
			if strings.HasPrefix(stream.Config.Name, "SKILL_") {
				s.replicas[stream.Config.Name] = stream.Config.Replicas
			}
		}
	}
	return s, nil
}

// get reads a page of a monitoring port.
func get(ctx context.Context, url string, v any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking a monitoring port: %w; set http_port in the configuration of the server, "+
			"and name a port other than 8222 with --monitor", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking a monitoring port: %s answers %s", url, response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 16<<20)).Decode(v); err != nil {
		return fmt.Errorf("asking a monitoring port: %s: %w", url, err)
	}
	return nil
}
