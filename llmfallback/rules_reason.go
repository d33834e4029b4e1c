package llmfallback

import "strings"

// purpose reports whether the rest of the prompt, from word i, says what the
// request is for: "so I can review it", "for better organization".
func (m *matcher) purpose(op string, i int) bool {
	rest := m.words[i:]
	for len(rest) > 0 && rest[len(rest)-1].kind == mark {
		rest = rest[:len(rest)-1]
	}
	return len(rest) > 1 && reason(op, rest)
}

// preamble returns the word behind a reason that stands before the request:
// "For the new release, …", "I'm cleaning up my notes. …". It is 0 when there is none.
func (m *matcher) preamble() int {
	for i, w := range m.words {
		if w.kind == quoted || w.text == "\n" {
			return 0
		}
		if i > 1 && (w.text == "," || w.text == "." || w.text == "!") && i+1 < len(m.words) {
			if !reason("", m.words[:i]) || hasAny(m.words[:i], places()) {
				return 0
			}
			return i + 1
		}
	}
	return 0
}

// reason reports whether words say why op is asked for, or before it, with op
// "", why something will be. A reason holds no path, no quote and no word that
// binds a condition, a filter or a further request.
func reason(op string, words []word) bool {
	for i, w := range words {
		if w.kind != plain || len(w.text) > maxPathBytes || slashed(w.text) || fileShaped(w.text) || binding()[w.lower] ||
			strings.ContainsAny(w.text, "*$<>|&;{}[]=") || strings.HasSuffix(w.lower, "n't") && (i == 0 || !subjects()[words[i-1].lower]) {
			return false
		}
	}
	first, second := words[0].lower, words[1].lower
	switch first {
	case "so", "before":
		return op != ""
	case "because", "since":
		return true
	case "as", "where":
		return second == "i" || second == "we" || second == "part"
	case "for":
		return op == "" || strings.HasPrefix(op, "c") || op == "moveFile"
	case "in":
		return second == "order" || second == "case"
	case "to":
		return aims()[second]
	case "i'm", "we're", "i've", "we've", "i'll", "we'll", "it's":
		return !hasAny(words, deeds())
	case "i", "we", "it":
		return stating()[second] && !hasAny(words, deeds()) ||
			wanting()[second] && len(words) > 3 && (words[2].lower == "to" || words[2].lower == "it") && !hasAny(words, deeds())
	case "my", "our":
		return op == "" && !hasAny(words, deeds())
	}
	return false
}

func hasAny(words []word, set map[string]bool) bool {
	for _, w := range words {
		if set[w.lower] {
			return true
		}
	}
	return false
}

var (
	// binding words make a reason into a condition, a filter or a second request.
	binding = wordSet(`and or then if unless except all every each only matching recursive recursively lines line glob variable
you not never no without instead after until whenever but deleted removed`)

	// aims are verbs after "to" that say what a request is for, not what it is.
	aims = wordSet(`review check see verify understand inspect analyze examine study plan prepare organize organise keep store hold save track
help start begin work use know free avoid separate group maintain make ensure learn debug remember refresh continue follow reflect match better
archive document contain house collect manage improve tidy clean be get`)

	// deeds are operations of their own: wanting them is asking for them.
	deeds = wordSet(`should must needs delete remove erase copy duplicate move rename create make write save append add replace put overwrite list count sort
search compress zip insert send`)

	subjects = wordSet(`i we it they`)

	// stating and wanting verbs follow I in a reason; what is wanted is not a thing but to do something.
	stating = wordSet(`am are was is has had have finished started forgot lost found got think thought just keep kept renamed wrote`)
	wanting = wordSet(`need want have plan hope would`)

	// places move the request elsewhere: a reason before it must not.
	places = wordSet(`in inside within under at from into folder directory dir path folders directories file files here there this that`)
)
