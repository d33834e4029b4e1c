package wire

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// ReAct is the format of agents that think aloud. Its words occur in any text, so it
// is never recognized.
var ReAct = &Wire{
	Name: "react",
	Doc:  "Action: f\nAction Input: {}",
	read: readReAct,
	text: each("\n", "Observation: TEXT", "\nObservation:", "\nAction:", "\nThought:", "\nFinal Answer:"),
}

// errObserved is the error of a call after an observation: that was to be ours.
var errObserved = errors.New("it stands after an observation that the model wrote itself, so it was not run")

// readReAct reads the actions of a text up to its first observation.
func readReAct(text string, tools Schemas) (parser.Envelope, error) {
	var m message
	observed := false
	for rest := text; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		line = strings.Trim(line, rawjson.Space)
		switch {
		case strings.HasPrefix(line, "Observation:"):
			observed, rest = true, after
		case strings.HasPrefix(line, "Action:"):
			c := parser.ToolCall{Name: strings.Trim(strings.TrimPrefix(line, "Action:"), rawjson.Space+"`")}
			if rest, c = actionInput(after, c, tools); observed {
				c.Arguments, c.Err = nil, errObserved
			}
			m.Calls = append(m.Calls, c)
		case strings.HasPrefix(line, "Final Answer:") && len(m.Calls) == 0:
			_, final, _ := strings.Cut(rest, "Final Answer:")
			m.said, rest = append(m.said, final), ""
		default:
			rest = after
		}
		if len(m.Calls) > maxCalls {
			return parser.Envelope{},
				&rawjson.Error{Reason: "more than 10000 calls", Err: rawjson.ErrTooLarge}
		}
	}
	if len(m.Calls) == 0 && m.said == nil {
		return parser.Envelope{},
			parser.NoCalls("a call is the lines Action: NAME and Action Input: {…}", nil)
	}
	return m.finish()
}

// actionInput reads the arguments of an action: an object, or for a tool that needs one
// text, that text. It returns what follows them.
func actionInput(text string, c parser.ToolCall, tools Schemas) (string, parser.ToolCall) {
	input, ok := strings.CutPrefix(strings.TrimLeft(text, rawjson.Space), "Action Input:")
	if !ok {
		if c.Err = errors.New("want the line Action Input: {…} after the action"); c.Name == "" {
			c.Err = errors.New("the call has no name")
		}
		return text, c
	}
	own, _, _ := strings.Cut(input, "\n")
	input = strings.TrimLeft(input, rawjson.Space)
	if strings.Trim(own, rawjson.Space) == "" && isStep(input) {
		c.Arguments, c.Err = loneArgument(tools(c.Name), "")
		return input, c
	}
	body := input
	for _, fence := range []string{"```json", "```", "`"} {
		if inside, fenced := strings.CutPrefix(input, fence); fenced {
			body = strings.TrimLeft(inside, rawjson.Space)
			break
		}
	}
	if strings.HasPrefix(body, "{") {
		v, end, err := rawjson.DecodeAt(body, 0, callKeys...)
		if err != nil {
			c.Err = err
			return input[min(len(input), actionEnd(input)):], c
		}
		c.Arguments = v
		line, after, _ := strings.Cut(body[end:], "\n")
		if strings.Trim(line, rawjson.Space+"`") != "" {
			c.Arguments, c.Err = nil, errors.New("the line goes on after the arguments")
		}
		return after, c
	}
	end := actionEnd(input)
	lone := strings.TrimRight(input[:end], rawjson.Space)
	if from, to, fenced := rawjson.Fenced(lone); fenced {
		lone = strings.TrimRight(lone[from:to], rawjson.Space)
	} else if inside, quoted := strings.CutPrefix(lone, "`"); quoted &&
		strings.IndexByte(inside, '`') == len(inside)-1 {
		lone = strings.TrimSuffix(inside, "`")
	}
	c.Arguments, c.Err = loneArgument(tools(c.Name), lone)
	return input[end:], c
}

// actionEnd returns where a text goes on with another step.
func actionEnd(text string) int {
	end := len(text)
	for at := 0; at < len(text); {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			break
		}
		if at += next + 1; isStep(text[at:]) {
			return at
		}
	}
	return end
}

// isStep reports whether a text begins with the word of a step.
func isStep(text string) bool {
	begin := strings.TrimLeft(text[:min(len(text), 64)], " \t")
	return slices.ContainsFunc([]string{"Observation:", "Thought:", "Action:", "Action Input:",
		"Final Answer:"}, func(word string) bool {
		return strings.HasPrefix(begin, word)
	})
}

// loneArgument makes the arguments of a tool that requires one text.
func loneArgument(schema json.RawMessage, text string) (json.RawMessage, error) {
	v := split(schema)
	required := v.get("required").elements
	if len(v.members) > 0 && len(required) == 0 && (text == "" || strings.EqualFold(text, "none")) {
		return json.RawMessage("{}"), nil
	}
	if len(required) == 1 {
		if name, _ := rawjson.String(required[0]); v.get("properties", name).str("type") == "string" {
			if v, _, err := rawjson.DecodeOne(text); err == nil && v[0] == '"' {
				text, _ = rawjson.String(v)
			}
			return rawjson.Encode(map[string]string{name: text}), nil
		}
	}
	return nil, errors.New(`want Action Input: {"key":"value",…}`)
}
