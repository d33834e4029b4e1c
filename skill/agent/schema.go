package agent

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
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
