package dialect

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// ownJSON are the schemas of types whose JSON is not that of their kind.
type ownJSON struct {
	schemas map[reflect.Type]*jsonschema.Schema
	seen    map[reflect.Type]bool
	reads   bool // the types are read from JSON, not written
}

var (
	readsJSON  = reflect.TypeFor[json.Unmarshaler]()
	writesJSON = reflect.TypeFor[json.Marshaler]()
	readsText  = reflect.TypeFor[encoding.TextUnmarshaler]()
	writesText = reflect.TypeFor[encoding.TextMarshaler]()
)

// schemaOf returns the schema of a struct or a map that is read from JSON, or else written as JSON.
func schemaOf(t reflect.Type, reads bool) (json.RawMessage, *jsonschema.Resolved, error) {
	if t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
		return nil, nil, fmt.Errorf("%s is not a struct", t)
	}
	own := ownJSON{map[reflect.Type]*jsonschema.Schema{}, map[reflect.Type]bool{}, reads}
	if err := own.find(t); err != nil {
		return nil, nil, err
	}
	if own.schemas[t] != nil {
		own.schemas[t] = &jsonschema.Schema{Type: "object"}
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: own.schemas})
	if err != nil {
		return nil, nil, err
	}
	orAnything(s)
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, nil, err
	}
	data, err := json.Marshal(s)
	return data, r, err
}

// orAnything takes the type null from schemas that have no other, which the library makes of a
// pointer to a type with its own JSON.
func orAnything(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if slices.Equal(s.Types, []string{"null"}) {
		s.Types = nil
	}
	for _, inner := range s.Properties {
		orAnything(inner)
	}
	orAnything(s.Items)
	orAnything(s.AdditionalProperties)
}

// find adds the schemas of a type and of those in it.
func (o ownJSON) find(t reflect.Type) error {
	if o.seen[t] {
		return nil
	}
	o.seen[t] = true
	if s := o.schema(t); s != nil {
		o.schemas[t] = s
		return nil
	}
	switch t.Kind() {
	case reflect.Map, reflect.Slice, reflect.Array, reflect.Pointer:
		return o.find(t.Elem())
	case reflect.Struct:
		for field := range t.Fields() {
			if err := o.field(field); err != nil {
				return fmt.Errorf("%s: %w", field.Name, err)
			}
		}
	}
	return nil
}

// field adds the schemas of the type of a field, and refuses fields that a schema cannot be made of.
func (o ownJSON) field(f reflect.StructField) error {
	tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	inner := f.Type
	for inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	switch {
	case f.Tag.Get("json") == "-", !f.IsExported() && !f.Anonymous:
		return nil
	case f.Anonymous && (tag != "" || inner.Kind() != reflect.Struct):
		return fmt.Errorf("it is embedded, but one member in JSON; make it a field with a name")
	case strings.Contains(","+options+",", ",string,"):
		return fmt.Errorf("the option string of its tag has no schema; make it a string")
	}
	return o.find(f.Type)
}

// schema returns the schema of a type whose JSON is not that of its kind, nil for all others.
func (o ownJSON) schema(t reflect.Type) *jsonschema.Schema {
	pointer := reflect.PointerTo(t)
	isJSON, isText := pointer.Implements(readsJSON), pointer.Implements(readsText)
	if !o.reads { // a method of the pointer is not called for every value
		isJSON = pointer.Implements(writesJSON) || pointer.Implements(writesText) && !t.Implements(writesText)
		isText = t.Implements(writesText)
	}
	switch {
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface:
		return nil
	case t == reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string"}
	case t == reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"}
	case isJSON:
		return &jsonschema.Schema{}
	case isText:
		return &jsonschema.Schema{Type: "string"}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && o.schema(t.Elem()) == nil:
		return &jsonschema.Schema{Types: []string{"null", "string"}, ContentEncoding: "base64"}
	}
	return nil
}
