package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/fleet/pack"
)

// open restores the workspace.
func (h *held) open(ctx context.Context) (err error) {
	dir, state := filepath.Join(h.dir, "workspace"), filepath.Join(h.dir, "state")
	if err := cmp.Or(os.MkdirAll(dir, 0o700), os.Mkdir(state, 0o700)); err != nil {
		return err
	}
	o := h.Tenants[h.run.Tenant].pack(steady{h.Plane.Blobs(h.ws.Name), h}, h.run.Pin != "")
	if h.ws.Manifest == "" {
		h.folder, err = pack.Open(o, dir)
	} else {
		h.folder, err = pack.Restore(ctx, o, h.ws.Manifest, dir)
		err = aboutKey(err, h.run.Tenant)
	}
	if err != nil {
		return err
	}
	cfg := h.Executor
	cfg.Dir, cfg.State = dir, state
	cfg.NoSync, cfg.KeepHelper = true, true // the plane keeps what lasts
	if h.x, err = skill.New(cfg); err != nil {
		return err
	}
	h.position, err = h.x.Position(ctx)
	return err
}

// pack returns how files of the tenant are stored. Those of a pinned run, which no other
// worker has to make room for, are limited by the manifest alone.
func (t Tenant) pack(b pack.Blobs, pinned bool) pack.Options {
	o := pack.Options{Blobs: b, Key: t.Key, Exclude: t.Exclude}
	if pinned {
		o.MaxBytes, o.MaxFiles = 8<<30, 1<<30 // as many as a manifest can have
	}
	return o
}

// aboutKey adds to an error about a missing key where a machine names it.
func aboutKey(err error, tenant string) error {
	if errors.Is(err, pack.ErrKey) {
		return fmt.Errorf("%w; key-file under [tenants.%s] in fleet.toml names it", err, tenant)
	}
	return err
}

// steady are blobs whose plane is waited for.
type steady struct {
	pack.Blobs
	h *held
}

func (s steady) Put(ctx context.Context, sum string, data []byte) error {
	return s.h.retry(ctx, func() error { return s.Blobs.Put(ctx, sum, data) })
}

func (s steady) Get(ctx context.Context, sum string) (data []byte, err error) {
	err = s.h.retry(ctx, func() error {
		data, err = s.Blobs.Get(ctx, sum)
		return err
	})
	return data, err
}

// snapshot stores the files of the workspace and returns the sum of their manifest. If it
// fails, the folder stores the same changes in its next snapshot.
func (h *held) snapshot(ctx context.Context) (manifest string, err error) {
	changed, err := h.changed(ctx)
	if err != nil {
		return "", err
	}
	return h.folder.Snapshot(ctx, changed, h.walk)
}

