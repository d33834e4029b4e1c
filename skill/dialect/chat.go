package dialect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"textskill/parser"
	"textskill/parser/wire"
	"textskill/skill"
	"textskill/skill/internal/words"
)

// unfenced returns the text command in a prompt that is one fenced block; any other prompt it
// returns as it is. before is how many lines come before the command.
func (d *Dialect) unfenced(prompt string) (command string, before int, notes []string) {
	b, ok := parser.Fenced(prompt)
	if !ok || d.Lookup(parser.Text(b.Inside).Operation) == nil {
		return prompt, 0, nil
	}
	if left := strings.TrimSpace(b.After); left != "" {
		notes = []string{fmt.Sprintf("the text after the fenced block was ignored: %.40q", left)}
	}
	return b.Inside, b.Line - 1, notes
}

// commandsInside says that lines of the content are commands, which do not run. before is how many
// lines come before the prompt.
func (in *call) commandsInside(prompt string, before int) []string {
	if in.tool.param("content") == nil {
		return nil
	}
	var numbers []string
	first := ""
	for i, line := range strings.Split(prompt, "\n") {
		if i > 0 && in.dialect.Lookup(parser.Text(line).Operation) != nil {
			if numbers = append(numbers, fmt.Sprint(before+i+1)); first == "" {
				first = strings.TrimSpace(line)
			}
		}
	}
	switch n := len(numbers); {
	case n == 0:
		return nil
	case n == 1:
		return []string{fmt.Sprintf("line %s looks like a command, but is content: %.40q; --lines reads one command per line",
			numbers[0], first)}
	default:
		return []string{fmt.Sprintf("%s look like commands, but are content: %.40q; --lines reads one command per line",
			linesOf(numbers), first)}
	}
}

// linesOf names the lines with these numbers.
func linesOf(numbers []string) string {
	last := len(numbers) - 1
	switch {
	case last == 0:
		return "line " + numbers[0]
	case last > 4:
		return fmt.Sprintf("lines %s and %d more", strings.Join(numbers[:4], ", "), last-3)
	}
	return "lines " + strings.Join(numbers[:last], ", ") + " and " + numbers[last]
}

// Slips says which arguments of a text command are surely not meant as they are: a path below ~ or with a
// key, a comma or quotes of prose around it, or content that begins with content=. typed is the text
// that was typed; a name in quotes there is meant.
func Slips(args map[string]string, typed string) (notes []string) {
	for _, name := range []string{"path", "destination"} {
		value := args[name]
		first, _, _ := strings.Cut(value, "/")
		if meant := meantPath(value); meant != value && !strings.Contains(typed, `"`+value+`"`) &&
			!strings.Contains(typed, "'"+value+"'") {
			note := fmt.Sprintf("the %s %q is taken as it is", name, value)
			if meant != "" {
				note += fmt.Sprintf("; was %s meant?", meant)
			} else {
				note += "; write a path without a key before it"
			}
			notes = append(notes, note)
		} else if _, err := skill.LocalName(first); err != nil { // a home folder
			notes = append(notes, fmt.Sprintf("the %s %q is taken as it is; %s is a folder of the workspace",
				name, value, first))
		}
	}
	if wrongKey().MatchString(args["content"]) {
		notes = append(notes, fmt.Sprintf("the content begins with %q, which is written, too; the key is content:",
			strings.TrimSpace(wrongKey().FindString(args["content"]))))
	}
	return notes
}

var (
	// a key before a path, as in path=a.txt
	pathKey = words.Pattern(`(?i)^["']?(--)?(path|content|file|file_?name|file_?path|name|dir|directory|folder|source|src|destination|dest|dst|target|from|to)["']?[=:]`)
	// a key before content that is not content:
	wrongKey = words.Pattern(`(?i)^["']?(--)?content["']?\s*(=|")\s*:?`)
)

