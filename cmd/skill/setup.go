package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"textskill/cmd/skill/contrib"
	"textskill/internal/usage"
	"textskill/parser/rawjson"
	"textskill/skill"
	"textskill/skill/dialect"
	"textskill/skill/hook"
)

// A host is a program that starts MCP servers, with the place and form of its configuration.
type host struct {
	name   string
	title  string
	file   func(places) string
	inside string   // the file in a project's folder, for this project alone; "" for none
	toml   bool     // the file is TOML; else JSON, with comments
	keys   []string // of the object or table in the file that lists servers
	entry  func(command string, args []string) entry
	// what the host writes for the project's folder; "" if servers start in it, "-" if it has none
	folder string
	reload string // what makes the host read its file again
}

// setupOptions are the flags of skill setup.
type setupOptions struct {
	workspaceOptions
	tools []string
	ask   string
	pass  []string // the arguments of "skill mcp" that the flags say

	hooks, remove, show, user, project, check bool
}

// entry is how a host has a server: names and values, in the order to write them.
type entry []member

type member struct {
	name  string
	value any
}

var hosts = []host{
	{name: "claude-code", title: "Claude Code", inside: ".mcp.json", keys: []string{"mcpServers"},
		entry:  stdioEntry,
		file:   func(p places) string { return filepath.Join(p.home, ".claude.json") },
		reload: "start Claude Code again; /mcp lists the server"},
	{name: "claude-desktop", title: "Claude Desktop", keys: []string{"mcpServers"}, entry: plainEntry,
		folder: "-",
		file:   func(p places) string { return filepath.Join(p.config, "Claude", "claude_desktop_config.json") },
		reload: "quit Claude Desktop and start it again"},
	{name: "cursor", title: "Cursor", inside: ".cursor/mcp.json", keys: []string{"mcpServers"},
		entry: plainEntry, folder: "${workspaceFolder}",
		file:   func(p places) string { return filepath.Join(p.home, ".cursor", "mcp.json") },
		reload: "Cursor reads the file by itself; its settings list the server under MCP"},
	{name: "vscode", title: "VS Code", inside: ".vscode/mcp.json", keys: []string{"servers"},
		entry: stdioEntry, folder: "${workspaceFolder}",
		file:   func(p places) string { return filepath.Join(p.config, "Code", "User", "mcp.json") },
		reload: "VS Code reads the file by itself; run \"MCP: List Servers\" to start the server"},
	{name: "codex", title: "Codex", inside: ".codex/config.toml", keys: []string{"mcp_servers"},
		entry: plainEntry, toml: true,
		file:   func(p places) string { return filepath.Join(p.home, ".codex", "config.toml") },
		reload: "start codex again; \"codex mcp list\" lists the server"},
	{name: "gemini", title: "Gemini CLI", inside: ".gemini/settings.json", keys: []string{"mcpServers"},
		entry:  plainEntry,
		file:   func(p places) string { return filepath.Join(p.home, ".gemini", "settings.json") },
		reload: "start gemini again; /mcp lists the server"},
	{name: "qwen-code", title: "Qwen Code", inside: ".qwen/settings.json", keys: []string{"mcpServers"},
		entry:  plainEntry,
		file:   func(p places) string { return filepath.Join(p.home, ".qwen", "settings.json") },
		reload: "start qwen again; /mcp lists the server"},
	{name: "copilot-cli", title: "Copilot CLI", keys: []string{"mcpServers"}, entry: copilotEntry,
		file:   func(p places) string { return filepath.Join(p.home, ".copilot", "mcp-config.json") },
		reload: "start copilot again; /mcp lists the server"},
	{name: "cline", title: "Cline", keys: []string{"mcpServers"}, entry: plainEntry,
		file: func(p places) string {
			return filepath.Join(p.home, ".cline", "data", "settings", "cline_mcp_settings.json")
		},
		reload: "start cline again"},
	{name: "opencode", title: "opencode", inside: "opencode.json", keys: []string{"mcp"},
		entry:  opencodeEntry,
		file:   func(p places) string { return filepath.Join(p.home, ".config", "opencode", "opencode.json") },
		reload: "start opencode again"},
}

