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

// ServerOptions are the options of a server in this process. Dir is required.
type ServerOptions struct {
	Dir       string // stores the accepted data
	Name      string // unique in the cluster; "" means "skill"
	Host      string // "" means 127.0.0.1
	Port      int    // 0 means a free port
	User      string // clients need this name and the password; "" accepts every client
	Password  string
	Monitor   int       // port for monitoring over HTTP; 0 means none
	SyncLater bool      // acknowledge data before it is on the disk
	Cluster   int       // port for the other servers of the cluster; 0 means no cluster
	Routes    []string  // URLs of the cluster ports of all servers, this one included
	Errors    io.Writer // receives the errors of the server; may be nil
}

// A Server is a NATS server in this process. The caller shuts it down.
type Server struct {
	server *server.Server
	lock   *os.File // of Dir
}

// StartServer starts a server with the data in Dir. It returns when the server answers clients.
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
	case reason := <-fatal: // for example, the port is in use
		err = fmt.Errorf("the NATS server cannot start: %s", reason)
	case ok := <-ready:
		if ok {
			return own, nil
		}
		err = fmt.Errorf("the NATS server does not answer; check that it can write to its folder %s", o.Dir)
	}
	own.Shutdown()
	return nil, err
}

// lockDir locks the folder of a server until the returned file is closed. Two servers in one
// folder would overwrite each other's data.
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

// Shutdown ends the server. When it returns, another server may use the folder.
func (s *Server) Shutdown() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
	s.lock.Close()
}

// errorLog writes the errors of a server.
type errorLog struct {
	to    io.Writer
	fatal chan string // receives the reason if the server cannot start
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
