package llmfallback

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Policy says what to do with a request that needs confirmation: it deletes or overwrites, or
// the model reads it as a change and the rules do not.
type Policy string

// The zero Policy is Ask.
const (
	Ask    Policy = "ask"    // carry it out if the request says so clearly, else return a [*ConfirmError]
	Refuse Policy = "refuse" // return a [*ConfirmError] if a file would be lost
	Allow  Policy = "allow"  // carry it out
)

// errInvented is about a content that the model made up.
var errInvented = fmt.Errorf("%w: the content does not occur in the command; copy it from there as it stands",
	ErrNotInPrompt)

// within returns an error unless every value of e comes from the prompt and is plausible. Where
// the model may have made a slip the error asks it again.
func within(prompt string, e Extraction) error {
	dest := e.Destination
	if path.Dir(dest) == path.Dir(e.Path) {
		dest = path.Base(dest) // a new name in the same folder
	}
	err := fromPrompt(prompt, e.Path)
	if wrong := fromPrompt(prompt, dest); err == nil || errors.Is(wrong, ErrRefused) {
		err = wrong
	}
	switch {
	case err != nil:
		return err
	case e.Destination != "" && path.Clean(e.Destination) == path.Clean(e.Path):
		return fmt.Errorf("%w: path and destination are the same", ErrRefused)
	case e.HasContent && !occurs(prompt, e.Content, letter):
		return errInvented
	}
	return nil
}

// fromPrompt returns an error unless every part of a path comes from the prompt.
func fromPrompt(prompt, p string) error {
	if err := onePath(p); err != nil {
		return err
	}
	inPrompt := func(part string) bool { return occurs(prompt, part, nameByte) }
	if p == "" || p == "." || inPrompt(p) {
		return nil
	}
	parts := strings.Split(path.Clean(p), "/")
	if parts[0] == "" { // absolute
		first, _, _ := strings.Cut(p[1:], "/")
		isRoot := func(w word) bool { return w.text == "/" }
		if !inPrompt("/"+first) && !slices.ContainsFunc(split(prompt).list, isRoot) {
			return fmt.Errorf("%w: path `/%s` does not occur in the command", ErrNotInPrompt, first)
		}
		parts = parts[1:]
	}
	for _, part := range parts {
		switch {
		case part == ".." && !strings.Contains(prompt, ".."):
			return fmt.Errorf("%w: a path leads out of the folder that the command names", ErrRefused)
		case !inPrompt(part):
			return fmt.Errorf("%w: path `%s` does not occur in the command", ErrNotInPrompt, part)
		}
	}
	return nil
}

// onePath returns an error if p may lead elsewhere than to one file of the workspace.
func onePath(p string) error {
	switch {
	case strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%w: a path has a control character", ErrRefused)
	case strings.ContainsAny(p, "*?"):
		return fmt.Errorf("%w: a path is a pattern; one command names one file", ErrRefused)
	case p == "~" || strings.HasPrefix(p, "~/"):
		return fmt.Errorf("%w: ~ is the home folder, which is not in the workspace", ErrRefused)
	}
	return nil
}

// maxCompared bounds the bytes that are compared to find a value, because a text may repeat its
// beginning very often.
const maxCompared = 64 << 20

// occurs reports whether text has part, and not within a longer word.
func occurs(text, part string, joins func(byte) bool) bool { return find(text, part, joins) >= 0 }

// find returns where text has part, and not within a longer word, -1 if nowhere: at each end of
// part, the bytes inside and outside must not both satisfy joins. Scripts without spaces do not join.
func find(text, part string, joins func(byte) bool) int {
	if part == "" {
		return 0
	}
	from := 0
	for budget := maxCompared; budget > 0; budget -= len(part) {
		n := strings.Index(text[from:], part)
		if n < 0 {
			return -1
		}
		start, end := from+n, from+n+len(part)
		after := strings.TrimLeft(text[end:], ".") // dots may end a sentence
		begins := start == 0 || !joins(text[start-1]) || !joins(part[0]) || spaceless(text[:start], part)
		ends := after == "" || !joins(after[0]) ||
			!joins(text[end]) || !joins(part[len(part)-1]) ||
			spaceless(part, after)
		if begins && ends {
			return start
		}
		from = start + 1
	}
	return -1
}

