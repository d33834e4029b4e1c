package page

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"textskill/skill"
)

// A Workspace is a workspace in the form of a page.
type Workspace struct {
	Executor *skill.Executor
	// takes secrets out of the paths of files that changed; nil leaves them
	Hide func(text string) string
}

// Changes returns the history of the workspace.
func (w Workspace) Changes() Changes { return changes(w) }

// Servers returns the servers of the workspace.
func (w Workspace) Servers() Servers { return servers(w) }

// Trials returns the trials of the workspace.
func (w Workspace) Trials() Trials { return trials(w) }

type changes Workspace

// executor returns the Executor of changes that are made here.
func (w changes) executor() *skill.Executor {
	return w.Executor.ByTool("", w.Executor.Program()+" web")
}

func (w changes) List(ctx context.Context, limit int) (list []Change, more int, err error) {
	r, err := w.Executor.Execute(ctx, &skill.Session{}, skill.History{Limit: limit})
	if err != nil {
		return nil, 0, err
	}
	history := r.(skill.Changes)
	for _, e := range history.List {
		c := Change{ID: e.ID, Time: e.Time, What: string(e.Kind) + " " + w.short(e.Path), By: e.Tool,
			Run: e.Run, Step: e.RunStep, Of: e.Of, Undone: e.Undone, Idle: e.Idle, NotKept: e.NotKept}
		switch {
		case e.Of != "":
			c.What = "undo change " + e.Of + ": " + w.short(e.Path)
		case e.From != "":
			c.What = string(e.Kind) + " " + w.short(e.From) + " to " + w.short(e.Path)
		case e.Command != "":
			c.What = string(e.Kind) + " " + e.Command + ": " + w.short(e.Path)
		}
		if n := len(e.Paths); n > 1 {
			c.What += fmt.Sprintf(" and %d more", n-1)
		}
		if w.Hide != nil {
			c.What = w.Hide(c.What)
		}
		list = append(list, c)
	}
	return list, history.More, nil
}

// short returns a path relative to the workspace.
func (w changes) short(name string) string {
	if rel, ok := strings.CutPrefix(name, w.Executor.Dir()+string(filepath.Separator)); ok {
		return filepath.ToSlash(rel)
	}
	return name
}

func (w changes) Change(ctx context.Context, id string) (Change, error) {
	list, _, err := w.List(ctx, 0)
	for _, c := range list {
		if c.ID == id {
			return c, err
		}
	}
	return Change{}, errors.Join(err, fmt.Errorf("change %s is not recorded", id))
}

func (w changes) Diff(ctx context.Context, id string) (string, error) {
	r, err := w.Executor.Execute(ctx, &skill.Session{}, skill.Difference{ID: id})
	if err != nil {
		return "", err
	}
	return r.(skill.Compared).Diff, nil
}

func (w changes) Undo(ctx context.Context, id string, force bool) (string, error) {
	r, err := w.executor().Execute(ctx, &skill.Session{},
		skill.Undo{ID: id, Force: force})
	if err != nil {
		return "", err
	}
	return r.(skill.Reverted).UndoID(), nil
}

func (w changes) UndoAll(ctx context.Context, since, run string) error {
	_, err := w.executor().Execute(ctx, &skill.Session{},
		skill.Undo{Since: since, Run: run})
	return err
}

type trials Workspace

func (w trials) List(context.Context) (list []Trial, err error) {
	all, err := w.Executor.Trials()
	for _, t := range slices.Backward(all) {
		shown := Trial{ID: t.ID, Command: t.Command, Files: len(t.Changes), Began: t.Began}
		for _, c := range t.Changes {
			if len(shown.Diff) < maxDiff {
				shown.Diff += w.Executor.DiffTrial(t, c).Diff
			}
		}
		if w.Hide != nil {
			shown.Command = w.Hide(shown.Command)
		}
		list = append(list, shown)
	}
	return list, err
}

type servers Workspace

func (w servers) List(ctx context.Context) (list []Server, err error) {
	r, err := w.Executor.Execute(ctx, &skill.Session{}, skill.ListServers{})
	if err != nil {
		return nil, err
	}
	for _, s := range r.(skill.Servers) {
		list = append(list, server(s))
	}
	return list, nil
}

func (w servers) Log(ctx context.Context, id string) (s Server, log string, more bool, err error) {
	r, err := w.Executor.Execute(ctx, &skill.Session{},
		skill.ReadServerLog{ServerName: skill.ServerName{ID: id}, Lines: 1000})
	if err != nil {
		return s, "", false, err
	}
	l := r.(skill.ServerLog)
	return server(l.ServerState), string(l.Text), l.More, nil
}

func server(s skill.ServerState) Server {
	return Server{ID: s.ID, Command: s.Command, State: s.Message(), Running: s.Running, Started: s.Started,
		Log: s.Log}
}
