package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"textskill/skill/agent"
	"textskill/skill/fleet/pack"
)

// A Submission is a new run and its files.
type Submission struct {
	Run            // Tenant is required; ID and Workspace may be ""
	Dir     string // copy the files of this folder to the workspace; "" for an existing workspace
	Replace bool   // replace the files of an existing workspace
	Owner   Tenant // this machine's settings of the tenant
}

// refused is the reason of a run that was not queued. Its ID may be submitted again.
const refused = "the queue was full"

// Submit stores a run and its files, then queues the run. It may be called again with the same
// ID and returns the earlier run then; it fails if that run has another query, expert, workspace
// or tenant. Errors include [ErrQuota] and [pack.ErrTooLarge].
func Submit(ctx context.Context, p Plane, s Submission) (Run, error) {
	r := s.Run
	r.ID = cmp.Or(r.ID, strings.ToLower(rand.Text()))
	r.Workspace = cmp.Or(r.Workspace, r.ID)
	if err := r.CheckNames(); err != nil {
		return r, err
	}
	before, err := p.Run(ctx, r.ID)
	switch {
	case err == nil && before.Reason != refused:
		return before, requeue(ctx, p, r, before)
	case err != nil && !errors.Is(err, ErrNoRun):
		return r, fmt.Errorf("the queue cannot be reached: %w", err)
	}
	if err := s.checkQuota(ctx, p); err != nil {
		return r, err
	}
	ws, oldFiles, err := s.storeFiles(ctx, p, r)
	if err != nil {
		return r, err
	}
	if r.Manifest = oldFiles; ws != nil {
		r.Manifest = ws.Manifest
	}
	r.Revision, r.Submitted, r.Status = before.Revision, time.Now().UTC(), Waiting
	r.Updated = r.Submitted
	if err := p.Commit(ctx, Batch{Run: &r, Workspace: ws,
		Events: []Event{{Kind: Submitted, Time: r.Submitted, Text: r.wants()}}}); err != nil {
		// The run may be stored all the same, or another process has just submitted it.
		if now, again := p.Run(ctx, r.ID); again == nil && now.Revision != before.Revision {
			return now, requeue(ctx, p, r, now)
		}
		return r, err
	}
	err = p.Queue(ctx, r)
	if errors.Is(err, ErrQuota) {
		r.Status, r.Reason = Cancelled, refused
		if ws != nil {
			ws.Manifest = oldFiles
		}
		return r, errors.Join(err,
			p.Commit(ctx, Batch{Run: &r, Workspace: ws,
				Events: []Event{{Kind: Ended, Time: time.Now().UTC(), Text: refused}}}))
	}
	if err != nil {
		err = fmt.Errorf("run %s is stored but not queued; a worker will queue it: %w", r.ID, err)
	}
	return r, err
}

// wants says in a sentence which worker a run needs.
func (r Run) wants() string {
	text := "submitted for " + cmp.Or(r.Expert, "calls")
	if r.Pin != "" {
		text += "; it waits for the worker " + r.Pin
	}
	if r.Label != "" {
		text += "; it waits for a worker with the label " + r.Label
	}
	return text
}

// Runs returns the runs of [Plane.Runs] except runs that Submit has refused.
func Runs(ctx context.Context, p Plane, tenant string) ([]Run, error) {
	runs, err := p.Runs(ctx, tenant)
	return slices.DeleteFunc(runs, func(r Run) bool { return r.Reason == refused }), err
}

// checkQuota fails if the tenant already has its maximum of waiting runs.
func (s Submission) checkQuota(ctx context.Context, p Plane) error {
	if s.Owner.Waiting == 0 {
		return nil
	}
	runs, err := p.Runs(ctx, s.Tenant)
	waiting := 0
	for _, r := range runs {
		if r.Status == Waiting {
			waiting++
		}
	}
	if err == nil && waiting >= s.Owner.Waiting {
		err = OverQuota(s.Tenant, s.Owner.Waiting)
	}
	return err
}

// requeue queues the stored run r if it waits without a job. It fails if the run that is
// submitted again differs from r.
func requeue(ctx context.Context, p Plane, again, r Run) error {
	if again.Tenant != r.Tenant || again.Workspace != r.Workspace || again.Expert != r.Expert ||
		again.Query != r.Query {
		return fmt.Errorf("run %s exists with another query, expert, workspace or tenant; choose another ID", r.ID)
	}
	if r.Status != Waiting {
		return nil
	}
	if queued, err := p.Queued(ctx, r); err != nil || queued[r.ID] {
		return err
	}
	return p.Queue(ctx, r)
}