// spaceless reports whether a character of a script without spaces, or a mark of one, stands at the
// end of a or at the beginning of b.
func spaceless(a, b string) bool {
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	for _, r := range [...]rune{last, first} {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) || r > 0x7f &&
			unicode.IsPunct(r) {
			return true
		}
	}
	return false
}

func letter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c &&
		c <= 'Z' || '0' <= c && c <= '9' || c >= 0x80
}

func nameByte(c byte) bool { return letter(c) || c == '_' || c == '-' || c == '.' }

// complete adds to a destination that is a folder the base name of path, as mv and cp do.
func complete(e *Extraction, stat func(string) (folder bool, err error)) {
	if e.Destination == "" || e.Path == "" || stat == nil {
		return
	}
	if folder, err := stat(e.Destination); err == nil && folder {
		if source, err := stat(e.Path); err != nil || !source {
			e.Destination = join(e.Destination, path.Base(path.Clean(e.Path)))
		}
	}
}

// confirm returns a [*ConfirmError] where e needs a second key that the prompt does not give.
func confirm(prompt string, e Extraction, policy Policy, stat func(string) (folder bool, err error)) error {
	if policy == Allow {
		return nil
	}
	asked := Read(prompt)
	said := asked.Extraction
	complete(&said, stat)
	same := asked.Answered && said.means(e)
	why := e.loses(policy, same && asked.Overwrites, stat)
	switch {
	case why != "" || same:
	case asked.Answered && !e.harmless():
		why = "the request asks for something else: " + said.short()
	case e.Operation == "deleteFile":
		why = "it deletes, and the request does not clearly say so"
	default:
		why = doubt(prompt, e)
	}
	if why == "" {
		return nil
	}
	c := e.unconfirmed(why)
	c.Allowed = true
	return c
}

// loses returns why e may not delete or replace a file; "" if it may, or does neither.
func (e Extraction) loses(policy Policy, overwrites bool, stat func(string) (folder bool, err error)) string {
	target := e.target()
	switch deletes := e.Operation == "deleteFile"; {
	case deletes && policy == Refuse:
		return "a request in plain words deletes nothing"
	case deletes, target == "", !taken(target, stat):
		return ""
	case policy == Refuse:
		return target + " exists, and a request in plain words overwrites nothing"
	case !overwrites:
		return target + " exists, and the request does not say to overwrite it"
	}
	return ""
}

func (e Extraction) unconfirmed(why string) *ConfirmError {
	return &ConfirmError{Operation: e.Operation, Command: e.Command(), Reason: why, Extraction: e}
}

// doubts are the lists of words of the grammar that make a request doubtful, and what they say of
// it. The first ones make a request for a look doubtful, too.
var doubts = [...]struct{ list, why string }{
	{"denial", "it has a negation: "}, {"past", "it speaks of what was: "}, {"speech", "it tells of words: "},
	{"question", "it is a question: "}, {"condition", "it has a condition: "},
	{"many", "it is about more than one thing: "}, {"other", "it asks for something else, too: "},
}

const looksOnly = 3 // doubts of a request for a look

// doubt returns why a prompt that only a model reads does not surely ask for e, in the languages
// that the grammar has words for; "" if it does. Quotations, names and contents do not count.
func doubt(prompt string, e Extraction) string {
	g := compiled()
	said := g.spoken(prompt, e)
	for i, d := range doubts {
		if i == looksOnly && e.harmless() {
			return ""
		}
		text := said
		if d.list == "past" && e.harmless() { // have a look at what I have written
			text = said[:min(len(said), 16)]
		}
		if w := g.has(text, d.list); w != "" && !(d.list == "question" && g.has(said, "request") != "") {
			return d.why + w
		}
	}
	if strings.ContainsAny(prompt, "?？") && g.has(said, "request") == "" {
		return "it is a question"
	}
	if e.harmless() {
		return ""
	}
	return cmp.Or(g.misnamed(prompt, e, g.has(said, "en:"+e.Operation) != ""), g.miswritten(prompt, said, e),
		g.unasked(said, e))
}

