package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/skill/fleet"
	"textskill/skill/fleet/board"
	"textskill/skill/page"
)

const webLong = `web serves a page about the runs of the fleet. For each run the page shows its worker and its
events as they happen, including a change of the worker.

web prints an address with a token, which is new at each start. The page needs the token.
web does not encrypt. In a network that others use, forward a port with ssh -L.`

func (c *cli) webCommand(o *options) *cobra.Command {
	addr, tenant := "", ""
	var hosts []string
	cmd := &cobra.Command{
		Use:     "web [flags]",
		Short:   "Show the runs in a browser",
		Long:    webLong,
		Example: "  skill-fleet web --addr 127.0.0.1:3901",
		Args:    usage.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.failed(c.web(cmd.Context(), o, tenant, addr, hosts))
		},
	}
	f := cmd.Flags()
	f.StringVar(&addr, "addr", "127.0.0.1:0", "serve at `ADDR`; port 0 means any free port")
	f.StringSliceVar(&hosts, "host", nil, "also accept requests for the host `NAME`; may be repeated")
	f.StringVar(&tenant, "tenant", "", "show the runs of the tenant `NAME` only")
	return cmd
}

func (c *cli) web(ctx context.Context, o *options, tenant, addr string, accepted []string) error {
	hosts, err := o.hosts()
	wrong := page.CheckAddress(addr)
	if wrong != nil {
		wrong = fmt.Errorf("--addr: %w", wrong)
	}
	if err := errors.Join(fleet.CheckName("tenant", cmp.Or(tenant, "-")), err, wrong); err != nil {
		return err
	}
	p, _, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	b := board.Of(p, tenant)
	defer b.Close()
	servers := strings.Join(slices.Compact(slices.Sorted(slices.Values(hosts))), ", ")
	title := "Fleet at " + servers
	if tenant != "" {
		title = "Tenant " + tenant + " at " + servers
	}
	return page.Serve(ctx, page.Config{Title: title, Program: "skill-fleet", Begin: `submit EXPERT "QUERY"`,
		Token: rand.Text(), Hosts: accepted, ReadOnly: true, Runs: b}, addr, func(link string) {
		fmt.Fprintln(c.stdout, link)
		fmt.Fprintln(c.stderr, "skill-fleet: open this address in a browser; Ctrl-C ends the page")
	})
}
