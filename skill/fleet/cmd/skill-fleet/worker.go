package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"textskill/internal/usage"
	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/agent/provider"
	"textskill/skill/fleet"
)

const workerLong = `worker takes runs and carries them out, each in a copy of its workspace. After SIGTERM it
finishes its current steps, gives the runs to other workers, and exits. After a second
SIGTERM it exits at once.

The model, its keys and its address come from this machine, never from a workspace:
--model, --provider or fleet.toml, and variables such as OPENAI_API_KEY and OPENAI_BASE_URL.
worker refuses a server that lets clients in without a login, unless you type --no-auth.

  [worker]
  name = "w1"
  slots = 16
  labels = ["gpu"]
  model = "gpt-5.1"

  [tenants.research]
  running = 20
  key-file = "/etc/skill/research.key"
  trust = true`

// slots is the default number of runs that a worker carries out at once.
const slots = 4

// addWorker adds the flags of a worker. They override fleet.toml.
func addWorker(f *pflag.FlagSet, w *workerSettings) {
	f.StringVar(&w.Name, "name", "",
		"call the worker `NAME`, unique in the fleet (default the name of the machine)")
	f.IntVar(&w.Slots, "slots", 0, fmt.Sprintf("carry out `N` runs at once (default %d)", slots))
	f.StringSliceVar(&w.Labels, "label", nil, "also take runs that need `LABEL`; may be repeated")
	f.StringVar(&w.Root, "root", "",
		"keep the copies of workspaces in skill-fleet-NAME below `DIR`, on a local disk")
	f.StringVar(&w.Model, "model", "", "use the model `NAME` (SKILL_MODEL)")
	f.StringVar(&w.Provider, "provider", "",
		"ask the model provider `NAME`: openai (any compatible endpoint), anthropic, google (default by the model)")
	f.BoolVar(&w.Network, "network", false, "let the tools of experts reach other machines")
}

// or returns the settings. Unset settings come from other.
func (w workerSettings) or(other workerSettings) workerSettings {
	w.Name, w.Slots, w.Root = cmp.Or(w.Name, other.Name), cmp.Or(w.Slots, other.Slots),
		cmp.Or(w.Root, other.Root)
	w.Model, w.Provider, w.Patience = cmp.Or(w.Model, other.Model), cmp.Or(w.Provider, other.Provider),
		other.Patience
	w.Network = w.Network || other.Network
	if w.Labels == nil {
		w.Labels = other.Labels
	}
	return w
}

func (c *cli) workerCommand(o *options) *cobra.Command {
	var flags workerSettings
	cmd := &cobra.Command{
		Use:     "worker [flags]",
		Short:   "Take runs and carry them out",
		Long:    workerLong,
		Example: "  skill-fleet worker --slots 16 --label gpu",
		Args:    usage.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := o.settings()
			if err != nil {
				return c.failed(err)
			}
			s.Worker = flags.or(s.Worker)
			return c.failed(c.work(cmd.Context(), o, s))
		},
	}
	addWorker(cmd.Flags(), &flags)
	o.addNoAuth(cmd.Flags())
	return cmd
}

// work runs a worker until ctx is done.
func (c *cli) work(ctx context.Context, o *options, s settings) error {
	cfg, err := c.workerConfig(&s)
	if err != nil {
		return err
	}
	p, err := o.connect(ctx, s, !o.noAuth)
	if err != nil {
		return err
	}
	defer p.Close()
	cfg.Plane = p
	cfg.Held = c.held(cfg)
	var sent func()
	if cfg.Observer, sent, err = c.observer(); err != nil {
		return err
	}
	defer sent()
	return fleet.Work(ctx, cfg)
}