// unasked returns why the words of a prompt do not ask for e alone. Of English all words are known
// where something that exists is changed.
func (g *grammar) unasked(said string, e Extraction) string {
	foreign := func(r rune) bool {
		return unicode.IsLetter(r) && !unicode.In(r, unicode.Latin, unicode.Cyrillic, unicode.Han)
	}
	verb := g.has(said, "en:"+e.Operation)
	switch {
	case strings.ContainsFunc(said, foreign):
		return "it is in a language that is not known here"
	case verb == "" && g.has(said, "do:"+e.Operation) == "":
		return "it has no word for " + e.Operation + " that is known here"
	case verb == "":
		return ""
	}
	return g.unordered(strings.Fields(said), e.Operation)
}

// unordered returns why words of English do not order an operation alone.
func (g *grammar) unordered(words []string, operation string) string {
	in := func(list string, i int) bool { return i < 0 || slices.Contains(g.lists[list], words[i]) }
	changes := operation == "moveFile" || operation == "appendFile" // something that exists
	ordered := false
	for i, w := range words {
		switch does := in("en:"+operation, i); {
		case does && (in("ordering", i-1) || words[i-1] == "to" && in("wanting", i-2)):
			ordered = true
		case changes && !does && !in("glue", i):
			return "it is not clear what " + strconv.Quote(w) + " adds"
		}
	}
	if !ordered {
		return "it does not clearly ask for it"
	}
	return ""
}

// wordy are lists of words that are no names by themselves.
var wordy = [...]string{"never", "pointing", "vague", "topic"}

// misnamed returns why the names of e are not those that the prompt names, or not all of them.
func (g *grammar) misnamed(prompt string, e Extraction, english bool) string {
	names, before := "/"+e.Path+"/"+e.Destination+"/", ""
	if strings.Contains(names, "@") {
		return "a name may be an address"
	}
	apart := func(r rune) bool { return spaceless(string(r), "") || r == ' ' }
	for _, w := range split(prompt).list {
		listed := func(list string) bool { return g.listed(list, g.words[w.text]) }
		bare := w.kind == plain && strings.Contains(names, "/"+w.text+"/") &&
			!g.listed("namer", g.words[before])
		if english && bare && slices.ContainsFunc(wordy[:], listed) {
			return strconv.Quote(w.text) + " may be no name"
		}
		for part := range strings.FieldsFuncSeq(w.text, apart) {
			known := strings.Contains(names+e.Content, strings.TrimPrefix(part, "./"))
			if !known && fileShaped(part) && !strings.Contains(w.text, " ") {
				return "it names " + part + ", too"
			}
		}
		before = w.lower
	}
	return ""
}

// miswritten returns why the text of e is not the text that the prompt means.
func (g *grammar) miswritten(prompt, said string, e Extraction) string {
	n := find(prompt, e.Content, letter)
	switch {
	case !e.HasContent || n < 0:
		return ""
	case e.Content == "":
		if w := g.has(said, "invented"); w != "" || strings.ContainsAny(said, "0123456789") {
			return "it describes the text " + w
		}
		return ""
	}
	words := strings.Fields(lower(strings.TrimRight(prompt[:n], "\"'` ")))
	of := len(words) > 0 && slices.Contains(g.lists["of"], words[len(words)-1])
	if of || len(e.Content) > 1 && fileShaped(e.Content) && !strings.Contains(e.Content, " ") {
		return e.Content + " may be a file rather than the text itself"
	}
	if n > 0 && prompt[n-1] == ' ' && g.goesOn(prompt[n+len(e.Content):]) {
		return "it is not clear where the text ends"
	}
	return ""
}

// goesOn reports whether the sentence goes on after a text without quotes, so that the
// next word may be a part of the text.
func (g *grammar) goesOn(after string) bool {
	line, _, _ := strings.Cut(after, "\n")
	words := strings.Fields(line)
	if len(words) == 0 || line[0] != ' ' {
		return false
	}
	return letter(words[0][0]) && !spaceless(words[0], "") && !slices.Contains(g.lists["before"], lower(words[0]))
}

// chinese replaces the marks of Chinese, and words with a character that alone means something else.
var chinese = strings.NewReplacer("，", " , ", "。", " . ", "：", " : ", "「", ` "`, "」", `" `, "？", " ? ",
	"有没有", "有", "是不是", "是", "能不能", "能", "特别", " ", "级别", " ", "类别", " ", "分别", " ", "别名", " ", "通过",
	" ", "过程", " ", "为了", " ")

