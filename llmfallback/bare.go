package llmfallback

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"textskill/llmfallback/remote"
	"textskill/parser"
	"textskill/parser/rawjson"
)

// Bare returns an agent that calls complete once and accepts its answer, which must be a
// JSON array. It repairs nothing, does not ask again, and does not check the values.
func Bare(complete func(ctx context.Context, prompt string) (string, error)) Agent {
	return bare(complete)
}

type bare func(ctx context.Context, prompt string) (string, error)

func (complete bare) Complete(ctx context.Context, r Request) (Reply, error) {
	answer, err := complete(ctx, barePrompt(r))
	if err != nil {
		return Reply{}, err
	}
	values := jsonArray(answer)
	if values == nil {
		return Reply{Said: remote.OneLine(answer), Via: "llm"}, nil
	}
	return Reply{Values: values, Via: "llm"}, nil
}

// barePrompt returns the task, the names and, at the end, the prompt unchanged.
func barePrompt(r Request) string {
	names, err := json.Marshal(r.Names)
	if err != nil {
		panic(err) // strings marshal
	}
	return "You extract arguments from a request.\n" +
		"Task: " + r.Instruction + "\n" +
		"Answer with nothing but a JSON array of strings or numbers, in this order: " + string(names) + "\n" +
		"Explain nothing.\n\n" +
		"Prompt: " + r.Prompt
}

// jsonArray decodes a text that is one JSON array and nothing else. It returns nil
// for any other text. Numbers keep their digits.
func jsonArray(text string) []any {
	if !json.Valid([]byte(text)) {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	list, _ := v.([]any)
	return list
}

// trusted turns a bare answer into an extraction as the original did: a value that
// is false in JavaScript is missing, the operation is the first word of a text or the whole
// of another value, and a text may be an array of texts.
func trusted(reply Reply) (Extraction, error) {
	values := reply.Values
	if values == nil {
		return Extraction{}, &AnswerError{ErrNotArray, reply.Said}
	}
	at := func(i int) any {
		if i < len(values) && truthy(values[i]) {
			return values[i]
		}
		return nil
	}
	e := Extraction{HasContent: true}
	e.Operation = javascript(at(0))
	if _, isText := at(0).(string); isText {
		words := strings.FieldsFunc(e.Operation, parser.IsSpace)
		e.Operation = strings.Join(words[:min(1, len(words))], "")
	}
	if e.Operation == "" || at(1) == nil {
		return e, nil
	}
	path, isText := at(1).(string)
	e.Path = path
	if op, known := spelled(e.Operation); !known || op != e.Operation {
		e.Path = javascript(at(1))
		return e, nil
	}
	if !isText {
		return e, &ArgumentError{Name: "path", Got: describe(at(1))}
	}
	switch e.Operation {
	case "writeFile", "appendFile":
		text, ok := joined(at(2))
		if !ok {
			return e, &ArgumentError{Name: "content", Got: describe(at(2))}
		}
		e.Content = text
	case "copyFile", "moveFile":
		dest, ok := at(3).(string)
		if !ok && at(3) != nil {
			return e, &ArgumentError{Name: "destination", Got: describe(at(3))}
		}
		e.Destination = dest
	}
	return e, nil
}

func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case string:
		return v != ""
	case bool:
		return v
	case json.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		return err != nil || f != 0
	}
	return true
}

// joined returns a text, or the concatenated texts of an array.
func joined(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case []any:
		var b strings.Builder
		for _, part := range v {
			s, ok := part.(string)
			if !ok {
				return "", false
			}
			b.WriteString(s)
		}
		return b.String(), true
	}
	return "", false
}

// javascript returns String(v) as JavaScript has it.
func javascript(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = javascript(v[i])
		}
		return strings.Join(parts, ",")
	case json.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		switch {
		case err != nil && f < 0:
			return "-Infinity"
		case err != nil:
			return "Infinity"
		}
		return rawjson.Number(f)
	}
	return "[object Object]"
}
