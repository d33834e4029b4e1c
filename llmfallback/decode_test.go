package llmfallback

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"textskill/llmfallback/openai"
	"textskill/llmfallback/remote"
)

func TestDecodeAnswer(t *testing.T) {
	const ok = `{"operation":"moveFile","path":"a","content":null,"destination":"b"}`
	want := Extraction{Operation: "moveFile", Path: "a", Destination: "b"}
	for text, repairs := range map[string]string{
		ok:                              "",
		"[" + ok + "]":                  repairWrapped,
		`{"answer":` + ok + `}`:         repairWrapped,
		`[{"answer":` + ok + `}]`:       repairWrapped,
		`["moveFile","a",null,"b"]`:     "",
		quoteJSON(ok):                   repairEncoded,
		quoteJSON("```\n" + ok + "```"): repairEncoded + "|code fence removed",
		strings.Replace(ok, "moveFile", "MOVE_FILE", 1):                repairSpelling,
		strings.Replace(ok, "moveFile", " move-file ", 1):              repairSpelling,
		strings.Replace(ok, "null", `"null"`, 1):                       repairNullText,
		strings.Replace(ok, "null", `"not used"`, 1):                   "",
		strings.Replace(ok, `"content":null,`, "", 1):                  "",
		strings.Replace(ok, `{"operation`, `{"why":[1],"operation`, 1): "",
	} {
		got, made, err := decodeAnswer(text)
		if err != nil || got != want || strings.Join(made, "|") != repairs {
			t.Errorf("%s\n got %+v %q, %v\nwant %q", text, got, made, err, repairs)
		}
	}
	for text, kind := range map[string]error{
		"":                        ErrBadAnswer,
		"null":                    ErrBadAnswer,
		"5":                       ErrBadAnswer,
		"[]":                      ErrBadAnswer,
		"{}":                      ErrBadAnswer,
		`""`:                      ErrRefused,
		"I will not.":             ErrRefused,
		ok + ok[:10]:              ErrTruncated,
		ok[:40]:                   ErrTruncated,
		"[" + ok + "," + ok + "]": ErrNotOneOperation,
		ok + "\n" + strings.Replace(ok, `"a"`, `"c"`, 1):              ErrNotOneOperation,
		`["moveFile","a","b"]`:                                        ErrBadAnswer,
		`["moveFile",["a"],null,"b"]`:                                 ErrBadAnswer,
		`[["moveFile","a",null,"b"]]`:                                 ErrBadAnswer,
		`{"a":{"b":{"operation":5}}}`:                                 ErrBadAnswer,
		strings.Replace(ok, "moveFile", "rename", 1):                  ErrBadAnswer,
		strings.Replace(ok, "moveFile", "movFile", 1):                 ErrBadAnswer,
		strings.Replace(ok, "moveFile", "UNKNOWN", 1):                 ErrNotOneOperation,
		strings.Replace(ok, `"a"`, "5", 1):                            ErrBadAnswer,
		strings.Replace(ok, `"path":"a"`, `"path":"a","path":"c"`, 1): ErrBadAnswer,
		`{"operation":"writeFile","path":"a"}`:                        ErrBadAnswer,
		`{"operation":"writeFile","path":"a","content":null}`:         ErrBadAnswer,
		quoteJSON(quoteJSON(ok)):                                      ErrBadAnswer,
	} {
		if got, _, err := decodeAnswer(text); !isA(err, kind) {
			t.Errorf("%s: %+v, %v, want %v", text, got, err, kind)
		}
	}
}

func isA(err, kind error) bool {
	return errors.Is(err, kind) && strings.HasPrefix(err.Error(), kind.Error()+": ")
}

func quoteJSON(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Whatever a model says, it is read or refused with a reason; what is read is
// one of the nine, and its values stand in the answer.
func FuzzDecodeAnswer(f *testing.F) {
	for _, seed := range []string{goodAnswer, "[" + goodAnswer + "]", quoteJSON(goodAnswer),
		"<think>x</think>" + goodAnswer, "{'operation': 'readFile',}", `["readFile","a",null,null]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, _, err := decodeAnswer(text)
		if err != nil {
			if !slices.ContainsFunc([]error{ErrRefused, ErrTruncated, ErrNotOneOperation, ErrBadAnswer},
				func(kind error) bool { return isA(err, kind) }) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if op, ok := spelled(e.Operation); !ok || op != e.Operation {
			t.Fatalf("%q: operation %q", text, e.Operation)
		}
		if again, repairs, err := decodeAnswer(quoteAll(e)); err != nil || again != e || len(repairs) > 0 {
			t.Fatalf("%q: %+v becomes %+v with %q, %v", text, e, again, repairs, err)
		}
	})
}

func quoteAll(e Extraction) string {
	text, err := json.Marshal(map[string]any{"operation": e.Operation, "path": e.value("path"),
		"content": e.value("content"), "destination": e.value("destination")})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Whatever an endpoint sends, go-openai gets one completion or we get an error
// of ours; it never panics.
func FuzzWire(f *testing.F) {
	f.Add(200, "application/json", says(goodAnswer).body)
	f.Add(200, "application/json; charset=utf-8",
		`{"choices":[{"message":{"content":{"a":1},"tool_calls":[{"function":{"arguments":{}}}]}}]}`)
	f.Add(400, "application/json", `{"error":"temperature"}`)
	f.Add(200, "text/html", "<p>")
	f.Fuzz(func(t *testing.T, status int, kind, body string) {
		if status < 200 || status > 599 || strings.ContainsAny(kind, "\r\n\x00") {
			return
		}
		answer := roundTrip(func(*http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			w.WriteString(body)
			return w.Result(), nil
		})
		client, err := openai.New(openai.Config{BaseURL: "http://localhost/v1", Transport: answer})
		if err != nil {
			t.Fatal(err)
		}
		send := overOpenAI(client, "m")
		_, err = send(t.Context(), shape{rung: rungSchema}, []message{{"user", "x"}}, 100, &Telemetry{})
		fault, failed := errors.AsType[*remote.Error](err)
		switch {
		case err == nil, isA(err, ErrRefused), isA(err, ErrNotOneOperation):
			if status > 299 || !json.Valid([]byte(body)) {
				t.Fatalf("%d %q is taken: %v", status, body, err)
			}
		case failed:
			if fault.Reason == "" {
				t.Fatalf("%d %q: no reason", status, body)
			}
		default:
			t.Fatalf("%d %q: %T %v", status, body, err, err)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
