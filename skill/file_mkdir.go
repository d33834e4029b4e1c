package skill

import "context"

// MakeFolder creates a directory and its parents. A directory that exists is no error. It
// returns a [Changed].
type MakeFolder struct{ Path string }

func (MakeFolder) op() {}

func (x *Executor) MakeFolder(ctx context.Context, s *Session, a MakeFolder) (Changed, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return Changed{}, err
	}
	c, err := x.ws.MakeDir(ctx, abs, false)
	return Changed{Change: c}, err
}