// maxJudged is how many bytes of a prompt, without the text to write, are judged by their words.
const maxJudged = 4 << 10

// spoken returns the words of a prompt, in lower case with a space around each, without quotes,
// fences, names and the text of e; none of a prompt that is too long, which then asks for nothing.
func (g *grammar) spoken(prompt string, e Extraction) string {
	if n := find(prompt, e.Content, letter); n > 0 && e.Content != "" {
		before := strings.TrimRight(lower(prompt[:n]), " \t\r\n\"'`“«„「：:")
		if before != lower(strings.TrimRight(prompt[:n], " \t\r\n")) ||
			g.has(" "+before[strings.LastIndexByte(before, ' ')+1:]+" ", "text") != "" {
			prompt = prompt[:n] + " . " + prompt[n+len(e.Content):]
		}
	}
	prompt, _, _ = strings.Cut(prompt, "```")
	if len(prompt) > maxJudged {
		return ""
	}
	for _, name := range [...]string{e.Path, e.Destination, path.Base(e.Path), path.Base(e.Destination)} {
		for n := find(prompt, name, nameByte); n >= 0 && letterOrDigit(name); n = find(prompt, name, nameByte) {
			prompt = prompt[:n] + " . " + prompt[n+len(name):]
		}
	}
	var b strings.Builder
	for _, w := range split(chinese.Replace(prompt)).list {
		if w.kind != quoted && !fileShaped(w.text) {
			b.WriteString(" " + strings.Trim(lower(w.text), "¿¡(") + " ")
		}
	}
	return b.String()
}

// has returns the first word of a list of the grammar that a text has. Words of scripts without
// spaces may stand anywhere.
func (g *grammar) has(said, list string) string {
	for _, w := range g.lists[list] {
		w, text := strings.ReplaceAll(w, "_", " "), said
		if first, ok := strings.CutPrefix(w, "^"); ok {
			w, text = first, said[:min(len(said), len(first)+2)]
		} else if later, ok := strings.CutPrefix(w, "+"); ok {
			w, text = later, said[min(len(said), len(later)+2):]
		}
		if spaceless(w, "") && strings.Contains(text, w) ||
			strings.Contains(text, " "+strings.ReplaceAll(w, " ", "  ")+" ") {
			return w
		}
		if prefix, ok := strings.CutSuffix(w, "-"); ok && strings.Contains(text, " "+prefix) {
			return prefix
		}
	}
	return ""
}

func (e Extraction) harmless() bool {
	return e.Operation == "readFile" || e.Operation == "listDirectory" || e.Operation == "fileExists"
}

// means reports whether e is what was said. A destination may be the folder or the file in it,
// and white space or a final dot of a text makes no difference.
func (e Extraction) means(o Extraction) bool {
	dest, at := path.Clean(o.Destination), path.Clean(e.Destination)
	name := "/" + path.Base(path.Clean(e.Path))
	bare := func(s string) string { return strings.TrimSuffix(strings.TrimSpace(s), ".") }
	return e.Operation == o.Operation && path.Clean(e.Path) == path.Clean(o.Path) &&
		e.HasContent == o.HasContent &&
		(dest == at || dest+name == at || dest == at+name) && bare(e.Content) == bare(o.Content)
}

// short is the command that does e, without a long text.
func (e Extraction) short() string {
	command := e.Command()
	if line, _, more := strings.Cut(command, "\n"); more || len(line) > 80 {
		return strings.ToValidUTF8(line[:min(len(line), 80)], "") + " …"
	}
	return command
}

// target returns the path that e deletes or writes a file to, "" if it does neither.
func (e Extraction) target() string {
	switch e.Operation {
	case "deleteFile", "writeFile":
		return e.Path
	case "copyFile", "moveFile":
		return e.Destination
	}
	return ""
}

// taken reports whether p exists and is not a folder. Without stat it says yes.
func taken(p string, stat func(string) (folder bool, err error)) bool {
	if stat == nil {
		return true
	}
	folder, err := stat(p)
	return err == nil && !folder
}
