package llmfallback

import "strings"

// maxWords bounds what the reader explains word by word; a text to write may
// follow and be of any length.
const maxWords = 160

type wordKind uint8

const (
	plain  wordKind = iota // a run of non-space bytes
	quoted                 // the text between two quotes
	mark                   // one punctuation mark, or a line end
)

// A word is a piece of the prompt. Its text is prompt[start:end], without the
// quotes when it is quoted.
type word struct {
	text       string
	lower      string // in lower case; ’ reads as ', a line end as ¶; "" for a quote or a very long word
	start, end int    // with the quotes
	kind       wordKind
	number     int // in the grammar
}

// words are the beginning of a prompt, cut up.
type words struct {
	prompt string
	list   []word
	whole  bool // list is all of the prompt
}

// maxFolded is the length in bytes above which a word is not in the lexicon.
const maxFolded = 64

// split cuts prompt into words, at most maxWords of them.
func split(prompt string) words {
	w := words{prompt: prompt, list: make([]word, 0, 32), whole: true}
	unclosed := "" // opening quotes known to have no partner in what follows
	for i := 0; i < len(prompt); {
		if strings.IndexByte(" \t\r", prompt[i]) >= 0 {
			i++
			continue
		}
		if len(w.list) == maxWords {
			w.whole = strings.TrimSpace(prompt[i:]) == ""
			break
		}
		next, ok := quote(prompt, i, &unclosed)
		if !ok {
			if next = unquoted(prompt, i); len(next.text) <= maxFolded {
				next.lower = lower(strings.ReplaceAll(next.text, "\n", "¶"))
			}
		}
		w.list = append(w.list, next)
		i = next.end
	}
	return w
}

// quotePairs lists opening quotes and what closes them.
var quotePairs = [...][2]string{
	{`"`, `"`}, {"`", "`"}, {"'", "'"}, {"“", "”"}, {"‘", "’"}, {"«", "»"}, {"„", "“"},
}

// quote reads a quoted word at i. A quote closes before white space, before
// punctuation or at the end, so that an apostrophe does not.
func quote(prompt string, i int, unclosed *string) (word, bool) {
	for _, pair := range quotePairs {
		if !strings.HasPrefix(prompt[i:], pair[0]) {
			continue
		}
		if strings.Contains(*unclosed, pair[0]) || strings.HasPrefix(prompt[i:], "```") {
			return word{}, false
		}
		from := i + len(pair[0])
		for at := from; ; {
			n := strings.Index(prompt[at:], pair[1])
			if n < 0 {
				*unclosed += pair[0]
				return word{}, false
			}
			end := at + n + len(pair[1])
			if end == len(prompt) || strings.IndexByte(" \t\r\n.,;:!?)", prompt[end]) >= 0 {
				return word{text: prompt[from : at+n], start: i, end: end, kind: quoted}, true
			}
			at = end
		}
	}
	return word{}, false
}

// unquoted reads an unquoted word, a punctuation mark or a line end at i.
func unquoted(prompt string, i int) word {
	if prompt[i] == '\n' {
		return word{text: "\n", start: i, end: i + 1, kind: mark}
	}
	end := i
	for end < len(prompt) && strings.IndexByte(" \t\r\n", prompt[end]) < 0 {
		end++
	}
	text := prompt[i:end]
	body := strings.TrimRight(text, ".,;:!?)")
	switch {
	case strings.Trim(text, ".") == "" && i > 0 && strings.IndexByte(" \t\r\n", prompt[i-1]) < 0:
		body = "" // it ends a sentence; alone between spaces it is the current folder
	case strings.Trim(text, "./") == "": // . .. ./ ../..
		body = text
	case text[0] == '(':
		body = ""
	}
	if body == "" {
		return word{text: text[:1], start: i, end: i + 1, kind: mark}
	}
	return word{text: body, start: i, end: i + len(body), kind: plain}
}

// lower folds capitals and the typographic apostrophe.
func lower(s string) string { return strings.ReplaceAll(strings.ToLower(s), "’", "'") }