func plainEntry(command string, args []string) entry {
	return entry{{"command", command}, {"args", args}}
}

func stdioEntry(command string, args []string) entry {
	return append(entry{{"type", "stdio"}}, plainEntry(command, args)...)
}

func copilotEntry(command string, args []string) entry {
	return append(append(entry{{"type", "local"}}, plainEntry(command, args)...), member{"tools", []string{"*"}})
}

func opencodeEntry(command string, args []string) entry {
	return entry{{"type", "local"}, {"command", append([]string{command}, args...)}, {"enabled", true}}
}

// serverName is what hosts call this server.
const serverName = "skill"

const setupLong = `setup adds a server to the configuration of a host, such as an editor. The host then starts
"skill mcp". setup keeps the rest of the file, with its comments. It first copies the
file to FILE.bak, or to FILE.bak2 if FILE.bak is another file. The server works in the
folder of the host's project, or in the folder of -C. --project writes the file that the
host reads for one project. --check starts the server as the host would, and lists its
tools.

With --hooks, the host calls "skill hook" before and after each of its own tools. Then
"skill history" lists the host's edits and commands, "skill undo" takes them back,
and "skill doctor" shows whether the host sends events. Without this program, the host
still works.

"setup achilles DIR" writes the skills file-system, read, write, edit, glob, grep and bash
into DIR/skills. AchillesAgentLib uses them in place of its own. "setup agent-skill" writes
SKILL.md below .agents/skills and .claude/skills of the project. With --user it writes them
in your home folder. setup never replaces a file that it did not write.

Hosts of servers:
`

func (c *console) setupCommand(*configuration) *cobra.Command {
	var s setupOptions
	names := append(hostNames(), packageNames()...)
	hooks := hookNames()
	for _, name := range hooks {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	cmd := &cobra.Command{
		Use:       "setup [flags] HOST [DIR]",
		Short:     "Connect an editor or agent to this program",
		Long:      setupLong + inLines(hostNames()) + "\n\nHosts of hooks:\n" + inLines(hooks),
		Example:   "  skill setup claude-code --hooks\n  skill setup claude-code\n  skill setup claude-code --check\n  skill setup cursor --project --allow-domain go\n  skill setup claude-desktop -C ~/notes\n  skill setup --print cursor\n  skill setup --remove vscode\n  skill setup achilles ~/agent",
		Args:      usage.Arguments(1, 2, "a host: "+strings.Join(names, ", ")),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			p := contrib.Named(args[0])
			switch {
			case s.hooks:
				if err := usage.CheckUseless(cmd, "with --hooks",
					append(serverFlags, "project", "check", "user", "workspace")...); err != nil ||
					len(args) > 1 {
					return cmp.Or(err, errors.New("--hooks takes the name of a host, and is for all its projects"))
				}
				return c.setupHooks(&s, args[0])
			case p != nil:
				if err := usage.CheckUseless(cmd, "on "+p.Name, append(serverFlags, "project", "check")...); err != nil {
					return err
				}
				return c.setupPackage(&s, p, args[1:])
			case len(args) > 1:
				return fmt.Errorf("unexpected word %q after %s", args[1], args[0])
			case s.user:
				return fmt.Errorf("--user is for agent-skill; %s is set up for the user in any case", args[0])
			}
			s.pass = passed(cmd)
			return c.setup(cmd.Context(), &s, args[0])
		},
	}
	f := cmd.Flags()
	f.BoolVar(&s.hooks, "hooks", false, "record what the host's own tools change, so that you can undo it")
	f.BoolVar(&s.check, "check", false, "start the server that the host is told to start, and list its tools")
	f.BoolVar(&s.project, "project", false,
		"write the host's file in the project's folder, for that project alone")
	f.BoolVar(&s.remove, "remove", false,
		"take the server, or with --hooks the hooks, out of the configuration")
	f.BoolVar(&s.show, "print", false, "print the file as it would be, and change nothing")
	f.BoolVar(&s.user, "user", false, "with agent-skill: in the home folder, for all projects")
	f.StringSliceVar(&s.tools, "tools", nil,
		"serve the tools of `DIALECT`, or of several with commas between: "+
			strings.Join(dialect.Names(), ", "))
	f.Var(choice[string]{&s.ask, "WHAT", asks}, "ask",
		"let the host ask you before calls that `WHAT`: destroy (replace or remove), change or never (default never)")
	only(f, s.addWorkspace, "workspace")
	only(f, s.addUndo, "state")
	only(f, s.addWorkspace, "read-only")
	only(f, s.addNetwork, "network", "allow-domain")
	return cmd
}

