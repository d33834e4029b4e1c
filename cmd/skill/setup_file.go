package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"

	"textskill/internal/usage"
	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/hook"
)

// edit sets or, if e is nil, removes the server in what the host's file holds. A byte order
// mark and the ends of lines stay.
func (h host) edit(data []byte, e entry) ([]byte, error) {
	edit := editJSON
	if h.toml {
		edit = editTOML
	}
	text := bytes.TrimPrefix(data, []byte("\ufeff"))
	mark := data[:len(data)-len(text)]
	text, restore := unixLines(text)
	text, err := edit(text, append(h.keys, serverName), e)
	return slices.Concat(mark, restore(text)), err
}

// unixLines returns a text with line ends of Unix, and the function that gives a text the line ends
// that this one had.
func unixLines(text []byte) (unix []byte, restore func([]byte) []byte) {
	lf, crlf := []byte("\n"), []byte("\r\n")
	if n := bytes.Count(text, lf); n == 0 || n != bytes.Count(text, crlf) {
		return text, func(text []byte) []byte { return text }
	}
	return bytes.ReplaceAll(text, crlf, lf), func(text []byte) []byte { return bytes.ReplaceAll(text, lf, crlf) }
}

// setMembers sets the members of an object whose line is indented by outer.
func setMembers(o *hujson.Object, e entry, outer, indent string) error {
	for _, m := range e {
		text := encode(m.value)
		i, err := placed(o, m.name, text, outer+indent, outer, true)
		if err != nil {
			return err
		}
		if !sameJSON(o.Members[i].Value, text) {
			o.Members[i].Value.Value = parsed(text)
		}
	}
	return nil
}

// parseHost parses a host's file. One that holds nothing is an empty object.
func parseHost(data []byte) (hujson.Value, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}\n")
	}
	v, err := hujson.Parse(data)
	if err != nil {
		err = errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	return v, err
}

// indentOf returns how the first member of a file is indented, two spaces if it has no line of its own.
func indentOf(v hujson.Value) string {
	if o, ok := v.Value.(*hujson.Object); ok && len(o.Members) > 0 {
		before := string(o.Members[0].Name.BeforeExtra)
		if i := strings.LastIndexByte(before, '\n'); i >= 0 {
			return before[i+1:]
		}
	}
	return "  "
}

// editJSON sets the members of the object at a path of keys, or removes the object if e
// is nil. All else stays as it is, comments included. Empty data is an empty object.
func editJSON(data []byte, path []string, e entry) ([]byte, error) {
	v, err := parseHost(data)
	if err != nil {
		return nil, err
	}
	indent := indentOf(v)
	at := &v
	for depth, key := range path {
		o, ok := at.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%q is not in an object", key)
		}
		i, err := placed(o, key, "{}", strings.Repeat(indent, depth+1), strings.Repeat(indent, depth), e != nil)
		switch {
		case err != nil:
			return nil, err
		case i < 0:
			return data, nil
		case e == nil && depth == len(path)-1:
			removeMember(o, i)
			return v.Pack(), nil
		}
		at = &o.Members[i].Value
	}
	o, ok := at.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("%q is not an object", path[len(path)-1])
	}
	if err := setMembers(o, e, strings.Repeat(indent, len(path)), indent); err != nil {
		return nil, err
	}
	return v.Pack(), nil
}

// editHooks puts the entries of events into a host's file, in the place of those that are there, or
// takes them out if there are no events. All else stays as it is.
func editHooks(data []byte, s *hook.Setup, events []hook.Member) ([]byte, error) {
	if s.TOML {
		return editTables(data, s, events)
	}
	v, err := parseHost(data)
	if err != nil {
		return nil, err
	}
	root, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New("it is not an object")
	}
	for _, m := range s.Top {
		if _, err := placed(root, m.Name, m.Value, "  ", "", events != nil); err != nil {
			return nil, err
		}
	}
	at, err := placed(root, "hooks", "{}", "  ", "", events != nil)
	if err != nil {
		return nil, err
	}
	if at < 0 {
		return data, nil
	}
	hooks, ok := root.Members[at].Value.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New("\"hooks\" is not an object")
	}
	before := len(hooks.Members)
	for _, event := range slices.Concat(s.Calls, s.Ends) {
		if err := editEvent(hooks, s, event, events); err != nil {
			return nil, err
		}
	}
	if events == nil && len(hooks.Members) == 0 && before > 0 {
		removeMember(root, at)
	}
	return v.Pack(), nil
}

