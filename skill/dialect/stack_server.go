package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"textskill/skill"
)

var serverTool = Tool{
	Name: "server",
	Doc: "Start a server: in the foreground, until it ends or times out, or in the background, where it runs on after the call. " +
		"With another action, list the background servers, read the output of one, or stop one with everything that it started.",
	Params: []Param{
		{Name: "command", Type: "string", Doc: "for /bin/sh; required to start"},
		{Name: "port", Type: "integer", Doc: "the port it listens on, from 1 to 65535; required to start"},
		{Name: "cwd", Type: "string", Path: true, Doc: "the folder to run in; the workspace by default"},
		{Name: "background", Type: "boolean", Default: false, Doc: "run on after the call"},
		{Name: "action", Type: "string", Enum: []string{"start", "list", "status", "logs", "stop"},
			Default: "start", Doc: "status, logs and stop need an id or a port"},
		{Name: "id", Type: "string", Doc: "of a background server, from start or list"},
		{Name: "ready_timeout", Type: "number",
			Doc: "in seconds: end it, and fail, if it does not listen by then. By default, wait one second and report ready"},
		{Name: "lines", Type: "integer", Default: json.Number("50"), Doc: "maximum number of lines of logs"},
		timeoutParam(60, maxTimeout),
	},
	Effect: Destroys, Open: true,
	operation: serverOperation,
	failure:   serverFailure,
	reword:    serverError,
	reply:     func(in *call, r skill.Result) string { return success(serverKeys(in, r)) },
}

func serverOperation(in *call) (skill.Args, error) {
	port, err := in.count("port", 0, 65535)
	if err != nil {
		return nil, err
	}
	name := skill.ServerName{ID: in.str("id"), Port: port}
	switch in.str("action") {
	case "list":
		return skill.ListServers{ServerName: name}, nil
	case "status":
		if name == (skill.ServerName{}) {
			return nil, errors.New("status needs an id or a port")
		}
		return skill.ListServers{ServerName: name}, nil
	case "stop":
		return skill.StopServer{ServerName: name}, nil
	case "logs":
		lines, err := in.count("lines", 0, 10000)
		return skill.ReadServerLog{ServerName: name, Lines: lines}, err
	}
	switch {
	case in.values["command"] == nil:
		return nil, errors.New("command is required to start a server")
	case in.values["port"] == nil:
		return nil, errors.New("port is required to start a server")
	case port == 0:
		return nil, errors.New("port must be from 1 to 65535, not 0")
	}
	if in.flag("background") {
		wait, err := in.seconds("ready_timeout", 0)
		return skill.StartServer{Command: in.str("command"), Port: port, Dir: in.str("cwd"), Wait: wait,
			MustListen: wait > 0}, err
	}
	run, err := runOperation(in)
	if a, ok := run.(skill.Exec); ok {
		a.Port = port
		return a, nil
	}
	return nil, err
}

func serverState(s skill.ServerState, message string) keys {
	var code *int
	if !s.Running && !s.Lost {
		code = &s.ExitCode
	}
	return keys{"pid", s.Pid, "port", s.Port, "message", message, "id", s.ID, "running", s.Running,
		"ready", s.Ready,
		"returncode?", code, "signal?", s.Signal, "command", s.Command, "cwd", s.Dir, "log", s.Log,
		"started", s.Started.UTC().Format(time.RFC3339), "fence", s.Fence.String()}
}

// foreground describes a server that has ended.
func foreground(in *call, e skill.Executed) keys {
	port, _ := in.count("port", 0, 65535)
	message := fmt.Sprintf("Server on port %d exited with %d", port, e.ExitCode)
	if e.Failed() {
		message = fmt.Sprintf("Server on port %d: %s", port, endError(e))
	}
	ended := keys{"port", port, "message", message, "output", wellFormed(string(e.Stdout)), "errors",
		wellFormed(string(e.Stderr)),
		"returncode", e.ExitCode, "command", in.str("command")}
	return append(ended, endOf(e)...)
}

// serverKeys are the keys for what an action found or did.
func serverKeys(in *call, r skill.Result) keys {
	switch r := r.(type) {
	case skill.Executed:
		return foreground(in, r)
	case skill.Servers:
		list := each(r, func(s skill.ServerState) keys { return serverState(s, s.Message()) })
		if in.str("action") == "status" {
			return list[0]
		}
		return keys{"servers", list, "count", len(list)}
	case skill.ServerLog:
		return append(serverState(r.ServerState, r.Message()), "output", wellFormed(string(r.Text)),
			"truncated?", r.More)
	case skill.ServerState:
		if in.str("action") == "stop" {
			return serverState(r, fmt.Sprintf("Server on port %d is stopped", r.Port))
		}
		return serverState(r, fmt.Sprintf("Server started on port %d", r.Port))
	}
	panic(fmt.Sprintf("server was answered %T", r)) // unreachable: see serverOperation
}

func serverFailure(in *call, r skill.Result) error {
	switch r := r.(type) {
	case skill.Executed:
		if r.Failed() {
			return withKeys(endError(r), foreground(in, r))
		}
	case skill.Servers:
		if len(r) == 0 && in.str("action") == "status" {
			return errors.New("there is no such server; server(action: 'list') lists them")
		}
	}
	return nil
}

// serverError adds to an error what is known of the server.
func serverError(_ *call, err error) error {
	if not, ok := errors.AsType[*skill.NotServingError](err); ok {
		return withKeys(err, serverState(not.ServerState, not.Message()),
			keys{"output", wellFormed(string(not.Text))})
	}
	if errors.Is(err, skill.ErrNoServer) {
		return fmt.Errorf("%w; server(action: 'list') lists them", err)
	}
	return err
}
