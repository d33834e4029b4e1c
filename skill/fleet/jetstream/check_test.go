package jetstream

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"textskill/testdata/needs"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	ports := needs.Ports(t, 2)
	o := ServerOptions{Dir: t.TempDir(), Monitor: ports[0], SyncLater: true}
	s, err := StartServer(o)
	must(t, err)
	c := &cluster{t: t}
	c.connectWith(Options{Servers: []string{s.URL()}})
	alone := fmt.Sprintf("http://127.0.0.1:%d/", ports[0])
	for _, test := range []struct {
		check Check
		want  []string // parts of the error; nil for no error
	}{
		{Check{Monitors: []string{alone}}, []string{"name the ports of all", "up to 2m0s of accepted steps",
			"cluster has 1 servers", "SKILL_RUNS has 1 copies"}},
		{Check{Monitors: []string{alone}, AcceptFew: true}, []string{"--accept-loss 2m0s"}},
		{Check{Monitors: []string{alone}, AcceptFew: true, AcceptLoss: time.Minute}, []string{"up to 2m0s"}},
		{Check{Monitors: []string{alone}, AcceptFew: true, AcceptLoss: 2 * time.Minute}, nil},
		{Check{Monitors: []string{fmt.Sprintf("http://127.0.0.1:%d", ports[1])}, AcceptFew: true},
			[]string{"http_port"}},
	} {
		_, err := test.check.Run(within(t))
		if (err == nil) != (test.want == nil) {
			t.Errorf("%+v: %v", test.check, err)
		}
		for _, want := range test.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v\nwithout %q", test.check, err, want)
			}
		}
	}
	s.Shutdown()

	cluster := startCluster(t, 3)
	cluster.connect()
	var all []string
	for _, o := range cluster.options {
		all = append(all, fmt.Sprintf("http://127.0.0.1:%d", o.Monitor))
	}
	report, err := Check{Monitors: all}.Run(within(t))
	if err != nil || len(report) != 3 || !strings.Contains(report[0], "before it accepts, cluster of 3") {
		t.Errorf("a good cluster: %q, %v", report, err)
	}
}

func TestNewEnough(t *testing.T) {
	for version, want := range map[string]bool{"2.11.9": false, "2.12.0": true, "2.15.2": true,
		"3.0.0-beta": true, "1.99": false, "": false, "2.9.0": false} {
		if newEnough(version) != want {
			t.Errorf("version %q: %v", version, !want)
		}
	}
}
