package llmfallback

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"textskill/llmfallback/remote"
	"textskill/parser/rawjson"
)

// The repairs of this package. The JSON decoder reports its own in its own words.
const (
	repairWrapped   = "wrapper removed"
	repairEncoded   = "decoded twice"
	repairSpelling  = "operation spelled differently"
	repairNullText  = "null written as text"
	repairReasoning = "answer in the reasoning"
	repairContent   = "answer as text where a tool call was asked for"
	repairObject    = "arguments as an object"
)

// unknownOperation is the answer of a model when no operation fits.
const unknownOperation = "unknown"

// decodeAnswer reads the four values from what a model wrote. It repairs only what
// has a single reading, and returns the repairs.
func decodeAnswer(text string) (e Extraction, repairs []string, err error) {
	if strings.TrimSpace(text) == "" {
		return e, nil, fmt.Errorf("%w: it is empty", ErrBadAnswer)
	}
	value, repairs, err := rawjson.Decode(text, Names()...)
	if said := remote.OneLine(text); errors.Is(err, rawjson.ErrNoJSON) && said != "" {
		return e, repairs, &AnswerError{ErrRefused, said}
	} else if err != nil {
		return e, repairs, undecodable(err)
	}
	if encoded, ok := rawjson.String(value); ok {
		inner, more, err := rawjson.Decode(encoded, Names()...)
		if err != nil {
			return e, repairs, undecodable(err)
		}
		value, repairs = inner, append(append(repairs, repairEncoded), more...)
	}
	members, wrapped, err := membersOf(value)
	if err != nil {
		return e, repairs, err
	}
	if wrapped {
		repairs = append(repairs, repairWrapped)
	}
	e, more, err := extraction(members)
	return e, append(repairs, more...), err
}

func undecodable(err error) error {
	switch {
	case errors.Is(err, rawjson.ErrTruncated):
		return fmt.Errorf("%w: the JSON is incomplete", ErrTruncated)
	case errors.Is(err, rawjson.ErrSeveralValues):
		return fmt.Errorf("%w: there are several operations; one command is one operation",
			ErrNotOneOperation)
	case errors.Is(err, rawjson.ErrNoJSON):
		return fmt.Errorf("%w: it has no JSON", ErrRefused)
	}
	return fmt.Errorf("%w: it is not valid JSON; escape quotes and line ends inside strings", ErrBadAnswer)
}

// membersOf returns the named values of an object, of the four elements of an
// array, or of the one object that is wrapped in an object or an array.
func membersOf(value json.RawMessage) (members map[string]json.RawMessage, wrapped bool, err error) {
	shape := fmt.Errorf("%w: it must be one JSON object with operation, path, content and destination",
		ErrBadAnswer)
	if value[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil {
			return nil, false, shape
		}
		switch {
		case len(list) == len(Names()) && !slices.ContainsFunc(list, structured):
			members = map[string]json.RawMessage{}
			for i, name := range Names() {
				members[name] = list[i]
			}
			return members, false, nil
		case len(list) == 1 && list[0][0] == '{':
			members, _, err = membersOf(list[0])
			return members, true, err
		case len(list) > 1 && !slices.ContainsFunc(list, func(v json.RawMessage) bool { return v[0] != '{' }):
			return nil, false, fmt.Errorf("%w: there are several operations; one command is one operation",
				ErrNotOneOperation)
		}
		return nil, false, shape
	}
	members, twice, ok := rawjson.Members(value)
	switch {
	case !ok:
		return nil, false, shape
	case twice != "":
		return nil, false, fmt.Errorf("%w: the key %q is there twice", ErrBadAnswer, name(twice))
	}
	if _, named := members["operation"]; !named && len(members) == 1 {
		for _, inner := range members {
			if inner[0] == '{' {
				members, _, err = membersOf(inner)
				return members, true, err
			}
		}
	}
	return members, false, nil
}

func structured(v json.RawMessage) bool { return v[0] == '{' || v[0] == '[' }

// extraction checks the values against each other and drops those that the
// operation does not use.
func extraction(members map[string]json.RawMessage) (e Extraction, repairs []string, err error) {
	texts := map[string]*string{}
	for _, key := range Names() {
		raw, ok := members[key]
		if !ok {
			continue
		}
		var text *string
		if json.Unmarshal(raw, &text) != nil {
			return e, nil, fmt.Errorf("%w: %s must be a string or null", ErrBadAnswer, key)
		}
		texts[key] = text
	}
	said := ""
	if texts["operation"] != nil {
		said = strings.TrimSpace(*texts["operation"])
	}
	op, known := spelled(said)
	switch {
	case strings.EqualFold(said, unknownOperation):
		return e, nil, fmt.Errorf("%w: the model finds no operation that fits", ErrNotOneOperation)
	case !known:
		return e, nil, fmt.Errorf("%w: %q is not an operation; it must be one of %s, or %s", ErrBadAnswer,
			name(said), strings.Join(operations[:], ", "), unknownOperation)
	case op != said:
		repairs = append(repairs, repairSpelling)
	}
	e.Operation = op
	value := func(key string) string {
		text := texts[key]
		if text == nil {
			return ""
		}
		if low := strings.ToLower(strings.TrimSpace(*text)); low == "null" || low == "none" {
			if !slices.Contains(repairs, repairNullText) {
				repairs = append(repairs, repairNullText)
			}
			return ""
		}
		return *text
	}
	named := func(key string) string { // a name of blanks names nothing
		name := value(key)
		if strings.TrimSpace(name) == "" {
			return ""
		}
		return name
	}
	e.Path = named("path")
	switch op {
	case "copyFile", "moveFile":
		e.Destination = named("destination")
		value("content")
	case "writeFile", "appendFile":
		if texts["content"] == nil {
			return e, repairs, fmt.Errorf(`%w: content is missing; copy it from the command, or give "" if the file is to be empty`, ErrBadAnswer)
		}
		e.Content, e.HasContent = *texts["content"], true
	default:
		value("content")
		value("destination")
	}
	return e, repairs, nil
}