// serverFlags are flags of "skill mcp" that setup passes on.
var serverFlags = []string{"tools", "ask", "read-only", "network", "allow-domain"}

// passed returns as arguments the serverFlags that were given.
func passed(cmd *cobra.Command) (args []string) {
	for _, name := range serverFlags {
		f := cmd.Flags().Lookup(name)
		list, several := f.Value.(pflag.SliceValue)
		switch {
		case !f.Changed:
		case several:
			args = append(args, "--"+name, strings.Join(list.GetSlice(), ","))
		case f.Value.Type() == "bool" && f.Value.String() == "true":
			args = append(args, "--"+name)
		case f.Value.Type() != "bool":
			args = append(args, "--"+name, f.Value.String())
		}
	}
	return args
}

// nearHost returns the host that a person may have meant: claude-code for claude.
func nearHost(word string) string {
	word = strings.ReplaceAll(strings.ToLower(word), " ", "-")
	best, least := "", 3
	for _, name := range append(hostNames(), packageNames()...) {
		if strings.HasPrefix(name, word) || strings.HasPrefix(word, name) {
			return name
		}
		if d := skill.Distance(word, name); d < least {
			best, least = name, d
		}
	}
	return best
}

// inLines writes names for the help, half of them in each line.
func inLines(names []string) string {
	half := len(names) / 2
	return strings.Join(names[:half], ", ") + ",\n" + strings.Join(names[half:], ", ") + "."
}

func packageNames() (names []string) {
	for _, p := range contrib.Packages {
		names = append(names, p.Name)
	}
	return names
}

// setupPackage is skill setup of files for agents: below the folder that is named, the user's, or
// that of the project.
func (c *console) setupPackage(s *setupOptions, p *contrib.Package, named []string) error {
	dir := cmp.Or(append(named, s.Dir, ".")...)
	takesDir := p.Name != "agent-skill"
	switch {
	case !takesDir && len(named) > 0:
		return fmt.Errorf("%s takes no folder; -C names the project", p.Name)
	case takesDir && s.user:
		return fmt.Errorf("--user is for agent-skill; name the folder: %s setup %s DIR", c.program(), p.Name)
	case takesDir && len(named) == 0:
		return fmt.Errorf("name the folder in which the agent starts: %s setup %s DIR", c.program(), p.Name)
	case s.user:
		at, err := c.getenv.places()
		if err != nil {
			return c.failed(err)
		}
		dir = at.home
	}
	if err := checkDir(dir); err != nil {
		return c.failed(err)
	}
	program, err := os.Executable()
	if err != nil {
		return c.failed(err)
	}
	if s.show {
		return c.printPackage(p, program)
	}
	none := "is set up already in"
	if s.remove {
		program, none = "", "is not in"
	}
	changed, err := c.putPackage(p, dir, program)
	if err == nil && !changed {
		fmt.Fprintln(c.stdout, p.Name, none, dir)
	}
	return c.failed(err)
}

