package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pixel is a PNG image of one red pixel.
func pixel() []byte {
	img := image.NewRGBA(image.Rect(0, 0, 1, 1))
	img.Set(0, 0, color.RGBA{R: 255, A: 255})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}

// silence is a WAV file of no samples.
func silence() []byte {
	var b bytes.Buffer
	b.WriteString("RIFF")
	binary.Write(&b, binary.LittleEndian, uint32(36))
	b.WriteString("WAVEfmt ")
	for _, v := range []any{uint32(16), uint16(1), uint16(1), uint32(8000), uint32(8000), uint16(1), uint16(8)} {
		binary.Write(&b, binary.LittleEndian, v)
	}
	b.WriteString("data")
	binary.Write(&b, binary.LittleEndian, uint32(0))
	return b.Bytes()
}

func text(format string, args ...any) *mcp.TextContent {
	return &mcp.TextContent{Text: fmt.Sprintf(format, args...)}
}

func picture() *mcp.ImageContent {
	return &mcp.ImageContent{Data: pixel(), MIMEType: "image/png"}
}

func resource(uri, mimeType, content string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: mimeType, Text: content}}
}

func says(content ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: content} }

func addPrompts(s *mcp.Server) {
	type args = map[string]string
	add := func(name, doc string, names []string, messages func(args) []mcp.Content) {
		p := &mcp.Prompt{Name: name, Description: doc}
		for _, n := range names {
			p.Arguments = append(p.Arguments, &mcp.PromptArgument{Name: n, Description: "an argument", Required: true})
		}
		s.AddPrompt(p, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			r := &mcp.GetPromptResult{}
			for _, c := range messages(req.Params.Arguments) {
				r.Messages = append(r.Messages, &mcp.PromptMessage{Role: "user", Content: c})
			}
			return r, nil
		})
	}
	add("test_simple_prompt", "A prompt without arguments.", nil, func(args) []mcp.Content {
		return []mcp.Content{text("This is a simple prompt for testing.")}
	})
	add("test_prompt_with_arguments", "A prompt with two arguments.", []string{"arg1", "arg2"}, func(a args) []mcp.Content {
		return []mcp.Content{text("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])}
	})
	add("test_prompt_with_embedded_resource", "A prompt that holds a resource.", []string{"resourceUri"}, func(a args) []mcp.Content {
		return []mcp.Content{
			resource(a["resourceUri"], "text/plain", "Embedded resource content for testing."),
			text("Please process the embedded resource above."),
		}
	})
	add("test_prompt_with_image", "A prompt that holds an image.", nil, func(args) []mcp.Content {
		return []mcp.Content{picture(), text("Please analyze the image above.")}
	})
	s.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "A prompt that asks for its context."}, askingPrompt)
}

func addResources(s *mcp.Server) {
	fixed := func(uri, name string, c mcp.ResourceContents) {
		c.URI = uri
		s.AddResource(&mcp.Resource{URI: uri, Name: name, Description: "A resource to read.", MIMEType: c.MIMEType},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&c}}, nil
			})
	}
	fixed("test://static-text", "text", mcp.ResourceContents{MIMEType: "text/plain", Text: "This is the content of the static text resource."})
	fixed("test://static-binary", "image", mcp.ResourceContents{MIMEType: "image/png", Blob: pixel()})
	fixed("test://watched-resource", "watched", mcp.ResourceContents{MIMEType: "text/plain", Text: "Watched."})
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: "test://template/{id}/data", Name: "template", Description: "A resource by its id.", MIMEType: "application/json",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
			URI: req.Params.URI, MIMEType: "application/json",
			Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id),
		}}}, nil
	})
}
