// Package parser turns bytes into syntax and knows no tool by name.
//
// [Text] reads a command of words: operation, path, payload. [ToolCalls] reads
// a JSON envelope of function calls. [Calls] reads calls like read(path: 'a.txt')
// from a model's text. JSON is decoded by package textskill/parser/json, which
// repairs only what has a single reading. Package textskill/parser/wire reads the
// messages of providers and the formats of other models, and writes the answers.
// None of them looks at a file, runs anything, or keeps state.
package parser
