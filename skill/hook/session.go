package hook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A Session is the record of a session whose events came to a hook.
type Session struct {
	ID     string `json:"id"`
	Host   string `json:"host"`
	Parent string `json:"parent,omitempty"` // the session that started this one, which is a sub-agent's
	Agent  string `json:"agent,omitempty"`  // the kind of that sub-agent
	First  string `json:"first,omitempty"`  // the folder in which it began
	Began  bool   `json:"began,omitempty"`  // its begin was told
	Called bool   `json:"called,omitempty"` // a call was told, be it of a tool that changes nothing
	// the workspaces whose histories have calls of the session and its sub-agents
	Folders []string `json:"folders,omitempty"`
	Spawns  int      `json:"spawns,omitempty"` // how many calls that start sub-agents are open
	// sessions of sub-agents that had worked before it was known who started them
	Apart []string `json:"apart,omitempty"`
}

const (
	maxRecords      = 200 // in a folder
	maxRecord       = 64 << 10
	maxSessionID    = 200 // bytes
	maxSessionDepth = 32  // of sub-agents
)

// Sessions is the folder of the records of sessions.
type Sessions string

// Load returns the record of a session. known is false if there is no record.
func (s Sessions) Load(id string) (r Session, known bool) {
	known = id != "" && readRecord(string(s), id, &r) && r.ID == id
	if !known {
		r = Session{ID: id}
	}
	return r, known
}

// Change changes the record of a session. If that fails, the next event of the session may be recorded in
// another folder.
func (s Sessions) Change(id string, change func(r *Session)) Session {
	r, known := s.Load(id)
	before, _ := json.Marshal(r)
	change(&r)
	if after, _ := json.Marshal(r); id != "" && !(known && bytes.Equal(before, after)) {
		writeRecord(string(s), id, r)
	}
	return r
}

// Join makes an event of a sub-agent's session one of the session at the root of its tree. It returns false
// if nothing is to be recorded: for the start of a sub-agent, and for an end that may be a sub-agent's which
// the host does not name.
func (s Sessions) Join(e *Event) bool {
	r, _ := s.Load(e.Session)
	if e.Parent == "" {
		e.Parent = r.Parent
	}
	if e.Phase == Begin {
		s.Change(e.Session, func(r *Session) {
			if r.Host, r.Began = e.Host, true; r.First == "" {
				r.First = e.Workspace
			}
		})
	} else if r.Began && e.Tool != "" {
		s.Change(e.Session, func(r *Session) { r.Called = true })
	}
	switch {
	case e.Kind == Spawn:
		s.spawn(e)
		return false
	case e.Phase == TurnEnd && r.Spawns > 0:
		return false
	case e.Parent == "" || e.Parent == e.Session:
		return e.Phase != Begin
	}
	r = s.Change(e.Session, func(r *Session) {
		r.Host, r.Parent = e.Host, e.Parent
		if e.Agent != "" {
			r.Agent = e.Agent
		}
	})
	if e.AgentID == "" {
		e.AgentID = e.Session
	}
	if e.Agent = r.Agent; e.Agent == "" {
		e.Agent = "agent"
	}
	e.Session = s.Root(e.Parent)
	return e.Phase != Begin
}

// spawn counts a call that starts a sub-agent, and reads from its answer which sessions it has started.
func (s Sessions) spawn(e *Event) {
	root, apart := s.Root(e.Session), []string(nil)
	for _, id := range e.Spawned {
		switch r, known := s.Load(id); {
		case id == e.Session || r.Parent != "":
		case known && r.Host == e.Host:
			apart = append(apart, id)
		case !known:
			s.Change(id, func(r *Session) { r.Host, r.Parent = e.Host, root })
		}
	}
	s.Change(e.Session, func(r *Session) {
		if r.Host = e.Host; e.Phase == Before {
			r.Spawns++
		} else if r.Spawns > 0 {
			r.Spawns--
		}
	})
	s.Change(root, func(r *Session) {
		for _, id := range apart {
			if !slices.Contains(r.Apart, id) && len(r.Apart) < maxRecords {
				r.Apart = append(r.Apart, id)
			}
		}
	})
}

// Silent returns the newest session of a host that began, in a folder if in is not nil, if it told of no call.
func (s Sessions) Silent(host string, in func(folder string) bool) (r Session, began time.Time, ok bool) {
	r, began = s.newest(func(r Session) bool {
		return r.Host == host && r.Parent == "" && (in == nil || in(r.First))
	})
	return r, began, r.Began && !r.Called
}

