//lint:file-ignore SA1019 the suite also checks what is deprecated for new clients

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pause is between two messages about one call.
const pause = 50 * time.Millisecond

const (
	noArguments    = `{"type":"object","properties":{}}`
	promptArgument = `{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`
	userMessage    = `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`
	headerArgument = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`
	manyKeywords   = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`
	defaultsForm = `{"type":"object","properties":{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},
"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`
	choicesForm = `{"type":"object","properties":{
"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`
	userForm = `{"type":"object","properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`
)

func addTools(s *mcp.Server) {
	content := func(c ...mcp.Content) mcp.ToolHandler {
		return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return says(c...), nil }
	}
	for _, t := range []struct {
		name, schema string
		call         mcp.ToolHandler
	}{
		{"test_simple_text", noArguments, content(text("This is a simple text response for testing."))},
		{"test_image_content", noArguments, content(picture())},
		{"test_audio_content", noArguments, content(&mcp.AudioContent{Data: silence(), MIMEType: "audio/wav"})},
		{"test_embedded_resource", noArguments, content(resource("test://embedded-resource", "text/plain", "This is an embedded resource content."))},
		{"test_multiple_content_types", noArguments, content(text("Multiple content types test:"), picture(),
			resource("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`))},
		{"test_error_handling", noArguments, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("This tool intentionally returns an error for testing")}}, nil
		}},
		{"test_tool_with_logging", noArguments, logs("Tool execution started", "Tool processing data", "Tool execution completed")},
		{"test_logging_tool", noArguments, logs("Tool executed")},
		{"test_tool_with_progress", noArguments, progress},
		{"test_streaming_elicitation", noArguments, progress},
		{"test_sampling", promptArgument, sample},
		{"test_elicitation", userMessage, elicit(userForm)},
		{"test_elicitation_sep1034_defaults", noArguments, elicit(defaultsForm)},
		{"test_elicitation_sep1330_enums", noArguments, elicit(choicesForm)},
		{"json_schema_2020_12_tool", manyKeywords, content(text("called"))},
		{"test_x_mcp_header", headerArgument, content(text("called"))},
		{"test_reconnection", noArguments, reconnect},
		{"test_missing_capability", noArguments, needSampling},
		{"test_trigger_tool_change", noArguments, changeTools(s)},
		{"test_trigger_prompt_change", noArguments, changePrompts(s)},
	} {
		s.AddTool(&mcp.Tool{Name: t.name, Description: "For the conformance suite.", InputSchema: json.RawMessage(t.schema)}, t.call)
	}
	for name, call := range asking {
		s.AddTool(&mcp.Tool{Name: name, Description: "For the conformance suite.", InputSchema: json.RawMessage(noArguments)}, call)
	}
}

func logs(lines ...string) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i, line := range lines {
			if i > 0 {
				time.Sleep(pause)
			}
			if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: line}); err != nil {
				return nil, err
			}
		}
		return says(text("logged")), nil
	}
}

func progress(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	token := req.Params.GetProgressToken()
	for i, done := range []float64{0, 50, 100} {
		if i > 0 {
			time.Sleep(pause)
		}
		if token == nil {
			continue
		}
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100})
		if err != nil {
			return nil, err
		}
	}
	return says(text("%v", token)), nil
}

func sample(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct{ Prompt string }
	if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
		return nil, err
	}
	r, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{
		Messages: []*mcp.SamplingMessage{{Role: "user", Content: text("%s", in.Prompt)}}, MaxTokens: 100,
	})
	if err != nil {
		return nil, err
	}
	said, ok := r.Content.(*mcp.TextContent)
	if !ok {
		return nil, errors.New("the client sampled no text")
	}
	return says(text("LLM response: %s", said.Text)), nil
}

func elicit(form string) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		in := struct{ Message string }{"Fill in the form."}
		if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
			return nil, err
		}
		r, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: in.Message, RequestedSchema: json.RawMessage(form)})
		if err != nil {
			return nil, err
		}
		content, err := json.Marshal(r.Content)
		if err != nil {
			return nil, err
		}
		return says(text("Elicitation completed: action=%s, content=%s", r.Action, content)), nil
	}
}

// reconnect closes the stream of events that its answer belongs to.
func reconnect(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Extra != nil && req.Extra.CloseSSEStream != nil {
		req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		time.Sleep(2 * pause)
	}
	return says(text("answered after the stream was closed")), nil
}

func needSampling(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if caps := req.ClientCapabilities(); caps != nil && caps.Sampling != nil {
		return says(text("the client can sample")), nil
	}
	data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{
		RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}},
	})
	if err != nil {
		return nil, err
	}
	return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client cannot sample", Data: data}
}

// changeTools replaces a tool, which the SDK tells to those who listen.
func changeTools(s *mcp.Server) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddTool(&mcp.Tool{Name: "test_replaced", Description: "Does nothing.", InputSchema: json.RawMessage(noArguments)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return says(), nil })
		return says(text("replaced a tool")), nil
	}
}

func changePrompts(s *mcp.Server) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddPrompt(&mcp.Prompt{Name: "test_replaced", Description: "Says nothing."},
			func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return nil, fmt.Errorf("it says nothing")
			})
		return says(text("replaced a prompt")), nil
	}
}