// meantPath returns a path without the key, the comma and the marks that a model put around it.
func meantPath(name string) string {
	if !strings.ContainsAny(name, "`*,;:=<\"'“‘") { // as most are
		return name
	}
	for {
		was := name
		name = strings.TrimSuffix(strings.TrimPrefix(name, "`"), "`")
		for _, marks := range [][2]string{{"**", "**"}, {`"`, `"`}, {"'", "'"}, {"<", ">"}, {"“", "”"}, {"‘", "’"}} {
			inner, opened := strings.CutPrefix(name, marks[0])
			if inner, closed := strings.CutSuffix(inner, marks[1]); opened && closed {
				name = inner
			}
		}
		if key := pathKey().FindString(name); key != "" {
			name = name[len(key):]
		}
		if len(name) > 2 {
			name = strings.TrimRight(name, ",;:")
		}
		if name == was {
			return name
		}
	}
}

// A placed command is a text command that a prompt holds behind other text.
type placed struct {
	line int // counted from 1
	text string
}

// placed returns the text commands of a prompt that do not begin it: behind a list marker, a prompt
// sign or a mark of Markdown, in a fenced block, or on a later line.
func (d *Dialect) placed(prompt string) (list []placed) {
	lines := strings.SplitAfter(prompt, "\n")
	fenced := false
	for i := 0; i < len(lines); i++ {
		if parser.IsFence(lines[i]) {
			fenced = !fenced
			continue
		}
		text, dressed := d.undressed(lines[i])
		if text == "" {
			continue
		}
		c := placed{i + 1, text}
		if parsed := parser.Text(text); d.Lookup(parsed.Operation).param("content") != nil && !dressed {
			content, _ := parsed.Content()
			starts := strings.TrimSpace(content) != "" || strings.Contains(parsed.Payload, "\n")
			below := !starts || fenced
			end := i + 1
			if inner := end < len(lines) && fenced && below && parser.IsFence(lines[end]); inner {
				last := len(lines) - 1
				for last > end && !parser.IsFence(lines[last]) {
					last--
				}
				end = last // the content has fences, so that only the last one surely ends it
			}
			for end < len(lines) && d.goesOn(lines[end], fenced, below) {
				end++
			}
			c.text = strings.Join(lines[i:end], "")
			if starts {
				c.text = strings.TrimSpace(c.text)
			}
			i = end - 1
		}
		list = append(list, c)
	}
	return list
}

// goesOn reports whether a line belongs to the content of the command before it. below says that
// the content begins below the command, or ends with a fence, so that blank lines belong to it.
func (d *Dialect) goesOn(line string, fenced, below bool) bool {
	text, _ := d.undressed(line)
	return text == "" && (!fenced || !parser.IsFence(line)) && (below || strings.TrimSpace(line) != "")
}

// dress matches what chat models put before a command: list markers, prompt signs, marks of
// Markdown, and the name of the program.
var dress = words.Pattern("^(?:[-*+•–>$#%→]+\\s+|>+|\\$|[(\\[]?\\d{1,3}[.):\\]]+\\s*|\\[[ xX]?\\]\\s+|[`*_]+|(?:[\\w./\\\\-]*[/\\\\])?(?:text)?skill(?:\\.exe)?\\s+|[a-z][.)]\\s+|\\S+[$#]\\s+)")

// label matches a label before a command, such as "Step 1:" or "**Command:**".
var label = words.Pattern("^[\\w ()*`]{1,32}:[*`_]*\\s+")