// editTables is editHooks for a file in TOML. It changes lines, and then compares the other hooks and the rest
// of the file with those before.
func editTables(data []byte, s *hook.Setup, events []hook.Member) ([]byte, error) {
	text, restore := unixLines(data)
	before, err := readTOML(text)
	if err != nil {
		return nil, err
	}
	var out, table strings.Builder
	in := false // in a table of hooks
	flush := func() {
		ours := in && isOursTOML(table.String(), s)
		for line := range strings.Lines(table.String()) {
			if !ours || strings.HasPrefix(strings.TrimSpace(line), "#") {
				out.WriteString(line)
			}
		}
		table.Reset()
	}
	for line := range strings.Lines(string(text)) {
		if word := strings.TrimSpace(line); strings.HasPrefix(word, "[") {
			flush()
			in = word == "[[hooks]]"
		}
		table.WriteString(line)
	}
	flush()
	if len(events) > 0 && out.Len() > 0 && !strings.HasSuffix(out.String(), "\n") {
		out.WriteString("\n")
	}
	for _, e := range events {
		out.WriteString(e.Value)
	}
	after, err := readTOML([]byte(out.String()))
	if err != nil || !reflect.DeepEqual(withoutOurs(before, s), withoutOurs(after, s)) {
		return nil, errors.New("it has hooks in a form that only a person can change")
	}
	return restore([]byte(out.String())), nil
}

// isOursTOML reports whether a table of hooks calls the hook.
func isOursTOML(table string, s *hook.Setup) bool {
	v, err := readTOML([]byte(table))
	return err == nil && len(withoutOurs(v, s)) == 0
}

// withoutOurs removes the hooks that call the hook from what a file means.
func withoutOurs(v map[string]any, s *hook.Setup) map[string]any {
	list, _ := v["hooks"].([]any)
	list = slices.DeleteFunc(list, func(one any) bool {
		table, _ := one.(map[string]any)
		line, _ := table["command"].(string)
		return s.IsOurs(line)
	})
	if v["hooks"] = list; len(list) == 0 {
		delete(v, "hooks")
	}
	return v
}

// editEvent is editHooks for one event.
func editEvent(hooks *hujson.Object, s *hook.Setup, event string, events []hook.Member) error {
	wanted := ""
	if i := slices.IndexFunc(events, func(m hook.Member) bool { return m.Name == event }); i >= 0 {
		wanted = events[i].Value
	}
	at, err := placed(hooks, event, "["+wanted+"]", "    ", "  ", wanted != "")
	if err != nil || at < 0 {
		return err
	}
	list, ok := hooks.Members[at].Value.Value.(*hujson.Array)
	if !ok {
		return fmt.Errorf("%q is not a list", event)
	}
	has := 0
	for i := range list.Elements {
		if wanted != "" && sameJSON(list.Elements[i], wanted) {
			has++
		}
	}
	if has == 1 && countOurs(list, s) == 1 {
		return nil
	}
	removed := removeOurs(list, s)
	if wanted != "" {
		e := hujson.Value{Value: parsed(wanted)}
		if n := len(list.Elements); n > 0 {
			e.BeforeExtra = list.Elements[n-1].BeforeExtra
		}
		list.Elements = append(list.Elements, e)
	}
	if len(list.Elements) == 0 && removed {
		removeMember(hooks, at)
	}
	return nil
}

// isOurs reports whether an entry of a host's file calls the hook.
func isOurs(v hujson.Value, s *hook.Setup) bool {
	o, ok := v.Value.(*hujson.Object)
	return ok && slices.ContainsFunc(o.Members, func(m hujson.ObjectMember) bool {
		text, ok := m.Value.Value.(hujson.Literal)
		return ok && text.Kind() == '"' && s.IsOurs(text.String())
	})
}

// inGroup returns the entries of a group; nil for what is no group.
func inGroup(v hujson.Value) *hujson.Array {
	if o, ok := v.Value.(*hujson.Object); ok {
		if i, err := memberOf(o, "hooks"); err == nil && i >= 0 {
			list, _ := o.Members[i].Value.Value.(*hujson.Array)
			return list
		}
	}
	return nil
}

func countOurs(list *hujson.Array, s *hook.Setup) (n int) {
	for _, e := range list.Elements {
		if in := inGroup(e); in != nil {
			n += countOurs(in, s)
		} else if isOurs(e, s) {
			n++
		}
	}
	return n
}

// removeOurs takes the entries that call the hook out of a list, and groups that are empty then.
func removeOurs(list *hujson.Array, s *hook.Setup) (removed bool) {
	list.Elements = slices.DeleteFunc(list.Elements, func(e hujson.Value) bool {
		if in := inGroup(e); in != nil {
			gone := removeOurs(in, s)
			removed = removed || gone
			return gone && len(in.Elements) == 0
		}
		ours := isOurs(e, s)
		removed = removed || ours
		return ours
	})
	return removed
}