// putPackage writes the files of a package that call a program, or removes them if program is "".
// It says which, and whether there were any.
func (c *console) putPackage(p *contrib.Package, dir, program string) (changed bool, err error) {
	did, names := "wrote", []string(nil)
	if program != "" {
		names, err = p.Install(dir, program)
	} else {
		did = "removed"
		names, err = p.Remove(dir)
	}
	for _, name := range names {
		fmt.Fprintln(c.stdout, did, name)
	}
	return len(names) > 0, err
}

func (c *console) printPackage(p *contrib.Package, program string) error {
	files, err := p.Files(program)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(c.stdout, "-- %s --\n%s", name, files[name])
	}
	return c.failed(err)
}

// hostNamed returns the host of a name.
func hostNamed(name string) (host, error) {
	for _, known := range []string{name, strings.TrimSuffix(name, "-cli"), name + "-cli"} {
		if i := slices.Index(hostNames(), known); i >= 0 {
			return hosts[i], nil
		}
	}
	if s := hook.SetupOf(name); s != nil && !slices.Contains(hostNames(), s.Host) {
		return host{}, fmt.Errorf("%q is a host of hooks, not of servers; type --hooks too", name)
	}
	if near := nearHost(name); near != "" {
		return host{}, fmt.Errorf("%q is not a host; did you mean %s?", name, near)
	}
	return host{}, fmt.Errorf("%q is not a host; the hosts are %s; \"setup --print cursor\" prints an entry for "+
		"others", name, strings.Join(append(hostNames(), packageNames()...), ", "))
}

// host returns the host of a name. It names all that is wrong with the flags.
func (s *setupOptions) host(name string) (host, error) {
	h, unknown := hostNamed(name)
	_, err := dialectsOf(s.tools, -1)
	wrong := errors.Join(unknown, err)
	if s.Network && len(s.AllowDomains) > 0 {
		wrong = errors.Join(wrong,
			errors.New("--network reaches every host; leave it out to name hosts with --allow-domain"))
	}
	if s.project && unknown == nil && h.inside == "" {
		wrong = errors.Join(wrong, fmt.Errorf("%s has no project; leave --project out", h.title))
	}
	return h, wrong
}

// setup is skill setup.
func (c *console) setup(ctx context.Context, s *setupOptions, name string) error {
	h, err := s.host(name)
	if err != nil {
		return err
	}
	var words []string
	if !s.remove && !s.check {
		if words, err = h.server(c.program(), s); err != nil {
			return err
		}
		state, err := c.getenv.ownState(&s.workspaceOptions)
		if err != nil {
			return c.failed(err)
		}
		if state != "" {
			words = append(words, "--state", state)
		}
	}
	if err := checkDir(s.Dir); err != nil {
		return c.failed(err)
	}
	file, err := c.hostFile(h, s)
	if err != nil {
		return c.failed(err)
	}
	file, before, err := readHost(file)
	switch {
	case err != nil:
		return c.failed(err)
	case s.check:
		return c.failed(c.checkHost(ctx, h, s, file, before))
	}
	return c.writeHost(h, s, words, file, before)
}

// writeHost puts the server that words start into a host's file, or takes it out of there.
func (c *console) writeHost(h host, s *setupOptions, words []string, file string, before []byte) error {
	var e entry
	if words != nil {
		e = h.entry(words[0], words[1:])
	}
	after, err := h.edit(before, e)
	switch {
	case err != nil:
		return c.failed(fmt.Errorf("%s: %w; the file is left as it is: mend it, and type this again",
			file, err))
	case s.show:
		_, err := c.stdout.Write(after)
		return err
	case bytes.Equal(before, after) && s.remove:
		fmt.Fprintf(c.stdout, "%s has no server %s in %s\n", h.title, serverName, file)
		return nil
	case bytes.Equal(before, after):
		fmt.Fprintf(c.stdout, "%s is set up already in %s\n", h.title, file)
		return nil
	}
	backup, err := replaceFile(file, before, after)
	if err != nil {
		return c.failed(err)
	}
	kept := ""
	if backup != "" {
		kept = "; the file as it was is " + backup
	}
	if s.remove {
		reload, _, _ := strings.Cut(h.reload, ";") // no list has the server any more
		fmt.Fprintf(c.stdout, "%s no longer starts skill: it is taken out of %s%s\n%s\n", h.title, file,
			kept, reload)
		return nil
	}
	fmt.Fprintf(c.stdout, "%s is set up in %s%s\nit will start: %s\n%s\n", h.title, file, kept,
		strings.Join(words, " "), h.reload)
	return nil
}