// undressed returns the text command on a line without what is around it, "" for none. dressed
// reports whether something was around it.
func (d *Dialect) undressed(line string) (command string, dressed bool) {
	whole := strings.TrimFunc(line, parser.IsSpace)
	operation := func(s string) bool {
		word := s[:len(s)-len(strings.TrimLeftFunc(s, func(r rune) bool { return r < 128 && r != '`' && r > ' ' && r != '*' }))]
		return d.Lookup(word) != nil
	}
	s, before := whole, ""
	for labelled := false; !operation(s); {
		if m := dress().FindString(s); m != "" {
			s, before = s[len(m):], before+m
		} else if m := label().FindString(s); m != "" && !labelled {
			s, before, labelled = s[len(m):], before+m, true
		} else {
			at := -1 // of a command in back quotes within a sentence
			for _, t := range d.Tools {
				if i := strings.Index(s, "`"+t.Name+" "); i >= 0 && (at < 0 || i < at) {
					at = i
				}
			}
			if at < 0 {
				return "", false
			}
			s, before = s[at+1:], before+s[:at+1]
		}
	}
	for _, mark := range []string{"`", "**", "__", "*"} { // which the text before the command has opened
		if strings.Count(before, mark)%2 == 0 {
			continue
		}
		if text, after, ok := strings.Cut(s, mark); ok && d.Lookup(text) != nil {
			s = text + after
		} else if ok {
			s = text
		}
	}
	c := parser.Text(s)
	if c.Path == "" || d.Lookup(c.Operation) == nil {
		return "", false
	}
	if meant := meantPath(c.Path); meant != c.Path && meant != "" {
		s = strings.Replace(s, c.Path, meant, 1)
	}
	if t := d.Lookup(c.Operation); len(t.Params()) == 1 { // the words after the path explain the command
		s = strings.TrimSpace(strings.TrimSuffix(s, c.Payload))
	}
	return s, s != whole
}

// elsewhere returns a hint for a prompt that is not a text command but holds commands or calls, ""
// for any other. Such a prompt is not given to a model, which would act on some of them.
func (in *call) elsewhere(prompt string) string {
	switch list := in.dialect.placed(prompt); {
	case len(list) == 1:
		return fmt.Sprintf("line %d holds a command, which was not run, because it is not alone; type: %s",
			list[0].line, in.commandLine(list[0].text))
	case len(list) > 1:
		numbers := each(list, func(c placed) string { return fmt.Sprint(c.line) })
		hint := linesOf(numbers) + " hold commands, which were not run; type each alone:"
		for _, c := range list[:min(len(list), 5)] {
			hint += "\n" + in.commandLine(c.text)
		}
		return hint
	}
	var inString string
	w, _ := wire.OfText(prompt)
	start := strings.TrimLeftFunc(prompt, parser.IsSpace)
	switch {
	case w != nil:
		return "calls in the text of a model are read with --tools filesystem"
	case strings.HasPrefix(start, "[") && strings.Contains(start, "{") && json.Valid([]byte(prompt)):
		return `a list of calls is read in an object: {"tool_calls":[…]}`
	case json.Unmarshal([]byte(prompt), &inString) == nil:
		return "a prompt in a JSON string is read with --lines"
	}
	calls, _, err := parser.Calls(prompt, func(name string) bool { return Stack.Lookup(name) != nil })
	i := slices.IndexFunc(calls, func(c parser.ToolCall) bool { return Stack.Lookup(c.Name) != nil })
	if err != nil || i < 0 {
		return ""
	}
	if calls[i].Err != nil {
		return fmt.Sprintf("a call is written %s(KEY: VALUE) and read with --tools stack", calls[i].Name)
	}
	_, after, _ := strings.Cut(prompt, calls[i].Name+"(")
	arguments, _, _ := strings.Cut(after, "\n")
	if !strings.HasSuffix(arguments, ")") {
		arguments = "…)"
	}
	return fmt.Sprintf("--tools stack reads calls like %s(%s; type: %s", calls[i].Name, arguments,
		in.x.CommandLine("--tools", "stack", strings.TrimSpace(prompt)))
}

