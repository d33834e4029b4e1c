package llmfallback

import "strings"

// maxWords bounds the frame of a request: a prompt may be of any length, but
// what the rules have to explain word by word is never longer than this.
const maxWords = 72

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
	lower      string // ASCII lower case; ’ reads as '
	start, end int    // with the quotes
	kind       wordKind
	id         int // in the vocabulary of the grammar, 0 when it is not there
}

// split cuts prompt into words; whole is false when there were more than maxWords.
func split(prompt string) (words []word, whole bool) {
	words = make([]word, 0, 24)
	unclosed := "" // opening quotes known to have no partner in what follows
	for i := 0; i < len(prompt); {
		if len(words) == maxWords {
			return words, strings.TrimSpace(prompt[i:]) == ""
		}
		switch c := prompt[i]; {
		case c == '\n':
			words = append(words, word{text: "\n", lower: "¶", start: i, end: i + 1, kind: mark})
			i++
		case c == ' ' || c == '\t' || c == '\r':
			i++
		default:
			w, ok := quote(prompt, i, &unclosed)
			if !ok {
				w = unquoted(prompt, i)
			}
			words = append(words, w)
			i = w.end
		}
	}
	return words, true
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

// unquoted reads an unquoted word or a punctuation mark at i.
func unquoted(prompt string, i int) word {
	end := i
	for end < len(prompt) && strings.IndexByte(" \t\r\n", prompt[end]) < 0 {
		end++
	}
	text := prompt[i:end]
	body := strings.TrimRight(text, ".,;:!?)")
	switch {
	case strings.Trim(text, "./") == "": // . .. ./ ../..
		if text != "." || end-i > 1 {
			body = text
		} else if sentenceEnd(prompt, i) {
			body = ""
		} else {
			body = text
		}
	case body == "" || text[0] == '(':
		body = ""
	}
	if body == "" {
		return word{text: text[:1], lower: text[:1], start: i, end: i + 1, kind: mark}
	}
	return word{text: body, lower: lower(body), start: i, end: i + len(body), kind: plain}
}

// sentenceEnd reports whether the point at i ends a sentence: it follows a
// quote or a word directly. Alone between spaces it names the current folder.
func sentenceEnd(prompt string, i int) bool {
	return i > 0 && strings.IndexByte(" \t\r\n", prompt[i-1]) < 0
}

// lower folds ASCII letters and the typographic apostrophe.
func lower(s string) string {
	if strings.Contains(s, "’") {
		s = strings.ReplaceAll(s, "’", "'")
	}
	for i := range len(s) {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if 'A' <= b[j] && b[j] <= 'Z' {
					b[j] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
