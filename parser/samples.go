package parser

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// sampleName matches the names of elements in which calls are shown and not made: of samples, files, pages and results.
var sampleName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:pre|code|samp|kbd|tt|q|quote|blockquote|cite|details|html|examples?|sample|` +
		`snippet|excerpt|source|page|web_?page|article|e?mail|issue|comment|transcript|logs?|readme|text|data|context|` +
		`contents?|search_results?|(?:doc|document|file)(?:s|_contents?)?|` +
		`(?:tool|function)_(?:response|result|output)s?|results?|outputs?|observation|stdout|stderr)$`)
})

// sampleTag returns the name of the tag of a sample that begins at a position of the text, in lower case, and where
// the tag ends. Without one, ok is false.
func sampleTag(text string, at int) (name string, end int, ok bool) {
	const most = 24 // bytes of the longest name, and more
	from := at + 1
	if from < len(text) && text[from] == '/' {
		from++
	}
	rest := text[from:]
	n := strings.IndexFunc(rest[:min(len(rest), most)], func(c rune) bool { return c != '_' && !('a' <= c|0x20 && c|0x20 <= 'z') })
	if n <= 0 || !sampleName().MatchString(rest[:n]) {
		return "", 0, false
	}
	after := strings.IndexAny(rest[n:], "<>")
	if after < 0 || rest[n+after] != '>' || after > 0 && !strings.ContainsRune(" \t\n\f\r", rune(rest[n])) {
		return "", 0, false
	}
	return strings.ToLower(rest[:n]), from + n + after + 1, true
}

// Samples are the code fences and the elements of samples in a text.
type Samples struct {
	ends    map[int]int     // where the tags of samples begin and their elements end; nil as long as nobody asked
	endless map[string]bool // the marks of fences without an end
}

// Element returns where the element of a sample ends whose tag is at a position of the text, 0 for none. The
// first call looks at all of the text. An end tag that closes nothing shows that the one before was content.
// Without an end, an element that begins its line is the rest of the text.
func (s *Samples) Element(text string, at int) int {
	if s.ends == nil {
		s.ends = elements(text)
	}
	return s.ends[at]
}

// Fence returns where a code fence ends that begins at a position of the text, 0 for none, and the size of the
// mark that is there.
func (s *Samples) Fence(text string, at int) (end, size int) {
	rest := text[at:]
	size = len(rest) - len(strings.TrimLeft(rest, rest[:1]))
	mark := rest[:size]
	info, _, _ := strings.Cut(rest[size:min(len(rest), size+maxMarks)], "\n")
	before := text[max(0, at-4):at]
	margin := strings.TrimRight(before, " ")
	if size < 3 || s.endless[mark] || strings.Contains(before+info, "`") || margin != "" && margin[len(margin)-1] != '\n' {
		return 0, size
	}
	for pos := at; ; {
		next := strings.Index(text[pos:], "\n")
		if next < 0 {
			break
		}
		pos += next + 1
		rest := strings.TrimLeft(text[pos:min(len(text), pos+maxMarks)], " ")
		if !strings.HasPrefix(rest, mark) {
			continue
		}
		rest = strings.TrimLeft(rest, mark[:1]+" \t\r")
		if rest == "" || rest[0] == '\n' {
			return pos + strings.Index(text[pos:], mark) + size, size
		}
	}
	if s.endless == nil {
		s.endless = map[string]bool{}
	}
	s.endless[mark] = true
	return 0, size
}

func elements(text string) map[int]int {
	s := map[int]int{}
	open, closed := map[string][]int{}, map[string]int{} // by name
	for end, next := 0, 0; ; {
		if next = strings.IndexByte(text[end:], '<'); next < 0 {
			break
		}
		begin := end + next
		name, after, ok := sampleTag(text, begin)
		if end = begin + 1; !ok {
			continue
		}
		end = after
		line := text[max(0, begin-maxMarks):begin]
		alone := strings.TrimSpace(line[strings.LastIndexByte(line, '\n')+1:]) == ""
		quoted, isTag := IsQuoted(text[:begin]), IsTag(text[end:])
		if text[begin+1] != '/' {
			if open[name] = append(open[name], begin); alone && isTag {
				s[begin] = len(text)
			} else if !quoted && (alone || isTag) {
				s[begin] = 0
			}
			continue
		}
		if n := len(open[name]); n > 0 && !quoted {
			closed[name], open[name] = open[name][n-1], open[name][:n-1]
		}
		first, ok := closed[name]
		if _, begun := s[first]; ok && begun && !quoted {
			s[first] = end
		}
	}
	return s
}

// IsTag reports whether what follows a tag shows that it is one, and no word of a sentence.
func IsTag(after string) bool {
	c, _ := utf8.DecodeRuneInString(after)
	return after == "" || strings.ContainsRune("\n\r[{<#", c) && !strings.HasPrefix(after, "</") ||
		unicode.IsLetter(c) || unicode.IsDigit(c) || strings.HasPrefix(strings.TrimLeft(after, " \t"), "\n")
}

// IsQuoted reports whether a quotation mark or a mark of code is the last thing of a text.
func IsQuoted(before string) bool {
	c, _ := utf8.DecodeLastRuneInString(before)
	return before != "" && strings.ContainsRune("`'\"“‘«„", c)
}