// commandLine returns what a person types in a shell for a text command.
func (in *call) commandLine(command string) string {
	words := strings.Split(command, " ")
	plain := len(words) == 2 || len(words) > 3 && slices.Contains([]string{"content:", "destination:"}, words[2])
	if !plain || strings.ContainsAny(command, "\t\r\n\"'") || strings.Contains(command, " -") || strings.Contains(command, "  ") {
		words = []string{command}
	}
	return in.x.CommandLine(words...)
}

// A beyond is what no text command does, but a call of Stack. The words are the first ones of
// prompts that ask for it, in lower case, without _ and -. In the call, PATH and NEW are the words after it.
type beyond struct{ words, does, call string }

// folderDeletion is a word of the table.
const folderDeletion = "rmdir"

var beyonds = []beyond{
	{"edit editfile modify modifyfile update updatefile change changefile patch patchfile applypatch sed " +
		"replace replaceinfile searchandreplace strreplace insert insertline rewrite editblock",
		"edits a part of a file", "edit(path: 'PATH', old_text: 'OLD', new_text: 'TEXT')"},
	{"rmdir removefolder removedirectory removedir deletefolder deletedirectory deletedir deltree",
		"deletes a folder", "delete(path: 'PATH', force: true)"},
	{"copyfolder copydirectory copydir copytree", "copies a folder", "copy(source: 'PATH', destination: 'NEW')"},
}

var (
	negated      = words.Pattern(`(?i)^\W*(please\s+)?(do\s+not|don['’]?t|never)\b`)
	folderDelete = words.Pattern("(?i)\\b(?:delete|remove|erase|rmdir|trash)\\b[^.\\n]*?(?:\\b(?:the|my|a|our|this)\\s+|\\s)(?:[\"'`]?([\\w./-]+)[\"'`]?\\s+)?(?:folder|directory|dir)\\b(?:\\s+(?:called\\s+|named\\s+)?[\"'`]?([\\w./-]+))?" +
		"|^rm\\s+-\\w*r\\w*\\s+[\"']?([\\w./-]+)")
)

// Meaning returns a hint for a prompt that is not a text command but asks for an operation by
// another name, "" for any other prompt.
func (d *Dialect) Meaning(x *skill.Executor, prompt string) string {
	if negated().MatchString(prompt) {
		return "the prompt says what not to do, and nothing was done"
	}
	if m := folderDelete().FindStringSubmatch(prompt); m != nil {
		for _, name := range []string{m[3], m[2], m[1]} {
			if name != "" && !slices.Contains([]string{"the", "a", "my", "our", "this", "whole", "entire"}, name) {
				return hintBeyond(x, folderDeletion, name)
			}
		}
		return hintBeyond(x, folderDeletion)
	}
	words := strings.Fields(prompt)
	if len(words) == 0 {
		return ""
	}
	word, _, isCall := strings.Cut(strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(words[0])), "(")
	paths := words[1:]
	for i := range paths {
		paths[i] = meantPath(paths[i])
	}
	for i := range d.Tools {
		if slices.Contains(strings.Fields(d.Tools[i].words), word) || isCall && word == strings.ToLower(d.Tools[i].Name) {
			return "did you mean " + d.Tools[i].Name + "? " + d.Tools[i].Usage()
		}
	}
	return hintBeyond(x, word, paths...)
}

// hintBeyond returns the call for a word in the table and the words after it, "" for another word.
func hintBeyond(x *skill.Executor, word string, paths ...string) string {
	i := slices.IndexFunc(beyonds, func(b beyond) bool { return slices.Contains(strings.Fields(b.words), word) })
	if i < 0 {
		return ""
	}
	b := beyonds[i]
	escaped := strings.NewReplacer(`\`, `\\`, "'", `\'`)
	for i, name := range []string{"PATH", "NEW"} {
		if i < len(paths) && !strings.HasPrefix(paths[i], "-") {
			b.call = strings.Replace(b.call, name, escaped.Replace(paths[i]), 1)
		}
	}
	return "no text command " + b.does + "; type: " + x.CommandLine("--tools", "stack", b.call)
}
