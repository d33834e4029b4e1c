package skill

import "context"

// MakeFolder creates a directory and its parents. A directory that exists is no error. It
// returns a [Changed].
type MakeFolder struct{ Path string }

func (MakeFolder) op() {}

func (x *Executor) makeFolder(ctx context.Context, s *Session, a MakeFolder) (Result, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return nil, err
	}
	c, err := x.ws.MakeDir(ctx, abs, false)
	return result(Changed{Change: c}, err)
}
