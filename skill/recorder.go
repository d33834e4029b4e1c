package skill

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"slices"
	"strings"

	"textskill/skill/hook"
	"textskill/skill/internal/history"
	"textskill/skill/internal/words"
	"textskill/skill/internal/workspace"
)

// Recorder returns what records the calls of other agents' tools in the workspace. redact takes
// credentials out of what is kept of a command.
func (x *Executor) Recorder(redact func(string) string) hook.Recorder { return recorder{x, redact} }

type recorder struct {
	x      *Executor
	redact func(string) string
}

func (r recorder) Before(ctx context.Context, e hook.Event) error {
	limit := r.x.process.SnapshotBytes()
	if limit < 0 {
		return nil
	}
	c := r.call(e)
	return r.x.ws.BeginCall(ctx, c, e.Dir, r.files(c, e), limit, r.x.process.WalkAll)
}

func (r recorder) After(ctx context.Context, e hook.Event) error {
	if r.x.process.SnapshotBytes() < 0 {
		return nil
	}
	c := r.call(e)
	return r.x.ws.EndCall(ctx, c, e.Dir, r.files(c, e), r.x.process.WalkAll)
}

func (r recorder) End(ctx context.Context, e hook.Event) error {
	ended := workspace.Ended{Session: session(e), AgentID: clip(e.AgentID, maxKeptName), Told: true}
	switch {
	case e.Phase == hook.SessionEnd:
		ended.All, ended.Told = true, false // a session ends long after a call that was cut off
	case e.Phase == hook.TurnEnd && e.AgentID == "":
		ended.Turn = clip(e.Turn, maxKeptName)
	}
	err := r.x.ws.CloseCalls(ctx, ended, r.x.process.WalkAll)
	if err == nil && ended.Turn != "" { // calls of earlier turns are over too, but did not end now
		ended.Turn, ended.Told = "", false
		err = r.x.ws.CloseCalls(ctx, ended, r.x.process.WalkAll)
	}
	return err
}

// files returns the files that an edit names.
func (r recorder) files(c workspace.Call, e hook.Event) []string {
	if !c.Edit {
		return nil
	}
	return e.Paths
}

// Of a name that a payload has, at most maxKeptName bytes are kept, and of a command maxKeptCommand.
const (
	maxKeptName    = 200
	maxKeptCommand = 1000
)

func (r recorder) call(e hook.Event) workspace.Call {
	all := strings.Join(e.Paths, "\x00") + "\x00\x00" + e.Command
	c := workspace.Call{
		Key: digest(session(e), e.ID), Session: session(e), AgentID: clip(e.AgentID, maxKeptName),
		Turn: clip(e.Turn, maxKeptName), ID: clip(e.ID, maxKeptName),
		Edit:       e.Kind == hook.Edit && !slices.ContainsFunc(e.Paths, r.isFolder(e)),
		Transcript: e.Transcript, Process: e.Process, Terminal: e.Terminal,
	}
	if e.ID == "" {
		c.Unkeyed, c.Key = true, digest(session(e), e.Tool, all)
		c.Like, c.Twin = digest(session(e), e.Tool), digest(all)
	}
	c.Host, c.Tool, c.Run = e.Host, clip(e.Tool, maxKeptName), clip(e.Session, maxKeptName)
	c.Agent = clip(e.Agent, maxKeptName)
	if !c.Edit {
		c.Command = clip(words.Redact(r.redact(cmp.Or(e.Command, e.Tool))), maxKeptCommand)
	}
	return c
}

// isFolder reports whether a path of a call is a folder: then it is not known which files the call changes.
func (r recorder) isFolder(e hook.Event) func(string) bool {
	return func(file string) bool {
		info, err := os.Stat(r.x.ws.Abs(e.Dir, file))
		return err == nil && info.IsDir()
	}
}

// session returns whose end closes calls; hosts without sessions have one.
func session(e hook.Event) string { return cmp.Or(clip(e.Session, maxKeptName), e.Host) }

// HasHistory reports whether a folder has a history, in the folder state if that is named.
func HasHistory(dir, state string) bool {
	return history.Exists(history.Options{Root: dir, Dir: state})
}

// Missed is a call of another agent that was not recorded.
type Missed = history.Miss

// MarkMissed writes down that a call in a folder was not recorded, in each place that can still be written.
func MarkMissed(dir, state string, m Missed) error {
	return history.MarkMissed(history.Options{Root: dir, Dir: state}, m)
}

// MissedCalls returns the calls in a folder that were not recorded, the oldest first.
func MissedCalls(ctx context.Context, dir, state string) ([]Missed, error) {
	return history.Missed(ctx, history.Options{Root: dir, Dir: state})
}

// ClearMissed forgets the calls in a folder that were not recorded.
func ClearMissed(dir, state string) error {
	return history.ClearMissed(history.Options{Root: dir, Dir: state})
}

// CallsOpen reports whether a call in a folder has begun and not ended.
func CallsOpen(dir, state string) bool {
	return history.CallsOpen(history.Options{Root: dir, Dir: state})
}

// digest returns a short sum of texts.
func digest(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:12])
}

// clip returns at most n bytes of a text.
func clip(text string, n int) string {
	if len(text) > n {
		text = text[:n] + "…"
	}
	return strings.ToValidUTF8(text, "�")
}
