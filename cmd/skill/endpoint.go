package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"textskill/parser/rawjson"
	"textskill/skill/agent"
	"textskill/skill/agent/provider"
)

// learnedFor is how long it is remembered what an endpoint was found to refuse.
const learnedFor = 7 * 24 * time.Hour

// learned are the rules of endpoints that runs have found out, with the time of that, by the
// endpoint's address, the model and the protocol.
type learned map[string]map[string]time.Time

// readLearned returns what is remembered. A file that cannot be read is as good as none.
func readLearned(file string) learned {
	all := learned{}
	if data, err := os.ReadFile(file); err != nil || json.Unmarshal(data, &all) != nil {
		all = learned{}
	}
	for key, rules := range all {
		maps.DeleteFunc(rules, func(_ string, at time.Time) bool { return time.Since(at) > learnedFor })
		if len(rules) == 0 {
			delete(all, key)
		}
	}
	return all
}

func (l learned) write(file string) error {
	return saveFile(file, append(rawjson.Encode(l), '\n'), true)
}

// learn gives an endpoint the rules that runs have found out, and has it add those that this
// run does. It returns the window that the endpoint has named, 0 for none.
func (c *console) learn(e *provider.Endpoint, cfg *agent.Config) (window int) {
	address := cmp.Or(e.BaseURL, e.Provider)
	if u, err := url.Parse(e.BaseURL); err == nil && u.Host != "" { // without a key that it may have
		address = u.Scheme + "://" + u.Host + strings.TrimRight(u.Path, "/")
	}
	key, file := strings.TrimSpace(address+" "+e.Model+" "+e.API), c.getenv.inState("endpoints.json")
	for _, rule := range slices.Sorted(maps.Keys(readLearned(file)[key])) {
		if n, ok := strings.CutPrefix(rule, "window "); ok {
			if size, _ := strconv.Atoi(n); size >= agent.MinWindow {
				window = size
			}
			continue
		}
		e.Rules = append(e.Rules, rule)
	}
	var mu sync.Mutex
	e.Learned = func(rule string) {
		mu.Lock()
		defer mu.Unlock()
		if name, ok := strings.CutPrefix(rule, "refused tool "); ok {
			cfg.Warn(fmt.Sprintf("the endpoint refuses the tool %s, so the model is not offered it", name))
		}
		if file == "" {
			return
		}
		all := readLearned(file)
		if all[key] == nil {
			all[key] = map[string]time.Time{}
		}
		if strings.HasPrefix(rule, "window ") {
			maps.DeleteFunc(all[key],
				func(old string, _ time.Time) bool { return strings.HasPrefix(old, "window ") })
		}
		all[key][rule] = time.Now().UTC().Truncate(time.Second)
		if err := all.write(file); err != nil {
			cfg.Warn("what the endpoint refuses cannot be remembered: " + err.Error())
		}
	}
	return window
}

// endpoints shows what is remembered of endpoints, or forgets it.
func (c *console) endpoints(forget bool) error {
	file := c.getenv.inState("endpoints.json")
	all := readLearned(file)
	if forget {
		if len(all) > 0 {
			if err := (learned{}).write(file); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(c.stdout, "forgotten: what %d models refuse\n", len(all))
		return err
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(c.stdout, "no endpoint is known to refuse anything")
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintln(c.stdout, key)
		for _, rule := range slices.Sorted(maps.Keys(all[key])) {
			fmt.Fprintf(c.stdout, "  %s (until %s)\n", rule,
				all[key][rule].Add(learnedFor).Format(time.DateOnly))
		}
	}
	return nil
}
