package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/dialect"
)

// When the person is asked before a call.
const (
	askDestroy = "destroy" // before what may replace or remove
	askChange  = "change"  // before what may change anything
	askNever   = "never"
	askHosts   = "hosts" // after a command that tried to reach a host that is not allowed
)

// asks lists the values of --ask for clients that ask their user. A terminal can ask about hosts, too.
var asks = []string{askDestroy, askChange, askNever}

// maxAsked is how many characters of a call the person sees who is asked about it: all of
// most commands.
const maxAsked = 2000

// A gate lets calls pass, asks the person about them, or refuses them.
type gate struct {
	*console
	rules  toolRules
	when   string
	ask    func(question string) (string, error) // nil if there is nobody to ask
	always map[string]bool                       // names of tools that the person has allowed for good
}

// The errors that end a run because nobody can be asked about a call.
var (
	errUnasked = errors.New("not done, because it needs your consent")
	// which --ask and allow do not change
	errRuled = errors.New("not done, because your settings say that it needs your consent")
)

// newGate returns what --ask says, without it otherwise, and the rules of the user and of a
// workspace that is trusted; nil if they allow all.
func (c *console) newGate(set *configuration, given, otherwise string) *gate {
	when := cmp.Or(given, otherwise)
	rules := set.rules(given != "")
	if when == askNever && len(rules.Ask)+len(rules.Deny) == 0 {
		return nil
	}
	return &gate{console: c, rules: rules, when: when, always: map[string]bool{}}
}

// setGate lets the calls of a run pass the gate.
func (c *console) setGate(cfg *agent.Config, r *runOptions, otherwise string,
	ask func(string) (string, error)) {
	given := r.ask
	if given == askHosts {
		given = ""
		if ask != nil {
			cfg.Hosts = hostsAsked(ask)
		}
	}
	if g := c.newGate(r.set, given, otherwise); g != nil {
		g.ask = ask
		cfg.Allow = g.allow
	}
}

// hostsAsked implements Hosts of [agent.Config]: it asks once about each host.
func hostsAsked(ask func(string) (string, error)) func(context.Context, *skill.Executor,
	[]string) (string, error) {
	var mu sync.Mutex
	denied := map[string]bool{}
	return func(_ context.Context, x *skill.Executor, hosts []string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		var notes []string
		for _, host := range hosts {
			if !denied[host] {
				reply, err := ask("A command tried to reach " + host +
					". Let commands reach it until this program ends? (yes or no) ")
				if err != nil && !errors.Is(err, errLeft) {
					return "", err
				}
				if strings.HasPrefix(strings.ToLower(reply), "y") {
					if err := x.AllowHost(host); err != nil {
						return "", err
					}
					notes = append(notes, "[the user has allowed "+host+" now: run the command again]")
					continue
				}
			}
			denied[host] = true
			notes = append(notes, "[the user did not allow "+host+"]")
		}
		return strings.Join(notes, "\n"), nil
	}
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok })
}

// verdict returns why a call of a tool is refused, "" if it is not, and whether the person
// is asked first.
func (g *gate) verdict(name string, effect dialect.Effect) (refusal string, ask bool) {
	switch {
	case matches(g.rules.Deny, name):
		return "The user's settings deny this tool.", false
	case matches(g.rules.Ask, name):
		return "", true
	case matches(g.rules.Allow, name), g.when == askNever, effect == dialect.Reads, g.when == askDestroy &&
		effect == dialect.Adds:
		return "", false
	}
	return "", true
}

// allow implements Allow of [agent.Config].
func (g *gate) allow(_ context.Context, call agent.ToolCall, effect dialect.Effect) (refusal string,
	err error) {
	refusal, ask := g.verdict(call.ToolName, effect)
	if !ask || g.always[call.ToolName] {
		return refusal, nil
	}
	what := call.ToolName + " " + string(call.Args)
	if g.ask == nil {
		why := errUnasked
		if matches(g.rules.Ask, call.ToolName) {
			why = errRuled
		}
		return "", fmt.Errorf("%w: %s", why, oneLine(what, lineWidth))
	}
	fmt.Fprintf(g.stdout, "\n     %s\n", oneLine(what, maxAsked))
	reply, err := g.ask("Allow this call? (yes, no, or always for this tool) ")
	if err != nil && !errors.Is(err, errLeft) {
		return "", err
	}
	switch reply = strings.ToLower(reply); {
	case strings.HasPrefix(reply, "a"):
		g.always[call.ToolName] = true
	case !strings.HasPrefix(reply, "y"):
		return "The user did not allow this call. Ask what to do instead, or go another way.", nil
	}
	return "", nil
}

// rulesToEdit returns the file in which users write their rules.
func (c *console) rulesToEdit() string { return cmp.Or(c.getenv.userRules(), rulesFile) }

// notToAsk says what to edit so that the rules do not ask about a tool.
func (c *console) notToAsk(tool string) string {
	return fmt.Sprintf("take %s out of ask under [tools] in %s or in the workspace's %s", tool,
		c.rulesToEdit(), rulesFile)
}

// check implements Check of [mcpserver.Config].
func (g *gate) check(tool string, effect dialect.Effect) (refusal string, ask bool) {
	if refusal, ask = g.verdict(tool, effect); !ask {
		return refusal, false
	}
	set := fmt.Sprintf("add it to allow under [tools] in %s, or start %s mcp with --ask never",
		g.rulesToEdit(), g.program())
	if matches(g.rules.Ask, tool) {
		set = g.notToAsk("it")
	}
	return "This call needs the user's consent, and this client cannot ask for it. To allow " + tool +
		", " + set + ".", true
}
