package remote_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"textskill/llmfallback/remote"
)

// The events of a stream come one after another.
func ExampleClient_Ask() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "data: one\n\ndata: two\n\ndata: [DONE]\n\n")
	}))
	defer s.Close()
	c, err := remote.New(remote.Config{BaseURL: s.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	var list remote.List
	body, _ := remote.NewBody(struct {
		Messages any `json:"messages"`
	}{}, "messages", list)
	_, err = c.Ask(context.Background(), remote.Request{Body: body, Stream: true},
		func(data []byte, whole bool) (complete bool, err error) {
			if data != nil {
				fmt.Println(string(data))
			}
			return string(data) == "[DONE]", nil
		})
	fmt.Println(err)
	// Output:
	// one
	// two
	// [DONE]
	// <nil>
}
