//lint:file-ignore SA1019 the suite also checks what is deprecated for new clients

package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Questions to a client that are the answer to its request.
var (
	askName    = &mcp.ElicitParams{Message: "What is your name?", RequestedSchema: form("name", "string")}
	askConfirm = &mcp.ElicitParams{Message: "Please confirm", RequestedSchema: form("ok", "boolean")}
	askStep1   = &mcp.ElicitParams{Message: "Step 1: What is your name?", RequestedSchema: form("name", "string")}
	askStep2   = &mcp.ElicitParams{Message: "Step 2: What is your favorite color?", RequestedSchema: form("color", "string")}
	askContext = &mcp.ElicitParams{Message: "What context should the prompt use?", RequestedSchema: form("context", "string")}
	askRoots   = &mcp.ListRootsParams{}
)

func form(field, kind string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"` + field + `":{"type":"` + kind + `"}},"required":["` + field + `"]}`)
}

func askModel(prompt string, tokens int64) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{{Role: "user", Content: text("%s", prompt)}}, MaxTokens: tokens}
}

type questions = mcp.InputRequestMap

func asks(q questions, state string) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{InputRequests: q, RequestState: state}, nil
}

// asking are tools that answer with questions until they know enough.
var asking = map[string]mcp.ToolHandler{
	"test_input_required_result_elicitation": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if name, ok := field(req.Params.InputResponses, "user_name", "name").(string); ok {
			return says(text("Hello, %s!", name)), nil
		}
		return asks(questions{"user_name": askName}, "")
	},
	"test_input_required_result_sampling": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if said, ok := sampled(req.Params.InputResponses, "capital_question"); ok {
			return says(text("%s", said)), nil
		}
		return asks(questions{"capital_question": askModel("What is the capital of France?", 100)}, "")
	},
	"test_input_required_result_list_roots": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if roots, ok := roots(req.Params.InputResponses); ok {
			return says(text("roots: %s", roots)), nil
		}
		return asks(questions{"client_roots": askRoots}, "")
	},
	"test_input_required_result_request_state":  confirm,
	"test_input_required_result_tampered_state": confirm,
	"test_input_required_result_multiple_inputs": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		in := req.Params.InputResponses
		name, ok1 := field(in, "user_name", "name").(string)
		said, ok2 := sampled(in, "greeting")
		roots, ok3 := roots(in)
		if ok1 && ok2 && ok3 {
			return says(text("%s %s, %s", said, name, roots)), nil
		}
		return asks(questions{"user_name": askName, "greeting": askModel("Generate a greeting", 50), "client_roots": askRoots}, sign("multiple"))
	},
	"test_input_required_result_multi_round": rounds,
	"test_input_required_result_capabilities": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		q := questions{}
		caps := req.ClientCapabilities()
		if caps != nil && caps.Elicitation != nil {
			q["user_name"] = askName
		}
		if caps != nil && caps.Sampling != nil {
			q["greeting"] = askModel("Generate a greeting", 50)
		}
		if caps != nil && caps.RootsV2 != nil {
			q["client_roots"] = askRoots
		}
		if len(q) == 0 || len(req.Params.InputResponses) > 0 {
			return says(text("asked for what the client can give")), nil
		}
		return asks(q, "")
	},
}

// confirm asks once, and wants its state back as it was.
func confirm(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState == "" {
		return asks(questions{"confirm": askConfirm}, sign("asked"))
	}
	if _, err := signed(req.Params.RequestState); err != nil {
		return nil, err
	}
	if field(req.Params.InputResponses, "confirm", "ok") == nil {
		return asks(questions{"confirm": askConfirm}, sign("asked"))
	}
	return says(text("state-ok")), nil
}

// rounds asks twice; what it was told first is in its state.
func rounds(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState == "" {
		return asks(questions{"step1": askStep1}, sign("step1"))
	}
	state, err := signed(req.Params.RequestState)
	if err != nil {
		return nil, err
	}
	name, second := strings.CutPrefix(state, "step2:")
	if !second {
		name, ok := field(req.Params.InputResponses, "step1", "name").(string)
		if !ok {
			return asks(questions{"step1": askStep1}, sign("step1"))
		}
		return asks(questions{"step2": askStep2}, sign("step2:"+name))
	}
	colour, ok := field(req.Params.InputResponses, "step2", "color").(string)
	if !ok {
		return asks(questions{"step2": askStep2}, sign(state))
	}
	return says(text("%s likes %s", name, colour)), nil
}

func askingPrompt(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	about, ok := field(req.Params.InputResponses, "user_context", "context").(string)
	if !ok {
		return &mcp.GetPromptResult{InputRequests: questions{"user_context": askContext}}, nil
	}
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: text("Context: %s", about)}}}, nil
}

// field is what the user has filled in, nil if nothing.
func field(in mcp.InputResponseMap, key, name string) any {
	if r, ok := in[key].(*mcp.ElicitResult); ok && r.Action == "accept" {
		return r.Content[name]
	}
	return nil
}

// sampled is what the client's model has said.
func sampled(in mcp.InputResponseMap, key string) (string, bool) {
	r, ok := in[key].(*mcp.CreateMessageWithToolsResult)
	if !ok || len(r.Content) == 0 {
		return "", false
	}
	said, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		return "", false
	}
	return said.Text, true
}

func roots(in mcp.InputResponseMap) (string, bool) {
	r, ok := in["client_roots"].(*mcp.ListRootsResult)
	if !ok {
		return "", false
	}
	uris := make([]string, len(r.Roots))
	for i, root := range r.Roots {
		uris[i] = root.URI
	}
	return strings.Join(uris, " "), true
}

// key signs states, for a client not to change them.
var key = []byte(rand.Text())

func sign(state string) string {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(state))
	return hex.EncodeToString(m.Sum(nil)) + "." + state
}

func signed(signed string) (state string, err error) {
	_, state, _ = strings.Cut(signed, ".")
	if !hmac.Equal([]byte(sign(state)), []byte(signed)) {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState is not what this server sent"}
	}
	return state, nil
}
