package llmfallback_test

import (
	"context"
	"errors"
	"fmt"

	"textskill/llmfallback"
)

func ExampleExtractArgumentsWithLLM() {
	values, err := llmfallback.ExtractArgumentsWithLLM(context.Background(), llmfallback.Rules{},
		"please create a file called notes.txt with content hello", llmfallback.Instruction,
		llmfallback.Names())
	fmt.Printf("%q %v\n", values, err)
	// Output: ["writeFile" "notes.txt" "hello" ""] <nil>
}

func ExampleExtractor_Extract() {
	x, err := llmfallback.New(llmfallback.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	got, err := x.Extract(context.Background(), "delete notes.txt")
	fmt.Println(got.Operation, got.Path, got.Via, err)

	_, err = x.Extract(context.Background(), "write \"bye\" to notes.txt")
	var confirm *llmfallback.ConfirmError
	if errors.As(err, &confirm) {
		fmt.Println("to confirm, type:", confirm.Command)
	}
	// Output:
	// deleteFile notes.txt rules <nil>
	// to confirm, type: writeFile notes.txt content: bye
}