// noHooksInTOML fails if Codex's configuration has hooks, too: codex reads the hooks of one file.
func noHooksInTOML(file string) error {
	data, err := readRegular(file)
	if err != nil {
		return nil
	}
	if v, err := readTOML(data); err == nil && v["hooks"] != nil {
		return fmt.Errorf("%s has hooks, and codex reads those of one file: move them to hooks.json first", file)
	}
	return nil
}

// memberOf returns the position of the member with a name, -1 for none. A name that is
// given twice is an error, for it is the host's to choose which one counts.
func memberOf(o *hujson.Object, name string) (int, error) {
	at := -1
	for i, m := range o.Members {
		switch literal, ok := m.Name.Value.(hujson.Literal); {
		case !ok || literal.String() != name:
		case at >= 0:
			return at, fmt.Errorf("%q is given twice", name)
		default:
			at = i
		}
	}
	return at, nil
}

// placed returns the position of the member with a name. If the member is missing, it is added with
// a text, or the position is -1.
func placed(o *hujson.Object, name, text, indent, closing string, add bool) (int, error) {
	i, err := memberOf(o, name)
	if err != nil || i >= 0 || !add {
		return i, err
	}
	addMember(o, name, text, indent, closing)
	return len(o.Members) - 1, nil
}

func parsed(text string) hujson.ValueTrimmed {
	v, err := hujson.Parse([]byte(text))
	if err != nil {
		panic(err) // encode has written it
	}
	return v.Value
}

func sameJSON(v hujson.Value, text string) bool {
	have, want := v.Clone(), hujson.Value{Value: parsed(text)}
	have.Minimize()
	want.Minimize()
	return bytes.Equal(have.Pack(), want.Pack())
}

// addMember adds a member to an object, on a line of its own. A comment after the last
// member stays with that one.
func addMember(o *hujson.Object, name, text, indent, closing string) {
	m := hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: hujson.Extra("\n" + indent), Value: hujson.String(name)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: parsed(text)},
	}
	// it has a comma, so the new one gets one
	if n := len(o.Members); n > 0 && o.Members[n-1].Value.AfterExtra != nil {
		m.Value.AfterExtra = hujson.Extra{}
	}
	if comment := strings.TrimRight(string(o.AfterExtra), " \t\r\n"); comment != "" {
		m.Name.BeforeExtra = hujson.Extra(comment + "\n" + indent)
	}
	o.Members = append(o.Members, m)
	o.AfterExtra = hujson.Extra("\n" + closing)
}

// removeMember removes a member of an object. A comment before it stays.
func removeMember(o *hujson.Object, i int) {
	comment := strings.TrimRight(string(o.Members[i].Name.BeforeExtra), " \t\r\n")
	comma := o.Members[i].Value.AfterExtra
	o.Members = slices.Delete(o.Members, i, i+1)
	if n := len(o.Members); i == n && n > 0 && comma != nil && o.Members[n-1].Value.AfterExtra == nil {
		o.Members[n-1].Value.AfterExtra = hujson.Extra{}
	}
	next := &o.AfterExtra
	if i < len(o.Members) {
		next = &o.Members[i].Name.BeforeExtra
	}
	*next = append(hujson.Extra(comment), *next...)
}

// editTOML sets the members of the table at a path of keys, or removes the table if e is
// nil. All else stays as it is, comments included. It changes lines, and then compares
// what the file means with what it should: a file that it cannot change by lines is an
// error.
func editTOML(data []byte, path []string, e entry) ([]byte, error) {
	before, err := readTOML(data)
	if err != nil {
		return nil, err
	}
	wanted, err := readTOML(data)
	if err != nil {
		return nil, err
	}
	table := strings.Join(path, ".")
	if change(wanted, path, e); reflect.DeepEqual(before, wanted) {
		return data, nil
	}
	text := editLines(string(data), table, e)
	if after, err := readTOML([]byte(text)); err != nil || !sameTOML(after, wanted, path[0]) {
		return nil, fmt.Errorf("it has %s in a form that only a person can change", table)
	}
	return []byte(text), nil
}

// editLines is editTOML without the comparison.
func editLines(data, table string, e entry) string {
	if e == nil {
		return withoutTable(data, table)
	}
	members := ""
	for _, m := range e {
		members += m.name + " = " + encode(m.value) + "\n"
	}
	var out strings.Builder
	in, placed := false, false // in the lines of the table; its members are written
	for line := range strings.Lines(data) {
		text := strings.TrimSpace(line)
		name, _, _ := strings.Cut(text, "=")
		if strings.HasPrefix(text, "[") {
			in = text == "["+table+"]"
		} else if in && !strings.HasPrefix(text, "#") && e.has(strings.TrimSpace(name)) {
			continue
		}
		out.WriteString(line)
		if in && !placed {
			out.WriteString(members)
			placed = true
		}
	}
	switch {
	case placed:
		return out.String()
	case out.Len() > 0:
		out.WriteString("\n")
	}
	return out.String() + "[" + table + "]\n" + members
}

