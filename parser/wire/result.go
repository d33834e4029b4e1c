package wire

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"textskill/parser/rawjson"
)

// quoted returns a text, as a JSON string if it holds one of the tokens by which the model
// tells results and messages apart: a file cannot forge the end of its own result.
func quoted(text string, tokens []string) string {
	if slices.ContainsFunc(tokens, func(token string) bool { return strings.Contains(text, token) }) {
		return escaped(text, tokens)
	}
	return text
}

// escaped returns a text as a JSON string without any of the tokens.
func escaped(text string, tokens []string) string {
	q := string(rawjson.AppendString(nil, text))
	for _, token := range tokens {
		q = strings.ReplaceAll(q, token, fmt.Sprintf(`\u%04x`, token[0])+token[1:])
	}
	return q
}

// A revision is a later form of a wire's calls: where it is recognized, results are written by text.
type revision struct {
	marker func(text string) int
	text   func([]Answer) string
}

// revised is the item of calls in the form of a revision.
const revised = `"revised"`

// each joins the answers in a form, where NAME, ID and TEXT are of the call and its result; a call without an
// ID has its name there. STREAM is stdout, or error if the call failed.
func each(separator, form string, tokens ...string) func([]Answer) string {
	return func(answers []Answer) string {
		list := make([]string, len(answers))
		for i, a := range answers {
			stream := "stdout"
			if a.Failed {
				stream = "error"
			}
			list[i] = strings.NewReplacer("NAME", a.Call.Name, "ID", cmp.Or(a.Call.ID, a.Call.Name), "STREAM", stream,
				"TEXT", quoted(a.shown(), tokens)).Replace(form)
		}
		return strings.Join(list, separator)
	}
}

// within writes the answers between two tokens.
func within(begin string, text func([]Answer) string, end string) func([]Answer) string {
	return func(answers []Answer) string { return begin + text(answers) + end }
}

// shown is the text of an answer where media cannot be shown.
func (a Answer) shown() string { return a.withoutMedia(func(Media) bool { return false }) }
