package jetstream

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"textskill/skill/internal/workspace/tree"
)

// ServerOptions say what a server in this process is. Dir is needed.
type ServerOptions struct {
	Dir       string // where it stores what it has accepted
	Name      string // unique in its cluster; "" means "skill"
	Host      string // "" means 127.0.0.1
	Port      int    // 0 means a free one
	User      string // clients need this name and the password; "" lets every client in
	Password  string
	Monitor   int       // the port of its state over HTTP; 0 means none
	SyncLater bool      // whether it acknowledges before what it has written is on the disk
	Cluster   int       // the port of its routes to the others of its cluster; 0 means that it is alone
	Routes    []string  // the URLs of the routes of all servers of the cluster, its own included
	Errors    io.Writer // nil discards what goes wrong in the server
}

// A Server is a NATS server in this process. The caller shuts it down.
type Server struct {
	server *server.Server
	lock   *os.File // of its folder
}

// StartServer starts a server, and returns when it answers clients. It goes on with what
// another one has left in its folder.
func StartServer(o ServerOptions) (*Server, error) {
	opts := &server.Options{
		ServerName: cmp.Or(o.Name, "skill"), Host: cmp.Or(o.Host, "127.0.0.1"),
		Port:     cmp.Or(o.Port, server.RANDOM_PORT),
		Username: o.User, Password: o.Password,
		HTTPHost: "127.0.0.1", HTTPPort: o.Monitor,
		JetStream: true, StoreDir: o.Dir, SyncAlways: !o.SyncLater,
		NoSigs: true, NoLog: true,
	}
	if o.Cluster != 0 {
		opts.Cluster = server.ClusterOpts{Name: "skill", Host: opts.Host, Port: o.Cluster}
		for _, route := range o.Routes {
			u, err := url.Parse(route)
			if err != nil {
				return nil, err
			}
			opts.Routes = append(opts.Routes, u)
		}
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return nil, err
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	fatal := make(chan string, 1)
	s.SetLogger(errorLog{cmp.Or(o.Errors, io.Discard), fatal}, false, false)
	go s.Start()
	ready := make(chan bool, 1)
	go func() { ready <- s.ReadyForConnections(30 * time.Second) }()
	own := &Server{s, lock}
	select {
	case why := <-fatal: // a port is taken, for example
		err = fmt.Errorf("the NATS server cannot start: %s", why)
	case ok := <-ready:
		if ok {
			return own, nil
		}
		err = fmt.Errorf("the NATS server does not answer; see whether its folder %s can be written", o.Dir)
	}
	own.Shutdown()
	return nil, err
}

// lockDir keeps other servers from the folder of one until the file that it returns is closed:
// each of two servers would overwrite what the other one has stored.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	ok, err := tree.TryLock(int(f.Fd()), true)
	if err == nil && !ok {
		err = fmt.Errorf("another server is running in %s", dir)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// URL returns the URL for clients.
func (s *Server) URL() string { return s.server.ClientURL() }

// Shutdown ends the server, and returns when its folder may be used by another one.
func (s *Server) Shutdown() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
	s.lock.Close()
}

// errorLog writes the errors of a server.
type errorLog struct {
	to    io.Writer
	fatal chan string // receives why the server cannot start
}

func (l errorLog) Errorf(format string, v ...any) { fmt.Fprintf(l.to, "nats: "+format+"\n", v...) }

func (l errorLog) Fatalf(format string, v ...any) {
	select {
	case l.fatal <- fmt.Sprintf(format, v...):
	default:
		l.Errorf(format, v...)
	}
}

func (errorLog) Warnf(string, ...any)   {}
func (errorLog) Noticef(string, ...any) {}
func (errorLog) Debugf(string, ...any)  {}
func (errorLog) Tracef(string, ...any)  {}
