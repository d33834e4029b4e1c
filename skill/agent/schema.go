package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	rawjson "textskill/parser/json"
)

// resolveSchema reads a JSON Schema, which may not refer to others. It returns nil for an
// empty one.
func resolveSchema(schema json.RawMessage) (*jsonschema.Resolved, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("the schema of the report is not a JSON Schema: %w", err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("the schema of the report: %w", err)
	}
	return r, nil
}

// fitting returns the report in a text: with a schema, the JSON in it, which must fit.
// Only the first task of a run has a schema.
func (t *task) fitting(text string) (string, error) {
	if t.schema == nil || t.parent != nil {
		return text, nil
	}
	if from, to, ok := rawjson.Fenced(strings.TrimSpace(text)); ok {
		text = strings.TrimSpace(text)[from:to]
	}
	value, _, err := rawjson.Decode(text)
	if err != nil {
		return "", err
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return "", err
	}
	return string(value), t.schema.Validate(v)
}
