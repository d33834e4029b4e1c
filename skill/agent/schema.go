package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"textskill/parser/rawjson"
)

// A reportSchema is what a final report must fit.
type reportSchema = jsonschema.Resolved

// resolveSchema reads a JSON Schema, which may not refer to others. It returns nil for an
// empty one.
func resolveSchema(schema json.RawMessage) (*reportSchema, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("the schema of the report is not a JSON Schema: %w", err)
	}
	s.Schema = spellings[strings.TrimSuffix(s.Schema, "#")]
	var members map[string]any
	json.Unmarshal(schema, &members)
	if version, _ := members["$schema"].(string); s.Schema == "" && version != "" {
		return nil, fmt.Errorf("the schema of the report has the $schema %q; use https://json-schema.org/draft/2020-12/schema",
			version)
	}
	if name := unknownType(members); name != "" {
		return nil, fmt.Errorf("the schema of the report has the type %q; use one of %s", name, strings.Join(schemaTypes, ", "))
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("the schema of the report: %w", err)
	}
	return r, nil
}

// spellings are the versions of JSON Schema that the validator knows, as it spells them, by their
// names without a # at the end.
var spellings = map[string]string{
	"https://json-schema.org/draft/2020-12/schema": "https://json-schema.org/draft/2020-12/schema",
	"http://json-schema.org/draft-07/schema":       "http://json-schema.org/draft-07/schema#",
	"https://json-schema.org/draft-07/schema":      "http://json-schema.org/draft-07/schema#",
}

var schemaTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// unknownType returns a type in a schema that JSON Schema does not have, "" for none.
func unknownType(v any) (name string) {
	list, _ := v.([]any)
	for _, e := range list {
		name = cmp.Or(name, unknownType(e))
	}
	schema, _ := v.(map[string]any)
	for key, e := range schema {
		names, several := e.([]any)
		switch {
		case key == "enum" || key == "const" || key == "default" || key == "examples":
		case key == "type" && !several:
			names = []any{e}
			fallthrough
		case key == "type":
			for _, n := range names {
				if text, ok := n.(string); ok && !slices.Contains(schemaTypes, text) {
					name = cmp.Or(name, text)
				}
			}
			name = cmp.Or(name, unknownType(e))
		default:
			name = cmp.Or(name, unknownType(e))
		}
	}
	return name
}

// objectSchema returns a schema that is one of an object and names its properties, without a
// choice at its top: endpoints refuse a whole request for another one. A schema of something
// else is that of no arguments.
func objectSchema(schema json.RawMessage) json.RawMessage {
	var s map[string]any
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	if d.Decode(&s) != nil || s == nil || s["type"] != nil && !isType(s, "object") {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	changed := withItems(s)
	if name, ok := s["$ref"].(string); ok {
		changed = true
		delete(s, "$ref")
		target := any(s)
		for _, key := range strings.Split(strings.TrimPrefix(name, "#/"), "/") {
			inner, _ := target.(map[string]any)
			target = inner[key]
		}
		join(s, target, true)
	}
	for _, choice := range []string{"allOf", "anyOf", "oneOf"} {
		branches, ok := s[choice].([]any)
		changed = changed || ok
		delete(s, choice)
		for _, b := range branches {
			join(s, b, choice == "allOf")
		}
	}
	if _, ok := s["properties"].(map[string]any); !ok {
		s["properties"], changed = map[string]any{}, true
	}
	if required, given := s["required"]; given {
		if _, ok := required.([]any); !ok {
			delete(s, "required")
			changed = true
		}
	}
	if !changed && s["type"] == "object" {
		return schema
	}
	s["type"] = "object"
	return rawjson.Encode(s)
}

// isType reports whether a schema has a type, perhaps beside others.
func isType(schema map[string]any, name string) bool {
	list, _ := schema["type"].([]any)
	return schema["type"] == name || slices.Contains(list, any(name))
}

// join adds the properties of the object schema other to s. If both schemas apply, it also adds
// the names that other requires.
func join(s map[string]any, other any, both bool) {
	branch, _ := other.(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
		s["properties"] = properties
	}
	more, _ := branch["properties"].(map[string]any)
	for name, p := range more {
		if properties[name] == nil {
			properties[name] = p
		}
	}
	if required, ok := branch["required"].([]any); ok && both {
		before, _ := s["required"].([]any)
		s["required"] = append(before, required...)
	}
}

// withItems gives arrays of any elements the items that endpoints want, and reports whether
// there are any.
func withItems(v any) (changed bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			changed = withItems(e) || changed
		}
	case map[string]any:
		for _, e := range v {
			changed = withItems(e) || changed
		}
		if isType(v, "array") && v["items"] == nil && v["prefixItems"] == nil {
			v["items"], changed = map[string]any{}, true
		}
	}
	return changed
}