// newest returns the record that changed last of those that which selects.
func (s Sessions) newest(which func(r Session) bool) (Session, time.Time) {
	entries, _ := os.ReadDir(string(s))
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return modTime(b).Compare(modTime(a)) })
	for _, entry := range entries {
		var r Session
		data, err := os.ReadFile(filepath.Join(string(s), entry.Name()))
		if err == nil && json.Unmarshal(data, &r) == nil && which(r) {
			return r, modTime(entry)
		}
	}
	return Session{}, time.Time{}
}

// Root returns the first session of the tree that a session belongs to.
func (s Sessions) Root(id string) string {
	for range maxSessionDepth {
		r, _ := s.Load(id)
		if r.Parent == "" || r.Parent == id {
			break
		}
		id = r.Parent
	}
	return id
}

// A Caller is the session that makes a call.
type Caller struct{ Host, Session, Agent, ID string }

// Calls is the folder of the records of calls of this program's MCP server that hosts have told the hook.
type Calls string

// Note writes down which session makes the call of an event, or that the call has ended.
func (c Calls) Note(e Event) {
	switch {
	case e.ID == "" || len(e.Session) > maxSessionID:
	case e.Phase == Before:
		writeRecord(string(c), e.ID, Caller{e.Host, e.Session, e.Agent, e.ID})
	default:
		os.Remove(recordFile(string(c), e.ID))
	}
}

// Caller returns the session that makes the call with an ID; the zero Caller if it is not known.
func (c Calls) Caller(id string) (r Caller) {
	if id == "" || !readRecord(string(c), id, &r) || r.ID != id {
		return Caller{}
	}
	return r
}

// CallerIn returns the session that the environment of a program names, which a host has started.
func CallerIn(getenv func(string) string) Caller {
	for _, v := range []struct{ name, host string }{
		{"CLAUDE_CODE_SESSION_ID", "claude-code"}, {"QWEN_CODE_SESSION_ID", "qwen-code"},
		{"COPILOT_AGENT_SESSION_ID", "copilot-cli"},
	} {
		if id := getenv(v.name); id != "" && len(id) <= maxSessionID {
			return Caller{Host: v.host, Session: id}
		}
	}
	return Caller{}
}

// CallerOf returns the session that makes a call with a _meta: the one that the hook was told of the call
// with its ID, the one that it names, or else other.
func (c Calls) CallerOf(meta json.RawMessage, other Caller) Caller {
	var m fields
	if len(meta) == 0 || json.Unmarshal(meta, &m) != nil {
		return other
	}
	id, _ := m["claudecode/toolUseId"].(string)
	if r := c.Caller(id); r.Session != "" {
		return r
	}
	turn := m.object("x-codex-turn-metadata")
	if id := turn.text("session_id", "sessionId"); id != "" && len(id) <= maxSessionID {
		return Caller{Host: "codex", Session: id}
	}
	return other
}

// recordFile returns the file of a record. Its name has letters and digits, whatever the ID has.
func recordFile(dir, id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(dir, hex.EncodeToString(sum[:12]))
}

func readRecord(dir, id string, v any) bool {
	data, err := os.ReadFile(recordFile(dir, id))
	return err == nil && len(data) <= maxRecord && json.Unmarshal(data, v) == nil
}

// writeRecord writes a record in the place of an earlier one. It makes room for a new one. A host is not told
// if that fails.
func writeRecord(dir, id string, v any) {
	if len(id) > maxSessionID || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	if list, err := os.ReadDir(dir); err == nil && len(list) >= maxRecords {
		slices.SortFunc(list, func(a, b os.DirEntry) int { return modTime(a).Compare(modTime(b)) })
		for _, old := range list[:len(list)-maxRecords+1] {
			os.Remove(filepath.Join(dir, old.Name()))
		}
	}
	data, _ := json.Marshal(v)
	t, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		return
	}
	defer os.Remove(t.Name())
	_, err = t.Write(data)
	if cerr := t.Close(); err == nil && cerr == nil {
		os.Rename(t.Name(), recordFile(dir, id))
	}
}

func modTime(e os.DirEntry) time.Time {
	if info, err := e.Info(); err == nil {
		return info.ModTime()
	}
	return time.Time{}
}