// changed returns the files that the history says have changed since the last call, and the
// run's records since then, which are not in it.
func (h *held) changed(ctx context.Context) ([]string, error) {
	result, err := h.x.Execute(ctx, &skill.Session{}, skill.History{After: h.position})
	if err != nil {
		return nil, err
	}
	paths := h.records
	h.records = nil
	changes := result.(skill.Changes)
	if len(changes.List) > 0 {
		h.position = []string{changes.List[0].ID} // the newest one
	}
	for _, e := range changes.List {
		if e.Command != "" || changes.Damaged > 0 {
			h.walk = true
		}
		for _, name := range append([]string{e.Path, e.From}, e.Paths...) {
			rel, err := filepath.Rel(h.x.Dir(), name)
			if name != "" && err == nil && filepath.IsLocal(rel) {
				paths = append(paths, filepath.ToSlash(rel))
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// configure returns how the run begins or goes on.
func (h *held) configure(ctx context.Context) (cfg agent.Config, query string, err error) {
	p, err := h.project(ctx)
	if err != nil {
		return cfg, "", err
	}
	tenant := h.Tenants[h.run.Tenant]
	cfg = agent.Config{Executor: h.x, Experts: p.Experts, Expert: h.run.Expert, MaxSteps: h.run.MaxSteps,
		Begin: h.begin, Note: h.note()}
	cfg.Recorded = func(path string) { h.records = append(h.records, path) }
	cfg.Budget.EqualCalls = 25
	if cfg.MaxSteps == 0 && p.MaxSteps != nil {
		cfg.MaxSteps = *p.MaxSteps
	}
	if p.MaxRetries != nil {
		cfg.MaxRetries = *p.MaxRetries
	}
	if p.Timeout != nil {
		cfg.Timeout = time.Duration(*p.Timeout) * time.Millisecond
	}
	cfg.Grant = func(needed []agent.Power) error {
		if tenant.Trust || len(needed) == 0 {
			return nil
		}
		return fmt.Errorf("the workspace wants %s, which worker %s does not grant tenant %s; trust = true under [tenants.%[3]s] in its fleet.toml does", needed[0], h.Name, h.run.Tenant)
	}
	cfg.Heard = func(text string) {
		h.Plane.Tell(Live+h.run.ID, encode(h.event(Event{Kind: Words, Text: text})))
	}
	if tenant.Trust {
		if cfg.Guide, err = h.read(ctx, "AGENTS.md"); err != nil {
			return cfg, "", err
		}
	}
	if err := h.Model(&cfg, p); err != nil {
		return cfg, "", fmt.Errorf("worker %s: %w", h.Name, err)
	}
	h.run.Model, h.price = cfg.About.Model, cfg.Budget.Price
	if h.run.Checkpoint == "" {
		cfg.RunID = h.run.ID
		return cfg, h.run.Query, nil
	}
	from, err := agent.Records{Executor: h.x}.Checkpoint(ctx, h.run.ID, h.run.Checkpoint)
	if err != nil {
		return cfg, "", fmt.Errorf("the checkpoint %s of step %d is not in the workspace: %w",
			h.run.Checkpoint, h.run.Step, err)
	}
	cfg.From = &from
	if cfg.MaxSteps > 0 {
		cfg.MaxSteps = max(cfg.MaxSteps-h.run.Step, 1)
	}
	return cfg, "", nil
}

// project reads the perstack.toml of the workspace.
func (h *held) project(ctx context.Context) (p agent.Project, err error) {
	text, err := h.read(ctx, agent.ProjectFile)
	if err == nil && text == "" {
		err = errors.New("the workspace has no " + agent.ProjectFile)
	}
	if err != nil {
		return p, err
	}
	return agent.ReadProject([]byte(text))
}

// read returns the content of a file of the workspace, "" for none.
func (h *held) read(ctx context.Context, name string) (string, error) {
	if info, err := h.x.Look(&skill.Session{}, name, false); err != nil || info.IsDir() {
		return "", nil
	}
	r, err := h.x.Execute(ctx, &skill.Session{}, skill.ReadFile{Path: name})
	if err != nil {
		return "", err
	}
	return string(r.(skill.FileRead).Content), nil
}

// maxArgs is how many bytes of the arguments of a call are kept in the state.
const maxArgs = 4 << 10

// begin notes that a call is about to be made that may act outside of the workspace.
func (h *held) begin(ctx context.Context, c agent.ToolCall) error {
	h.walk = true
	if slices.Contains(h.Repeat, c.ToolName) {
		return nil
	}
	args := c.Args
	if len(args) > maxArgs {
		args = encode(string(args[:maxArgs]) + "…")
	}
	h.run.Begun = append(slices.Clone(h.run.Begun), Begun{h.run.Step + 1, c.ToolName, args})
	return h.commit(ctx, h.event(Event{Kind: Begins, Step: h.run.Step + 1,
		Text: c.ToolName + " " + string(args)}))
}

// note tells the expert what a worker that was lost may have done.
func (h *held) note() string {
	if len(h.run.Begun) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("The machine that this work was on was lost during the step after this. The workspace is as it was before that step. These calls were begun and may have happened; find out before you make one again:\n")
	for _, c := range h.run.Begun {
		fmt.Fprintf(&b, "- %s %s\n", c.Tool, c.Args)
	}
	return b.String()
}
