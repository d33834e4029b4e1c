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

// open restores the copy of the workspace.
func (h *ownedRun) open(ctx context.Context) (err error) {
	dir, state := filepath.Join(h.dir, "workspace"), filepath.Join(h.dir, "state")
	if err := cmp.Or(os.MkdirAll(dir, 0o700), os.Mkdir(state, 0o700)); err != nil {
		return err
	}
	o := h.Tenants[h.run.Tenant].pack(retryingBlobs{h.Plane.Blobs(h.ws.Name), h}, h.run.Pin != "")
	if h.ws.Manifest == "" {
		h.folder, err = pack.Open(o, dir)
	} else {
		h.folder, err = pack.Restore(ctx, o, h.ws.Manifest, dir)
		err = addKeyHint(err, h.run.Tenant)
	}
	if err != nil {
		return err
	}
	cfg := h.Executor
	cfg.Dir, cfg.State = dir, state
	cfg.NoSync, cfg.KeepHelper = true, true // no fsync: the plane stores everything that lasts
	if h.x, err = skill.New(cfg); err != nil {
		return err
	}
	h.position, err = h.x.Position(ctx)
	return err
}

// pack returns the options to store files of the tenant. Only the manifest limits the files of
// a pinned run, because no other worker needs the space for them.
func (t Tenant) pack(b pack.Blobs, pinned bool) pack.Options {
	o := pack.Options{Blobs: b, Key: t.Key, Exclude: t.Exclude}
	if pinned {
		o.MaxBytes, o.MaxFiles = 8<<30, 1<<30 // the limits of a manifest
	}
	return o
}

// addKeyHint adds the name of the setting to an error about a missing key.
func addKeyHint(err error, tenant string) error {
	if errors.Is(err, pack.ErrKey) {
		return fmt.Errorf("%w; key-file under [tenants.%s] in fleet.toml names it", err, tenant)
	}
	return err
}

// retryingBlobs retry until the plane answers.
type retryingBlobs struct {
	pack.Blobs
	h *ownedRun
}

func (b retryingBlobs) Put(ctx context.Context, sum string, data []byte) error {
	return b.h.retry(ctx, func() error { return b.Blobs.Put(ctx, sum, data) })
}

func (b retryingBlobs) Get(ctx context.Context, sum string) (data []byte, err error) {
	err = b.h.retry(ctx, func() error {
		data, err = b.Blobs.Get(ctx, sum)
		return err
	})
	return data, err
}

// snapshot stores the files of the workspace and returns the sum of their manifest. If it
// fails, the next snapshot stores the changes.
func (h *ownedRun) snapshot(ctx context.Context) (manifest string, err error) {
	changed, err := h.changed(ctx)
	if err != nil {
		return "", err
	}
	return h.folder.Snapshot(ctx, changed, h.walk)
}

// changed returns the files that have changed since the last call, according to the history. It
// adds the run's records, which the history does not have.
func (h *ownedRun) changed(ctx context.Context) ([]string, error) {
	result, err := h.x.Execute(ctx, &skill.Session{}, skill.History{After: h.position})
	if err != nil {
		return nil, err
	}
	paths := h.records
	h.records = nil
	changes := result.(skill.Changes)
	if len(changes.List) > 0 {
		h.position = []string{changes.List[0].ID} // the newest change
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

// configure returns the configuration to begin or continue the run. query is "" to continue.
func (h *ownedRun) configure(ctx context.Context) (cfg agent.Config, query string, err error) {
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
		return fmt.Errorf("the workspace needs %s, but worker %s does not trust tenant %s; "+
			"set trust = true under [tenants.%[3]s] in its fleet.toml", needed[0], h.Name, h.run.Tenant)
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
func (h *ownedRun) project(ctx context.Context) (p agent.Project, err error) {
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
func (h *ownedRun) read(ctx context.Context, name string) (string, error) {
	info, err := h.x.Look(&skill.Session{}, name, false)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.IsDir() {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	r, err := h.x.Execute(ctx, &skill.Session{}, skill.ReadFile{Path: name})
	if err != nil {
		return "", err
	}
	return string(r.(skill.FileRead).Content), nil
}

// maxArgs is how many bytes of a call's arguments are stored in the state.
const maxArgs = 4 << 10

// begin stores a call that may act outside of the workspace, before the expert makes the call.
func (h *ownedRun) begin(ctx context.Context, c agent.ToolCall) error {
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

// note tells the expert which calls a lost worker may have made.
func (h *ownedRun) note() string {
	if len(h.run.Begun) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("The machine that did this work was lost during the next step. The workspace is as it was " +
		"before that step. These calls may have happened; find out before you repeat a call:\n")
	for _, c := range h.run.Begun {
		fmt.Fprintf(&b, "- %s %s\n", c.Tool, c.Args)
	}
	return b.String()
}