// hostFile returns the file of a host that the flags mean.
func (c *console) hostFile(h host, s *setupOptions) (string, error) {
	if s.project {
		return filepath.Abs(filepath.Join(s.Dir, filepath.FromSlash(h.inside)))
	}
	p, err := c.getenv.places()
	if err != nil {
		return "", err
	}
	return h.file(p), nil
}

// checkDir fails if the workspace is not a directory; "" is that of the host's project.
func checkDir(workspace string) error {
	switch info, err := os.Stat(workspace); {
	case workspace == "":
		return nil
	case err != nil:
		return fmt.Errorf("workspace %s: %w", workspace, errors.Unwrap(err))
	case !info.IsDir():
		return fmt.Errorf("workspace %s is not a directory", workspace)
	}
	return nil
}

// readHost returns the file that a name leads to and what it holds, nothing for none.
func readHost(name string) (file string, data []byte, err error) {
	file = name
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real // a link to the file stays one
	}
	// of a pipe the end would be waited for
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return "", nil, fmt.Errorf("%s is not a file; move it away, and type this again", file)
	}
	if data, err = os.ReadFile(file); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return file, data, err
}

func hostNames() (names []string) {
	for _, h := range hosts {
		names = append(names, h.name)
	}
	return names
}

// server returns the command line that starts this program as the flags say. Without -C, and in a
// project's own file, it works in the folder of the host's project.
func (h host) server(program string, s *setupOptions) ([]string, error) {
	command, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{command, "mcp"}
	switch {
	case s.Dir != "" && !s.project:
		dir, err := filepath.Abs(s.Dir)
		if err != nil {
			return nil, err
		}
		args = append(args, "-C", dir)
	case h.folder == "-":
		return nil, fmt.Errorf("%s has no project; name the folder to work in: %s setup %s -C DIR", h.title,
			program, h.name)
	case h.folder != "":
		args = append(args, "-C", h.folder)
	}
	return append(args, s.pass...), nil
}

// replaceFile puts data in the place of a file's. It returns the name of the copy that it has
// made before; "" if there was no file.
func replaceFile(file string, before, data []byte) (backup string, err error) {
	mode := fs.FileMode(0o600) // such files hold keys of other servers
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
		if backup, err = keep(file, before, mode); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	t, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return "", err
	}
	defer os.Remove(t.Name())
	_, err = t.Write(data)
	if err := errors.Join(err, t.Chmod(mode), t.Sync(), t.Close()); err != nil {
		return "", err
	}
	return backup, os.Rename(t.Name(), file)
}

// keep copies a file to FILE.bak, or to FILE.bak2 and so on if there is another file of that name.
func keep(file string, data []byte, mode fs.FileMode) (backup string, err error) {
	backup = file + ".bak"
	for i := 2; ; i++ {
		f, err := os.OpenFile(backup, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err == nil {
			_, err = f.Write(data)
			return backup, errors.Join(err, f.Close())
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		if info, err := os.Lstat(backup); err == nil && info.Mode().IsRegular() {
			if same, err := os.ReadFile(backup); err == nil && bytes.Equal(same, data) {
				return backup, nil
			}
		}
		backup = fmt.Sprintf("%s.bak%d", file, i)
	}
}

// encode returns a value as JSON on one line, which is also how TOML has it.
func encode(v any) string {
	return strings.ReplaceAll(string(rawjson.Encode(v)), `","`, `", "`)
}
