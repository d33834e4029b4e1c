package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"textskill/skill"
)

type serverArgs struct {
	Command    *string     `arg:"command" doc:"for /bin/sh; required to start"`
	Port       json.Number `arg:"port" type:"integer" doc:"the port it listens on, from 1 to 65535; required to start"`
	Cwd        string      `arg:"cwd" is:"path" doc:"the folder to run in; the workspace by default"`
	Background bool        `arg:"background" default:"false" doc:"run on after the call"`
	Action     string      `arg:"action" enum:"start,list,status,logs,stop" default:"start" doc:"status, logs and stop need an id or a port"`
	ID         string      `arg:"id" doc:"of a background server, from start or list"`
	Ready      json.Number `arg:"ready_timeout" doc:"in seconds: end it, and fail, if it does not listen by then. By default, wait one second and report ready"`
	Lines      json.Number `arg:"lines" type:"integer" default:"50" doc:"maximum number of lines of logs"`
	Timeout    json.Number `arg:"timeout" default:"60" doc:"in seconds, 600 at most; 0 means 60"`
}

var serverTool = row(Tool{Name: "server", Effect: Destroys, Open: true,
	Doc: "Start a server: in the foreground, until it ends or times out, or in the background, where it " +
		"runs on after the call. " +
		"With another action, list the background servers, read the output of one, or stop one with " +
		"everything that it started."},
	func(in *call, a serverArgs) (string, error) {
		port, err := count("port", a.Port, 0, 65535)
		if err != nil {
			return "", err
		}
		op, err := a.operation(port)
		if err != nil {
			return "", err
		}
		found, err := do[skill.Result](in, op)
		if not, ok := errors.AsType[*skill.NotServingError](err); ok {
			return "", withKeys(err, serverState(not.ServerState, not.Message()),
				keys{"output", wellFormed(string(not.Text))})
		}
		switch r := found.(type) {
		case skill.Executed:
			return a.foreground(port, r, err)
		case skill.Servers:
			if len(r) == 0 && a.Action == "status" {
				return "", errors.New("there is no such server; server(action: 'list') lists them")
			}
			list := each(r, func(s skill.ServerState) keys { return serverState(s, s.Message()) })
			if a.Action == "status" {
				return success(list[0]), err
			}
			return success(keys{"servers", list, "count", len(list)}), err
		case skill.ServerLog:
			return success(serverState(r.ServerState, r.Message()), keys{"output", wellFormed(string(r.Text)),
				"truncated?", r.More}), err
		case skill.ServerState:
			if a.Action == "stop" {
				return success(serverState(r, fmt.Sprintf("Server on port %d is stopped", r.Port))), err
			}
			return success(serverState(r, fmt.Sprintf("Server started on port %d", r.Port))), err
		}
		if errors.Is(err, skill.ErrNoServer) {
			err = fmt.Errorf("%w; server(action: 'list') lists them", err)
		}
		return "", err
	})

func (a serverArgs) operation(port int) (skill.Args, error) {
	if a.Action != "start" {
		return serverAction(a.Action, skill.ServerName{ID: a.ID, Port: port}, a.Lines)
	}
	switch {
	case a.Command == nil:
		return nil, errors.New("command is required to start a server")
	case a.Port == "":
		return nil, errors.New("port is required to start a server")
	case port == 0:
		return nil, errors.New("port must be from 1 to 65535, not 0")
	case a.Background:
		wait, err := seconds("ready_timeout", a.Ready, 0)
		return skill.StartServer{Command: *a.Command, Port: port, Dir: a.Cwd, Wait: wait,
			MustListen: wait > 0}, err
	}
	op, err := shellExec(*a.Command, a.Cwd, a.Timeout, nil)
	op.Port = port
	return op, err
}

// serverAction is the operation of an action other than to start a server.
func serverAction(action string, name skill.ServerName, lines json.Number) (skill.Args, error) {
	switch action {
	case "stop":
		return skill.StopServer{ServerName: name}, nil
	case "logs":
		n, err := count("lines", lines, 0, 10000)
		return skill.ReadServerLog{ServerName: name, Lines: n}, err
	case "status":
		if name == (skill.ServerName{}) {
			return nil, errors.New("status needs an id or a port")
		}
	}
	return skill.ListServers{ServerName: name}, nil
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
func (a serverArgs) foreground(port int, e skill.Executed, err error) (string, error) {
	message := fmt.Sprintf("Server on port %d exited with %d", port, e.ExitCode)
	if e.Failed() {
		message = fmt.Sprintf("Server on port %d: %s", port, endError(e))
	}
	ended := append(keys{"port", port, "message", message, "output", wellFormed(string(e.Stdout)), "errors",
		wellFormed(string(e.Stderr)), "returncode", e.ExitCode, "command", *a.Command}, endOf(e)...)
	if err == nil && e.Failed() {
		err = withKeys(endError(e), ended)
	}
	return success(ended), err
}
