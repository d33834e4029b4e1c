// Package parser reads commands and tool calls from text. It knows no tool by name.
//
// [Text] reads a text command: operation, path, payload. [ToolCalls] reads an
// envelope, a JSON object with tool calls. [Calls] reads calls like read(path: 'a.txt')
// from a model's text. Package textskill/parser/rawjson decodes JSON, and repairs it where
// only one repair is possible. Package textskill/parser/wire reads the messages of
// providers and the formats of other models, and writes the answers.
// These packages open no files, run nothing and keep no state.
package parser
