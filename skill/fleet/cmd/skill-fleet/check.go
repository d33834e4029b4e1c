package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/skill/fleet/jetstream"
)

const checkLong = `check asks each server, on its monitoring port, whether accepted steps are safe there. The
fleet needs three servers with JetStream, three copies of each stream, and the setting
sync_interval: always. Without that setting, a power cut of all servers loses up to two
minutes of accepted steps. If something is missing, check says what to change and exits
with 1.`

func (c *cli) checkCommand(o *options) *cobra.Command {
	var check jetstream.Check
	cmd := &cobra.Command{
		Use:     "check [flags]",
		Short:   "Check whether the servers can lose accepted steps",
		Long:    checkLong,
		Example: "  skill-fleet check --nats nats://n1,nats://n2,nats://n3\n  skill-fleet check --accept-loss 2m",
		Args:    usage.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.failed(c.check(cmd.Context(), o, check))
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&check.Monitors, "monitor", nil,
		"ask the monitoring port `URL`; may be repeated (default port 8222 of each server of --nats)")
	f.DurationVar(&check.AcceptLoss, "accept-loss", 0,
		"accept that a power cut of all servers loses the steps of the last `TIME`, like 2m")
	f.BoolVar(&check.AcceptFew, "accept-few", false,
		"accept fewer than three servers and copies, to try things out")
	return cmd
}

func (c *cli) check(ctx context.Context, o *options, check jetstream.Check) error {
	if check.AcceptLoss < 0 {
		return fmt.Errorf("--accept-loss %v: it must not be negative", check.AcceptLoss)
	}
	for _, monitor := range check.Monitors {
		if u, err := url.Parse(monitor); err != nil || u.Host == "" || u.Scheme != "http" &&
			u.Scheme != "https" {
			return fmt.Errorf("--monitor %s is not a URL like http://n1:8222", monitor)
		} else if u.User != nil {
			return fmt.Errorf("--monitor %s has a login, which every user of this machine sees in the list of processes; leave it out",
				u.Redacted())
		}
	}
	if check.Monitors == nil {
		hosts, err := o.hosts()
		if err != nil {
			return err
		}
		for _, host := range hosts {
			check.Monitors = append(check.Monitors, "http://"+net.JoinHostPort(host, "8222"))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	report, err := check.Run(ctx)
	for _, line := range report {
		fmt.Fprintln(c.stdout, line)
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			fmt.Fprintln(c.stderr, "skill-fleet:", err)
		}
		return exit(exitFailed)
	}
	if err == nil {
		fmt.Fprintln(c.stdout, "The servers are safe for a fleet.")
	}
	return err
}