// workerConfig returns the configuration of a worker, without the plane. It adds defaults to the
// settings.
func (c *cli) workerConfig(s *settings) (cfg fleet.WorkerConfig, err error) {
	w := &s.Worker
	if w.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			return cfg, err
		}
		w.Name, _, _ = strings.Cut(host, ".")
	}
	w.Slots = cmp.Or(w.Slots, slots)
	if w.Root == "" {
		state, err := c.stateDir()
		if err != nil {
			return cfg, err
		}
		w.Root = filepath.Join(state, "workspaces")
	}
	if err := w.check(); err != nil {
		return cfg, err
	}
	for _, label := range w.Labels {
		if err := fleet.CheckName("label", label); err != nil {
			return cfg, err
		}
	}
	cfg = fleet.WorkerConfig{
		Worker: fleet.Worker{Name: w.Name, Slots: w.Slots, Labels: w.Labels, Quotas: map[string]int{}},
		Root:   w.Root, Tenants: map[string]fleet.Tenant{}, Repeat: s.Repeat,
		// Only Linux has helpers.
		Executor: skill.Config{Helper: c.helper, Unfenced: c.helper == "", SnapshotBytes: -1,
			Secrets: []string{"NATS_URL", "NATS_CREDS"}, Network: w.Network, Subreaper: true},
		Say:   func(line string) { fmt.Fprintln(c.stderr, "skill-fleet:", line) },
		Model: func(cfg *agent.Config, p agent.Project) error { return c.setModel(cfg, *w, p) },
	}
	for name, t := range s.Tenants {
		if cfg.Tenants[name], err = s.tenant(name); err != nil {
			return cfg, err
		}
		if t.Running > 0 {
			cfg.Quotas[name] = t.Running
		}
	}
	cfg.Patience = s.patience()
	return cfg, errors.Join(fleet.CheckName("worker", w.Name),
		c.setModel(&agent.Config{}, *w, agent.Project{}), skill.Undumpable())
}

// setModel sets the model of a run from the settings of this machine.
func (c *cli) setModel(cfg *agent.Config, w workerSettings, p agent.Project) error {
	model := cmp.Or(w.Model, c.getenv("SKILL_MODEL"))
	if model == "" {
		return errors.New("no model is named; give one with --model, in fleet.toml or in SKILL_MODEL")
	}
	from, err := c.provider(w.Provider, model)
	if err != nil {
		return err
	}
	e := provider.Endpoint{Provider: from.Name, BaseURL: c.getenv(from.BaseURL), Model: model,
		Reasoning: p.ReasoningBudget}
	if name := c.firstSet(from); name != "" {
		e.Key = c.getenv(name)
	}
	if err := from.NoKey(w.Provider != ""); err != nil && e.Key == "" && e.BaseURL == "" {
		return err
	}
	e.TextTools = p.Provider.Tools == agent.TextTools
	if p.Temperature != nil {
		e.Temperature = *p.Temperature
	}
	prices, err := agent.ReadPrices(nil)
	if err != nil {
		return err
	}
	cfg.Model, err = provider.New(e)
	cfg.Getenv, cfg.Budget.Price = c.getenv, prices.Of(model)
	if e.Key != "" {
		cfg.Secrets = append(cfg.Secrets, e.Key)
	}
	cfg.About = agent.About{Provider: e.Provider, BaseURL: e.BaseURL, Model: e.Model,
		Temperature:   e.Temperature,
		ContextWindow: cmp.Or(p.Provider.ContextWindow, agent.ContextWindow(e.Model))}
	return err
}

// provider returns the provider with a name. Without a name it chooses the provider of the model.
func (c *cli) provider(name, model string) (provider.Provider, error) {
	switch {
	case name != "":
		return provider.Named(name)
	case c.getenv("OPENAI_BASE_URL") != "":
		return provider.Named(provider.OpenAI)
	}
	p, _ := provider.ByModel(model, c.firstSet)
	return p, nil
}

// firstSet returns the first environment variable that has a key of a provider, or "".
func (c *cli) firstSet(p provider.Provider) string {
	for _, name := range p.Keys {
		if c.getenv(name) != "" {
			return name
		}
	}
	return ""
}
