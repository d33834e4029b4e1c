package main

import (
	"slices"
	"testing"
)

// TestCompleteOperation proposes operations, and goes on to the path after the only one.
func TestCompleteOperation(t *testing.T) {
	var o options
	for _, tt := range []struct {
		tools, typed string
		words        []string
	}{
		{"", "readF", []string{"readFile "}},
		{"", "c", []string{"createDirectory", "copyFile"}},
		{"", "nope", nil},
		{"", ":u", []string{":undo "}},
		{"stack", "edi", []string{"edit"}},
		{"", ":tools ", []string{"achilles", "filesystem", "stack"}}, // others read no lines
	} {
		o.tools = tt.tools
		k := &console{prompter: &prompter{o: &o}}
		head, words, tail := k.complete(t.Context(), tt.typed, len(tt.typed))
		if head != tt.typed[:len(head)] || tail != "" || !slices.Equal(words, tt.words) {
			t.Errorf("%s %s: %q, %q, %q", tt.tools, tt.typed, head, words, tail)
		}
	}
}