// storeFiles stores the files of a submission. It returns the new state of the workspace, or
// nil if the run uses the stored files. oldFiles is the manifest before, or "".
func (s Submission) storeFiles(ctx context.Context, p Plane, r Run) (_ *Workspace, oldFiles string,
	err error) {
	ws, err := p.Workspace(ctx, r.Workspace)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("the queue cannot be reached: %w", err)
	case ws.Manifest != "" && ws.Tenant != r.Tenant:
		return nil, "", fmt.Errorf("the workspace %s belongs to another tenant than %s; choose another name",
			r.Workspace, r.Tenant)
	case s.Dir == "" && ws.Manifest == "":
		return nil, "", fmt.Errorf("there is no workspace %s; give it files with -C DIR", r.Workspace)
	case s.Dir == "":
		return nil, ws.Manifest, nil
	case ws.Manifest != "" && !s.Replace:
		return nil, "", fmt.Errorf("there is a workspace %s already; use its files without -C, or add --replace",
			r.Workspace)
	}
	for _, check := range []func() error{
		func() error { return checkIdle(ctx, p, ws) },
		s.checkDir,
		func() error { return refuseShared(s.Dir, "copy it to a local disk first") },
		s.checkExpert,
	} {
		if err := check(); err != nil {
			return nil, "", err
		}
	}
	f, err := pack.Open(s.Owner.pack(p.Blobs(r.Workspace), r.Pin != ""), s.Dir)
	if err != nil {
		return nil, "", err
	}
	manifest, err := f.Snapshot(ctx, nil, true)
	if err != nil && !errors.Is(err, pack.ErrTooLarge) {
		err = fmt.Errorf("cannot send the files of %s: %w", s.Dir, err)
	}
	if err != nil {
		return nil, "", err
	}
	return &Workspace{Name: r.Workspace, Tenant: r.Tenant, Manifest: manifest, Updated: time.Now().UTC(),
		Revision: ws.Revision}, ws.Manifest, nil
}

// checkIdle fails if a run holds a workspace.
func checkIdle(ctx context.Context, p Plane, ws Workspace) error {
	held, err := isHeld(ctx, p, ws)
	if held {
		return fmt.Errorf("the run %s works in the workspace %s; wait until it has ended, or cancel it",
			ws.Run, ws.Name)
	}
	return err
}

// isHeld reports whether a run holds a workspace. A run that has ended or expired does not.
func isHeld(ctx context.Context, p Plane, ws Workspace) (bool, error) {
	if ws.Run == "" {
		return false, nil
	}
	r, err := p.Run(ctx, ws.Run)
	if errors.Is(err, ErrNoRun) {
		return false, nil
	}
	return err == nil && !r.Status.Over(), err
}

// checkExpert fails if the project of the submitted folder does not define the expert.
func (s Submission) checkExpert() error {
	if s.Expert == "" {
		return nil
	}
	data, err := readInside(s.Dir, agent.ProjectFile)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s has no %s; submit the folder whose %[2]s defines the expert %[3]s", s.Dir,
			agent.ProjectFile, s.Expert)
	}
	if err != nil {
		return fmt.Errorf("%s in %s cannot be read: %w", agent.ProjectFile, s.Dir, err)
	}
	p, err := agent.ReadProject(data)
	if err == nil {
		_, err = p.Expert(s.Expert)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Dir, err)
	}
	return nil
}

// checkDir fails if Dir is not a folder.
func (s Submission) checkDir() error {
	info, err := os.Stat(s.Dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("there is no folder %s; submit an existing folder", s.Dir)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is not a folder; submit its parent folder", s.Dir)
	}
	return err
}

// readInside reads a regular file of a folder. Like a worker, it follows no symbolic link to the
// outside. It refuses a pipe, because opening a pipe waits for a writer.
func readInside(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err != nil {
		return nil, err
	}
	return root.ReadFile(name)
}

// CheckNames checks all names of a run. Its error joins all faults. Only the tenant is required.
func (r Run) CheckNames() error {
	return errors.Join(CheckName("run", cmp.Or(r.ID, "-")), CheckName("workspace", cmp.Or(r.Workspace, "-")),
		CheckName("tenant", r.Tenant), CheckName("worker", cmp.Or(r.Pin, "-")),
		CheckName("label", cmp.Or(r.Label, "-")))
}

// CheckName checks the name of a run, workspace, tenant, worker or label. kind is one of these
// words.
func CheckName(kind, name string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	if name == "" || len(name) > 100 || strings.Trim(name, letters) != "" ||
		strings.HasPrefix(name, eventBlobs) {
		return fmt.Errorf("%q cannot be the name of a %s: use up to 100 letters, digits, - and _, "+
			"not beginning with %s", name, kind, eventBlobs)
	}
	return nil
}

// EndRun ends a waiting run. It asks the owner of a running run to end it.
func EndRun(ctx context.Context, p Plane, id string) (Run, error) {
	r, err := p.Run(ctx, id)
	if err != nil || r.Status.Over() {
		return r, err
	}
	if err := p.Cancel(ctx, id); err != nil || r.Status != Waiting {
		return r, err
	}
	if r, err = p.Run(ctx, id); err != nil || r.Status != Waiting {
		return r, err
	}
	ended := r
	ended.Status, ended.Updated = Cancelled, time.Now().UTC()
	b := Batch{Run: &ended, Events: []Event{{Kind: Ended, Time: ended.Updated, Epoch: r.Epoch, Step: r.Step,
		Text: ended.ending()}}}
	ws, err := p.Workspace(ctx, r.Workspace)
	if err != nil {
		return r, err
	}
	if ws.Run == id {
		ws.Run = ""
		b.Workspace = &ws
	}
	err = p.Commit(ctx, b)
	if errors.Is(err, ErrTaken) { // a worker has just claimed the run, and ends it
		return ended, nil
	}
	if err == nil {
		err = p.Unqueue(ctx, ended)
	}
	return ended, err
}
