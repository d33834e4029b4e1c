package agent

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/parser/rawjson"
)

const (
	maxInline = 30 << 20 // bytes of the images and files of one result
	maxParts  = 1000     // of one result
)

// shownMedia lists the types of images and files that models accept.
var shownMedia = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"}

// serverOutcome converts a server's result for the model. Content that models do not
// accept is replaced by a note.
func serverOutcome(c ToolCall, r *mcp.CallToolResult) outcome {
	var s resultParts
	for _, content := range r.Content {
		s.add(content)
	}
	if r.StructuredContent != nil && !s.tells(r.StructuredContent) {
		s.text(string(rawjson.Encode(r.StructuredContent)))
	}
	if s.texts > maxResult || s.omitted > 0 {
		s.parts = append(s.parts,
			textPart(fmt.Sprintf("… %d bytes of text and %d parts are not shown; ask for less at once",
				max(0, s.texts-maxResult), s.omitted)))
	}
	if len(s.parts) == 0 {
		return textOutcome(fmt.Sprintf("Tool %s returned nothing with arguments: %s", c.ToolName,
			shorten(string(rawjson.Encode(c.Args)), 1000)), r.IsError)
	}
	return outcome{contents: s.parts, failed: r.IsError}
}

// resultParts collects the parts of a result within the limits.
type resultParts struct {
	parts   []Part
	texts   int // bytes of all texts, including what was left out
	inline  int // bytes
	omitted int // number of parts left out
}

// add adds a part.
func (s *resultParts) add(content mcp.Content) {
	switch c := content.(type) {
	case *mcp.TextContent:
		s.text(c.Text)
	case *mcp.ImageContent:
		s.data("An image", c.MIMEType, c.Data)
	case *mcp.AudioContent:
		s.note("A sound", c.MIMEType, len(c.Data))
	case *mcp.ResourceLink:
		s.text("There is a resource " + linked(c) + " at " + c.URI)
	case *mcp.EmbeddedResource:
		switch r := c.Resource; {
		case r == nil:
		case r.Blob != nil:
			if s.shows(r.MIMEType, r.Blob) {
				s.text("The resource " + r.URI + ":")
			}
			s.data("The resource "+r.URI, r.MIMEType, r.Blob)
		default:
			s.text("The resource " + r.URI + ":\n" + r.Text)
		}
	}
}

// linked is the name of a linked resource, with what else its server says of it.
func linked(c *mcp.ResourceLink) string {
	more := slices.DeleteFunc([]string{c.Title, c.Description, c.MIMEType},
		func(text string) bool { return text == "" || text == c.Name })
	if len(more) == 0 {
		return c.Name
	}
	return c.Name + " (" + strings.Join(more, "; ") + ")"
}

// tells reports whether the texts already hold each value of a structure. Most servers send both.
func (s *resultParts) tells(structure any) bool {
	var all strings.Builder
	for _, p := range s.parts {
		all.WriteString(p.Text + "\n")
	}
	if all.Len() == 0 {
		return false
	}
	words := strings.FieldsFunc(all.String(), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '.' && c != '-' && c != '+'
	})
	var told func(v any) bool
	told = func(v any) bool {
		switch v := v.(type) {
		case nil:
			return true
		case string:
			return strings.Contains(all.String(), v) || strings.Contains(all.String(), string(rawjson.Encode(v)))
		case []any:
			return !slices.ContainsFunc(v, func(one any) bool { return !told(one) })
		case map[string]any:
			for _, one := range v {
				if !told(one) {
					return false
				}
			}
			return true
		}
		return slices.Contains(words, string(rawjson.Encode(v))) // not 1 in 10
	}
	return told(structure)
}

// text adds a text, cut to the limit of all texts.
func (s *resultParts) text(text string) {
	room := max(0, maxResult-s.texts)
	s.texts += len(text)
	switch {
	case len(s.parts) >= maxParts:
		s.omitted++
	case room > 0:
		s.parts = append(s.parts, textOutcome(shorten(text, room), false).contents[0])
	}
}

// data adds an image or PDF, or a note if it is of another type or too large.
func (s *resultParts) data(what, mime string, data []byte) {
	if !s.shows(mime, data) {
		s.note(what, mime, len(data))
		return
	}
	s.inline += len(data)
	s.parts = append(s.parts, mediaPart(mime, data))
}

// shows reports whether there is room for an image or PDF of a type that models accept.
func (s *resultParts) shows(mime string, data []byte) bool {
	return slices.Contains(shownMedia, mime) && len(s.parts) < maxParts && s.inline+len(data) <= maxInline
}

// note adds a text in place of data that is not shown.
func (s *resultParts) note(what, mime string, n int) {
	s.text(fmt.Sprintf("(%s of type %s and %d bytes cannot be shown)", what, mime, n))
}
