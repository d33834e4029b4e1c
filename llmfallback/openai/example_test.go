package openai_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"textskill/llmfallback/openai"
)

// An endpoint, here one of the example's own, is asked one question.
func ExampleClient_Complete() {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"choices":[{"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}]}`)
	}))
	defer endpoint.Close()
	c, err := openai.New(openai.Config{BaseURL: endpoint.URL})
	if err != nil {
		log.Fatal(err)
	}
	a, err := c.Complete(context.Background(),
		openai.Request{Model: "m", Messages: []openai.Message{{Role: "user", Content: "Say hello."}}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Text, a.Finish)
	// Output: Hello. stop
}