// withoutTable removes a table with the tables in it. Comments stay.
func withoutTable(data, table string) string {
	var out strings.Builder
	in := false
	for line := range strings.Lines(data) {
		text := strings.TrimSpace(line)
		if strings.HasPrefix(text, "[") {
			in = text == "["+table+"]" || strings.HasPrefix(text, "["+table+".")
		}
		if !in || strings.HasPrefix(text, "#") {
			out.WriteString(line)
		}
	}
	text := out.String()
	if in && strings.HasSuffix(text, "\n\n") { // the line that parted the table from what is before it
		return text[:len(text)-1]
	}
	return text
}

func (e entry) has(name string) bool {
	return slices.ContainsFunc(e, func(m member) bool { return m.name == name })
}

func readTOML(data []byte) (map[string]any, error) {
	v := map[string]any{}
	err := toml.Unmarshal(data, &v)
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := wrong.Position()
		return nil, fmt.Errorf("line %d, column %d: %s", line, column, usage.WrongTOML(err))
	}
	return v, err
}

// sameTOML reports whether two files mean the same, where a table at key without anything in it
// means as much as none.
func sameTOML(a, b map[string]any, key string) bool {
	for _, v := range []map[string]any{a, b} {
		if table, ok := v[key].(map[string]any); ok && len(table) == 0 {
			delete(v, key)
		}
	}
	return reflect.DeepEqual(a, b)
}

// change sets the members of the table at a path in v, or removes it if e is nil.
func change(v map[string]any, path []string, e entry) {
	for i, key := range path {
		if i == len(path)-1 && e == nil {
			delete(v, key)
			return
		}
		inner, ok := v[key].(map[string]any)
		if !ok {
			if e == nil {
				return
			}
			inner = map[string]any{}
			v[key] = inner
		}
		v = inner
	}
	for _, m := range e {
		v[m.name] = m.value
		if list, ok := m.value.([]string); ok { // as toml reads it
			read := make([]any, len(list))
			for i, s := range list {
				read[i] = s
			}
			v[m.name] = read
		}
	}
}

// checkTime is how long a server may take to start and to list its tools.
const checkTime = 30 * time.Second

// checkHost starts the server that a host's file names, as the host would, and prints its tools.
func (c *console) checkHost(ctx context.Context, h host, s *setupOptions, file string, data []byte) error {
	words, err := h.command(data)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	again := fmt.Sprintf("type: %s setup %s", c.program(), h.name)
	if s.project {
		again += " --project"
	}
	if len(words) == 0 {
		return fmt.Errorf("%s has no server %s in %s; %s", h.title, serverName, file, again)
	}
	dir, err := filepath.Abs(cmp.Or(s.Dir, "."))
	if err != nil {
		return err
	}
	for i, word := range words {
		if h.folder != "" && word == h.folder {
			words[i] = dir
		}
	}
	fmt.Fprintf(c.stdout, "%s starts: %s\n", h.title, strings.Join(words, " "))
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	x, err := skill.New(skill.Config{Dir: dir, Program: c.program(), Journal: skill.Journal{Off: true},
		Fence: skill.FenceOff, Unfenced: true})
	if err != nil {
		return err
	}
	defer x.Close()
	names, err := agent.ToolNames(ctx, x,
		skill.Program{Command: words[0], Args: words[1:], Env: os.Environ()})
	if err != nil {
		return fmt.Errorf("it does not work: %w\n%s, then check it again", err, again)
	}
	fmt.Fprintf(c.stdout, "it works and has %d tools: %s\n", len(names), strings.Join(names, ", "))
	return nil
}

// command returns the words of the command that a host's file has for this server, nil for none.
func (h host) command(data []byte) (words []string, err error) {
	all := map[string]any{}
	switch {
	case h.toml:
		all, err = readTOML(bytes.TrimPrefix(data, []byte("\ufeff")))
	case len(bytes.TrimSpace(data)) > 0:
		data, err = hujson.Standardize(bytes.TrimPrefix(data, []byte("\ufeff")))
		if err == nil {
			err = json.Unmarshal(data, &all)
		}
	}
	var at any = all
	for _, key := range append(h.keys, serverName) {
		table, _ := at.(map[string]any)
		at = table[key]
	}
	server, _ := at.(map[string]any)
	for _, name := range []string{"command", "args"} {
		switch v := server[name].(type) {
		case string:
			words = append(words, v)
		case []any:
			for _, word := range v {
				words = append(words, fmt.Sprint(word))
			}
		}
	}
	return words, err
}
