package wire

import (
	"cmp"
	"encoding/json"
	"strings"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// Gemini is the protocol of generateContent: a whole response, its content, the parts of
// that, or one of them.
var Gemini = &Wire{
	Name: "gemini",
	Doc:  `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}}]}`,
	shape: func(v value) bool {
		return v.get("candidates").any(func(c value) bool { return c.get("content", "parts").elements != nil || c.has("finishReason") }) ||
			v.str("role") == "model" && v.get("parts").elements != nil ||
			isFunctionCall(v) || v.any(isFunctionCall) || v.get("parts").any(isFunctionCall)
	},
	read: func(text string, tools Schemas) (parser.Envelope, error) {
		return readParts(text, geminiParts, func(m *message, part value) {
			p := geminiPart(part)
			m.part(p, func(raw json.RawMessage) (json.RawMessage, []string, error) {
				args, repairs, err := objectArguments(raw)
				return joinPairs(args, tools(p.Name)), repairs, err
			})
		})
	},
	key: "contents", list: answerGemini, define: defineGemini, turn: turnGemini,
}

// functionCall returns the call of a part, as the API or as its Python client spells it.
func functionCall(part value) value {
	if part.has("function_call") {
		return part.get("function_call")
	}
	return part.get("functionCall")
}

func isFunctionCall(v value) bool { return functionCall(v).members != nil }

// geminiPart reads a part. The signature of one of an unknown kind is that of an empty text.
func geminiPart(v value) Part {
	p := Part{Kind: TextPart, Text: v.piece("text"), Sign: v.str("thoughtSignature")}
	switch call := functionCall(v); {
	case call.members != nil:
		return Part{Kind: CallPart, ID: call.str("id"), Name: call.str("name"), Arguments: call.members["args"],
			Sign: p.Sign, in: call}
	case string(v.members["thought"]) == "true":
		return Part{Kind: ThoughtPart, Text: p.Text}
	case p.Text == "" && p.Sign == "":
		return Part{}
	}
	return p
}

// A geminiBlock is a part in a request.
type geminiBlock struct {
	Text *string     `json:"text,omitempty"`
	Call *geminiCall `json:"functionCall,omitempty"`
	Sign string      `json:"thoughtSignature,omitempty"`
}

type geminiCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

// turnGemini leaves out thoughts, which are not wanted back.
func turnGemini(role string, parts []Part) []any {
	out := turn{Role: role}
	if role == "assistant" {
		out.Role = "model"
	}
	for _, p := range parts {
		switch {
		case p.Kind == CallPart:
			out.Parts = append(out.Parts, geminiBlock{Call: &geminiCall{p.ID, p.Name, p.Arguments}, Sign: p.Sign})
		case p.Kind == TextPart && p.Text+p.Sign != "":
			out.Parts = append(out.Parts, geminiBlock{Text: &p.Text, Sign: p.Sign})
		}
	}
	if out.Parts == nil {
		out.Parts = []any{object{"text": nothing}}
	}
	return []any{out}
}

func geminiParts(v value) (value, error) {
	if v.has("candidates") {
		candidate, err := only(v.get("candidates").elements, "candidates", func(c value) bool {
			return c.get("content", "parts").any(isFunctionCall)
		})
		if err != nil {
			return value{}, err
		}
		v = candidate.get("content")
		if v.get("parts").elements == nil {
			return value{}, parser.NoCalls("the candidate holds neither a call nor a text (finishReason "+
				candidate.str("finishReason")+")", nil)
		}
	}
	switch {
	case v.elements != nil:
		return v, nil
	case v.get("parts").elements != nil:
		return v.get("parts"), nil
	case isFunctionCall(v):
		return v.alone(), nil
	}
	return value{}, parser.NoCalls(`the parts are missing; want {"candidates":[{"content":{"parts":[{"functionCall":…}]}}]}`, nil)
}

// answerGemini returns one content with a part for each call.
func answerGemini(answers []Answer) []any {
	parts := make([]object, len(answers))
	for i, a := range answers {
		key := "output"
		if a.Failed {
			key = "error"
		}
		r := object{"name": a.Call.Name, "response": object{key: a.Text}}
		if a.Call.ID != "" {
			r["id"] = a.Call.ID
		}
		if len(a.Media) > 0 {
			var shown []object
			for _, m := range a.Media {
				shown = append(shown, object{"inlineData": object{"mimeType": m.Type, "data": m.base64()}})
			}
			r["parts"] = shown
		}
		parts[i] = object{"functionResponse": r}
	}
	return []any{object{"role": "user", "parts": parts}}
}

// defineGemini returns the declarations. A tool without arguments has no parameters: an
// object without properties is refused.
func defineGemini(tools []Tool) any {
	list := make([]object, len(tools))
	for i, t := range tools {
		list[i] = object{"name": t.Name, "description": t.Doc}
		if len(split(t.Schema).get("properties").members) > 0 {
			list[i]["parameters"] = geminiSchema(t.Schema)
		}
	}
	return []object{{"functionDeclarations": list}}
}

// geminiSchema returns a schema in Gemini's subset: types in capitals, lengths in quotes,
// no additionalProperties, items for each array, and properties for each object. An
// object that may have any properties is an array of pairs; see [joinPairs].
func geminiSchema(raw json.RawMessage) object {
	v := split(raw)
	s := v.part("description", "enum", "default", "required")
	s["type"] = strings.ToUpper(v.str("type"))
	for _, key := range []string{"minLength", "maxLength"} {
		if v.has(key) {
			s[key] = string(v.members[key])
		}
	}
	switch properties := v.get("properties"); {
	case isOpen(v):
		of := cmp.Or(v.get("additionalProperties").str("type"), "string")
		pair := object{"name": object{"type": "STRING"}, "value": object{"type": strings.ToUpper(of)}}
		s["type"], s["items"] = "ARRAY",
			object{"type": "OBJECT", "properties": pair, "required": []string{"name", "value"}}
	case v.str("type") == "object":
		inner, order := object{}, []string{}
		for key, property := range rawjson.EachMember(properties.raw) {
			name, _ := rawjson.String(key)
			inner[name], order = geminiSchema(property), append(order, name)
		}
		if len(v.get("required").elements) == 0 {
			delete(s, "required")
		}
		s["properties"], s["propertyOrdering"] = inner, order
	case v.str("type") == "array":
		s["items"] = object{"type": strings.ToUpper(cmp.Or(v.get("items").str("type"), "string"))}
	}
	return s
}

// isOpen reports whether a schema is of an object that names no properties.
func isOpen(v value) bool { return v.str("type") == "object" && !v.has("properties") }

// GeminiArguments returns the arguments of a call as the schema has them that was declared by
// [Wire.Definitions] of Gemini.
func GeminiArguments(args, schema json.RawMessage) json.RawMessage { return joinPairs(args, schema) }

// joinPairs makes objects of arguments that [geminiSchema] declared as arrays of pairs of
// name and value. Other arguments stay as they are.
func joinPairs(args, schema json.RawMessage) json.RawMessage {
	properties := split(schema).get("properties")
	changed, joins := split(args), false
	for name, raw := range changed.members {
		pairs := split(raw)
		if !isOpen(properties.get(name)) || pairs.elements == nil {
			continue
		}
		joined := object{}
		for _, e := range pairs.elements {
			pair := split(e)
			if _, twice := joined[pair.str("name")]; twice || !pair.has("name") ||
				pair.members["value"] == nil {
				return args
			}
			joined[pair.str("name")] = pair.members["value"]
		}
		changed.members[name], joins = rawjson.Encode(joined), true
	}
	if !joins {
		return args
	}
	return rawjson.Encode(changed.members)
}
