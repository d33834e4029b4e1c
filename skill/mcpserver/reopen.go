package mcpserver

import (
	"errors"

	"textskill/skill"
)

// served is an executor on the workspace. The first is the caller's to close; those that
// were opened later, after the workspace was replaced, are closed after their last use.
type served struct {
	x     *skill.Executor
	users int // scopes, and the server; Server.mu guards it
}

// use returns the executor on the workspace, which is opened again if another folder is
// at its path by now. Server.unuse must follow.
func (s *Server) use() (*served, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.served.x.CheckReplaced()
	if errors.Is(err, skill.ErrReplaced) {
		var x *skill.Executor
		if x, err = s.cfg.Executor.Reopen(); err == nil {
			s.unuseLocked(s.served)
			s.served = &served{x: x, users: 1}
			s.logf("%s was replaced by another folder, which is open now", x.Dir())
		}
	}
	s.served.users++
	return s.served, err
}

func (s *Server) unuse(v *served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unuseLocked(v)
}

func (s *Server) unuseLocked(v *served) {
	if v.users--; v.users == 0 && v.x != s.cfg.Executor {
		v.x.Close()
	}
}

// Close closes what the server has opened. No client may be served any more.
func (s *Server) Close() { s.unuse(s.served) }

// usable returns the scope for one call: sc, for which the caller has counted a use; one
// that refuses if the folder of sc was removed; or nil if another is at its path.
func (c *session) usable(sc *scope) *scope {
	if sc == nil {
		return nil
	}
	err := sc.x.CheckReplaced()
	if err == nil {
		return sc
	}
	c.leave(sc)
	if errors.Is(err, skill.ErrReplaced) {
		c.forget(sc)
		return nil
	}
	return &scope{refusal: err.Error(), users: 1}
}
